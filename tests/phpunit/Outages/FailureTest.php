<?php

declare(strict_types=1);

namespace RateLimit\Tests\Outages;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Extension\RedisServer;
use RateLimit\Tests\Http\Requests;
use RateLimit\Tests\Http\Server;

/** Every way in which a server can fail, under every policy: the table of docs/failures.md. */
final class FailureTest extends TestCase
{
    private const float TIMEOUT = 0.1;

    private ?RedisServer $server = null;
    /** @var list<mixed> what must live until the test ends */
    private array $kept = [];

    protected function tearDown(): void
    {
        $this->server?->signal(SIGKILL); // stopped, loading or busy, it would not end by itself
        $this->server = null;
        $this->kept = [];
    }

    /** @return array<string, array{\Closure(self): string, string}> what gives the store's address, and what the log says */
    public static function failures(): array
    {
        $redis = static fn (string ...$commands): \Closure => static fn (self $test): string => $test->redis($commands);
        $peer = static fn (string ...$answers): \Closure => static fn (self $test): string => $test->peer($answers);
        $okay = '+OK\r\n';
        $time = '*2\r\n$10\r\n1790000000\r\n$1\r\n0\r\n';
        return [
            'nothing listens' => [static fn (): string => self::address(Requests::freePort()), 'Connection refused'],
            'the socket is missing' => [static fn (): string => 'redis+unix://limiter:s3cret@/nowhere/redis.sock', 'No such file'],
            'packets are dropped' => [static fn (self $test): string => $test->blackHole(), 'no answer within 100 ms'],
            'it is stopped' => [static fn (self $test): string => $test->stopped(), 'no answer within 100 ms'],
            'it stops amid a reply' => [$peer($okay, $time, '*5\r\n:1\r\n:', ''), 'no answer within 100 ms'],
            'it closes amid a reply' => [$peer($okay, $time, 'close:*5\r\n:1\r\n:'), 'closed the connection'],
            'it closes without a reply' => [$peer($okay, $time, 'close:'), 'closed the connection'],
            'LOADING' => [static fn (self $test): string => $test->loading(), 'LOADING'],
            'MASTERDOWN' => [$redis('CONFIG SET replica-serve-stale-data no', 'REPLICAOF 127.0.0.1 1'), 'MASTERDOWN'],
            'READONLY' => [$redis('REPLICAOF 127.0.0.1 1'), 'READONLY'],
            'OOM' => [$redis('CONFIG SET maxmemory 1'), 'OOM'],
            'NOAUTH' => [static fn (self $test): string => str_replace('limiter:s3cret@', '', $test->redis(['CONFIG SET requirepass s3cret'])), 'NOAUTH'],
            'WRONGPASS' => [$redis('ACL SETUSER limiter resetpass >other'), 'WRONGPASS'],
            'NOPERM' => [$redis('ACL SETUSER limiter -evalsha -eval'), 'NOPERM'],
            'NOPERM on its keys' => [$redis('ACL SETUSER limiter resetkeys ~app:*'), 'NOPERM'],
            'MISCONF' => [static fn (self $test): string => $test->misconfigured(), 'MISCONF'],
            'BUSY' => [static fn (self $test): string => $test->busy(), 'BUSY'],
            'WRONGTYPE on the key' => [$redis('SET rl:log:one text'), 'WRONGTYPE'],
            'another protocol' => [$peer('HTTP/1.1 400 Bad Request\r\n\r\n'), 'unexpected reply'],
            '+PONG' => [$peer($okay, $time, '+PONG\r\n'), 'unexpected reply'],
            'too few elements' => [$peer($okay, $time, '*2\r\n:1\r\n:0\r\n'), 'unexpected reply'],
            'a huge bulk length' => [$peer($okay, $time, '$999999999999\r\n'), 'unexpected reply'],
        ];
    }

