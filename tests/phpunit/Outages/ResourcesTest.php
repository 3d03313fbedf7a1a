<?php

declare(strict_types=1);

namespace RateLimit\Tests\Outages;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Extension\Forks;
use RateLimit\Tests\Extension\RedisServer;

/** What workers hold: connections and memory, and none of either that grows. */
#[Group('heavy')]
final class ResourcesTest extends TestCase
{
    private const int WORKERS = 8;

    public function test_ten_thousand_requests_hold_one_connection_a_worker_and_no_more_memory(): void
    {
        $server = new RedisServer();
        $pool = new Pool($server->dsn(), self::WORKERS);
        $requests = fn (int $times): array => array_merge(...Forks::run(self::WORKERS, function (int $number) use ($pool, $times): array {
            $seen = [];
            for ($i = 0; $i < $times / self::WORKERS; $i++) {
                $class = $i % 2 === 0 ? 'SlidingWindowLog' : 'SlidingWindowCounter';
                $answer = $pool->attempt(['class' => $class, 'identity' => "client $number", 'policy' => 'memory', 'limit' => '100']);
                $seen[$answer['worker']] = Pool::privateMemory($answer['worker']);
            }
            return array_map(fn (int $worker, int $bytes): array => [$worker, $bytes], array_keys($seen), $seen);
        }));
        $memory = fn (array $seen): array => array_column($seen, 1, 0);

        $before = $memory($requests(2_000));
        $after = $memory($requests(8_000));
        self::assertLessThanOrEqual(self::WORKERS, $this->connections($server));
        foreach (array_intersect_key($after, $before) as $worker => $bytes) {
            self::assertLessThan($before[$worker] + 128 * 1024, $bytes, "worker $worker grew");
        }
        self::assertCount(count($before), array_intersect_key($after, $before), 'a worker died');
    }

    public function test_a_run_of_mixed_calls_is_clean_under_valgrind(): void
    {
        $server = new RedisServer();
        $command = [
            'valgrind', '-q', '--leak-check=full', '--show-leak-kinds=definite', '--errors-for-leak-kinds=definite', '--error-exitcode=9',
            PHP_BINARY, '-d', 'pcre.jit=0', '-d', 'error_log=/dev/null', __DIR__ . '/mixed.php', $server->dsn(), $server->socket, '2',
        ];
        $environment = ['USE_ZEND_ALLOC' => '0', 'ZEND_DONT_UNLOAD_MODULES' => '1', ...getenv()];
        $process = proc_open($command, [1 => ['pipe', 'w'], 2 => ['file', $errors = tempnam(sys_get_temp_dir(), 'rate_limit-'), 'w']], $pipes, null, $environment);
        $output = stream_get_contents($pipes[1]);
        $status = proc_close($process);
        $found = file_get_contents($errors);
        unlink($errors);
        self::assertSame(['done', 0], [$output, $status], $found);
    }

    /** Connections to the server, but for the one that asks. */
    private function connections(RedisServer $server): int
    {
        return count($server->client()->client('LIST')) - 1;
    }
}