    /** @param \Closure(self): string $store */
    #[DataProvider('failures')]
    public function test_each_policy_answers_in_time_and_the_log_says_why_once(\Closure $store, string $reason): void
    {
        $address = $store($this);
        $tries = 0;
        do {
            ['results' => $results, 'log' => $log, 'output' => $output] = $this->check($address);
            $slowest = max(array_column($results, 'seconds'));
            // A tenth for the answer; the machine may have had something else to do, but not each time.
        } while ($slowest > self::TIMEOUT * 1.1 && ++$tries < 4);
        self::assertLessThanOrEqual(self::TIMEOUT * 1.1, $slowest, $output);
        self::assertStringContainsString('RateLimit\StoreException', $results['throw']['answer']);
        self::assertStringContainsString($reason, $results['throw']['answer']);
        self::assertSame([true, 10, 'fail-open'], $results['open']['answer']);
        self::assertSame([false, 0, 'fail-closed'], $results['closed']['answer']);
        self::assertSame([true, 9, 'memory'], $results['memory']['answer']);

        self::assertSame(1, substr_count($log, "\n"), $log);
        self::assertStringContainsString('rate_limit: redis', $log);
        self::assertStringContainsString($reason, $log);
        foreach (['s3cret', 'limiter'] as $secret) {
            self::assertStringNotContainsString($secret, $log . preg_replace('~"(throw|open)":~', '', $output));
        }
        [$server] = array_values($results['status']['servers']);
        self::assertSame($reason === 'WRONGTYPE' ? 0 : 4, $server['failures']);
    }

    /** @return array<string, array{\Closure(self): string}> */
    public static function noFailures(): array
    {
        return [
            'closed while idle' => [static function (self $test): void { $test->server->client()->rawCommand('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no'); }],
            'restarted, the scripts gone' => [static function (self $test): void { $test->server->restart(); }],
            'scripts flushed' => [static function (self $test): void { $test->server->client()->script('flush'); }],
        ];
    }

    /** @param \Closure(self): void $event */
    #[DataProvider('noFailures')]
    public function test_what_is_no_failure_is_answered_by_the_server(\Closure $event): void
    {
        $this->server = new RedisServer();
        $limiter = new \SlidingWindowLog($this->server->dsn(), 10, 60, \RateLimit\OnFailure::Open);
        $limiter->check('one');
        $event($this);
        self::assertSame(\RateLimit\Source::Redis, $limiter->attempt('one')->source);
    }

    public function test_a_wrong_password_opens_nobody_elses_breaker(): void
    {
        $this->redis([]);
        $at = fn (string $credentials, string $rest = ''): \SlidingWindowLog
            => new \SlidingWindowLog("redis://$credentials@127.0.0.1:{$this->server->port}$rest", 10, 60, \RateLimit\OnFailure::Open);
        for ($i = 0; $i < 6; $i++) {
            self::assertSame(\RateLimit\Source::FailOpen, $at('limiter:wrong')->attempt('one')->source);
        }
        try {
            (new \SlidingWindowLog("redis://limiter:wrong@127.0.0.1:{$this->server->port}", 10, 60))->check('one');
            self::fail('no exception');
        } catch (\RateLimit\StoreException $exception) {
            self::assertStringContainsString('left alone', $exception->getMessage());
        }
        self::assertSame(\RateLimit\Source::Redis, $at('limiter:s3cret')->attempt('one')->source);
        self::assertSame(\RateLimit\Source::Redis, $at('limiter:s3cret', '/1')->attempt('one')->source);

        $client = function (string $password): \Redis {
            $redis = $this->server->connect(new class extends \Redis {});
            try {
                $redis->auth(['limiter', $password]);
            } catch (\RedisException) {
                // The application goes on; so does the limiter, by its policy.
            }
            return $redis;
        };
        $this->server->client()->rawCommand('ACL', 'SETUSER', 'default', 'resetpass', 'on', '>x');
        for ($i = 0; $i < 6; $i++) {
            (new \SlidingWindowLog($client('wrong'), 10, 60, \RateLimit\OnFailure::Open))->check('one');
        }
        self::assertSame(\RateLimit\Source::Redis, (new \SlidingWindowLog($client('s3cret'), 10, 60))->attempt('one')->source);
    }

    /** Runs each_policy.php in a process of its own, so with shared memory of its own. */
    private function check(string $store): array
    {
        $log = tempnam(sys_get_temp_dir(), 'rate_limit-');
        $command = [
            PHP_BINARY, '-d', "error_log=$log", '-d', 'log_errors=1', '-d', 'rate_limit.timeout=' . self::TIMEOUT,
            '-d', 'rate_limit.breaker=1000', __DIR__ . '/each_policy.php', $store, 'one',
        ];
        $process = proc_open($command, [1 => ['pipe', 'w'], 2 => ['pipe', 'w']], $pipes);
        $output = stream_get_contents($pipes[1]) . stream_get_contents($pipes[2]);
        proc_close($process);
        $lines = file_get_contents($log);
        unlink($log);
        return ['results' => json_decode($output, true, flags: JSON_THROW_ON_ERROR), 'log' => $lines, 'output' => $output];
    }

    private static function address(int $port): string
    {
        return "redis://limiter:s3cret@127.0.0.1:$port";
    }

    /** A server with a user, told some commands. @param list<string> $commands */
    private function redis(array $commands, string ...$options): string
    {
        $this->server = new RedisServer($options);
        $client = $this->server->client();
        $client->rawCommand('ACL', 'SETUSER', 'limiter', 'on', '>s3cret', '~*', '&*', '+@all');
        foreach ($commands as $command) {
            $client->rawCommand(...explode(' ', $command));
        }
        return self::address($this->server->port);
    }

    private function stopped(): string
    {
        $address = $this->redis([]);
        $this->server->signal(SIGSTOP);
        return $address;
    }

    /** Three thousand keys, of which each takes a millisecond to load. */
    private function loading(): string
    {
        $address = $this->redis(['CONFIG SET save 3600'], '--dbfilename', 'dump.rdb', '--rdbcompression', 'no');
        $client = $this->server->client();
        for ($i = 0; $i < 3000; $i++) {
            $client->set("key $i", str_repeat('x', 500));
        }
        $client->save();
        $this->server->restart('--user', 'limiter', 'on', '>s3cret', '~*', '+@all', '--key-load-delay', '1000', '--loading-process-events-interval-bytes', '1024');
        return $address;
    }

    private function misconfigured(): string
    {
        $address = $this->redis([], '--enable-protected-configs', 'yes');
        $client = $this->server->client();
        mkdir("{$this->server->folder}/taken");
        touch("{$this->server->folder}/taken/file");
        $client->config('SET', ['dbfilename' => 'taken', 'save' => '3600 1']);
        $client->set('one', '1');
        $client->rawCommand('BGSAVE');
        Server::wait(fn (): bool => $client->info('persistence')['rdb_last_bgsave_status'] === 'err');
        return $address;
    }

    private function busy(): string
    {
        $address = $this->redis(['CONFIG SET busy-reply-threshold 20']);
        $this->kept[] = $socket = stream_socket_client("unix://{$this->server->socket}");
        fwrite($socket, "EVAL 'while true do end' 0\r\n");
        usleep(200_000);
        return $address;
    }

    /** A listening socket whose queue is full: connecting to it hangs, as where packets are dropped. */
    private function blackHole(): string
    {
        $context = stream_context_create(['socket' => ['backlog' => 0]]);
        $this->kept[] = $listener = stream_socket_server('tcp://127.0.0.1:0', context: $context);
        $name = stream_socket_get_name($listener, false);
        for ($i = 0; $i < 3; $i++) {
            $this->kept[] = stream_socket_client("tcp://$name", flags: STREAM_CLIENT_ASYNC_CONNECT | STREAM_CLIENT_CONNECT);
        }
        return "redis://limiter:s3cret@$name";
    }

    /** @param list<string> $answers see peer.php */
    private function peer(array $answers): string
    {
        $port = Requests::freePort();
        $this->kept[] = new Server(
            [PHP_BINARY, '-n', __DIR__ . '/peer.php', (string) $port, ...$answers],
            static fn (): bool => (bool) @fsockopen('127.0.0.1', $port),
        );
        return self::address($port);
    }
}
