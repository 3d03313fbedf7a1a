<?php

declare(strict_types=1);

namespace RateLimit\Tests\Extension;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\ConfigException;
use RateLimit\OnFailure;
use RateLimit\StoreException;

/** What the application hands over: a phpredis object as it is, or something that stands in for one. */
final class ClientObjectTest extends TestCase
{
    private RedisServer $server;

    protected function setUp(): void
    {
        $this->server = new RedisServer();
    }

    /** @return list<array{class-string, class-string<\Redis>}> */
    public static function classesAndClients(): array
    {
        $proxy = (new class extends \Redis {})::class;
        return [
            [\SlidingWindowLog::class, \Redis::class], [\SlidingWindowLog::class, $proxy],
            [\SlidingWindowCounter::class, \Redis::class], [\SlidingWindowCounter::class, $proxy],
        ];
    }

    #[DataProvider('classesAndClients')]
    public function test_prefix_database_and_credentials_are_the_objects(string $class, string $client): void
    {
        $this->server->client()->rawCommand('ACL', 'SETUSER', 'limiter', 'on', '>secret', '~*', '&*', '+@all');
        $redis = new $client();
        $redis->connect('127.0.0.1', $this->server->port);
        $redis->auth(['limiter', 'secret']);
        $redis->select(5);
        $redis->setOption(\Redis::OPT_PREFIX, 'app:');
        (new $class($redis, 10, 31_536_000))->check('one');

        $other = $this->server->client();
        $other->select(5);
        $keys = $other->keys('*');
        self::assertCount(1, $keys);
        self::assertMatchesRegularExpression('/^app:rl:(log:one|cnt:one:\d+)$/', $keys[0]);
    }

    #[DataProvider('classesAndClients')]
    public function test_serializer_and_compression_do_not_touch_the_state(string $class, string $client): void
    {
        $redis = $this->server->connect(new $client());
        $redis->setOption(\Redis::OPT_SERIALIZER, \Redis::SERIALIZER_PHP);
        $limiter = new $class($redis, 10, 31_536_000);
        self::assertSame(9, $limiter->check('one')['remaining']);
        self::assertSame(8, (new $class($this->server->dsn(), 10, 31_536_000))->check('one')['remaining']);
        self::assertSame(7, $limiter->check('one')['remaining']);
    }

    #[DataProvider('classesAndClients')]
    public function test_an_open_transaction_is_refused_and_left_alone(string $class, string $client): void
    {
        $redis = $this->server->connect(new $client());
        $limiter = new $class($redis, 10, 60, OnFailure::Open);
        foreach (['multi', 'pipeline'] as $mode) {
            $redis->$mode();
            $redis->set('mine', '1');
            foreach (['check', 'attempt', 'peek', 'reset'] as $method) {
                try {
                    $limiter->$method('one');
                    self::fail('no exception');
                } catch (ConfigException $exception) {
                    self::assertStringContainsString('transaction or pipeline', $exception->getMessage());
                }
            }
            self::assertSame([true], $redis->exec());
        }
        self::assertTrue($limiter->check('one')['allowed']);
    }

    #[DataProvider('classesAndClients')]
    public function test_identities_are_bytes(string $class, string $client): void
    {
        $limiter = new $class($this->server->connect(new $client()), 2, 31_536_000);
        foreach (['', "\0", "a\0b", "\xff\xfe", 'a b', '}x', 'a{b}c', ':', '0', str_repeat('x', 600)] as $identity) {
            self::assertSame(1, $limiter->check($identity)['remaining'], bin2hex($identity));
            $limiter->reset($identity);
            self::assertSame(2, $limiter->peek($identity)->remaining, bin2hex($identity));
            $limiter->check($identity);
        }
    }

    public function test_the_objects_state_is_read_when_the_limiter_is_made(): void
    {
        $redis = $this->server->client();
        $limiter = new \SlidingWindowLog($redis, 10, 60);
        $redis->select(4);
        $redis->close();
        self::assertSame(9, $limiter->check('one')['remaining']);
        self::assertSame(['rl:log:one'], $this->server->client()->keys('*'));
    }

    public function test_an_object_that_was_never_connected_is_refused(): void
    {
        $this->expectException(ConfigException::class);
        $this->expectExceptionMessage('never connected');
        new \SlidingWindowLog(new \Redis(), 10, 60);
    }

    public function test_an_object_that_connects_by_itself_works(): void
    {
        $lazy = new \Redis(['host' => '127.0.0.1', 'port' => $this->server->port]);
        self::assertSame(9, (new \SlidingWindowLog($lazy, 10, 60))->check('one')['remaining']);
    }

    public function test_an_object_that_connects_by_itself_and_cannot_is_answered_by_the_policy(): void
    {
        foreach ([\Redis::class, (new class extends \Redis {})::class] as $client) {
            $lazy = fn (): \Redis => new $client(['host' => '127.0.0.1', 'port' => 1]);
            $open = new \SlidingWindowLog($lazy(), 10, 60, OnFailure::Open);
            self::assertTrue($open->check('one')['allowed']);
            try {
                (new \SlidingWindowLog($lazy(), 10, 60))->check('one');
                self::fail('no exception');
            } catch (StoreException $exception) {
                self::assertInstanceOf(\RedisException::class, $exception->getPrevious());
            }
        }
    }

    public function test_an_object_whose_connection_has_failed_is_answered_by_the_policy(): void
    {
        foreach ([\Redis::class, (new class extends \Redis {})::class] as $client) {
            $redis = new $client();
            try {
                $redis->connect('127.0.0.1', 1);
                self::fail('it connects');
            } catch (\RedisException) {
                // The application goes on.
            }
            $answer = fn (OnFailure $policy): \RateLimit\Verdict => (new \SlidingWindowLog($redis, 10, 60, $policy))->attempt('one');
            self::assertSame(\RateLimit\Source::FailOpen, $answer(OnFailure::Open)->source);
            self::assertSame(\RateLimit\Source::FailClosed, $answer(OnFailure::Closed)->source);
            self::assertSame(\RateLimit\Source::Memory, $answer(OnFailure::Memory)->source);
            try {
                $answer(OnFailure::Throw);
                self::fail('no exception');
            } catch (\RedisException $exception) {
                self::assertInstanceOf(StoreException::class, $exception);
            }
        }
    }

    public function test_an_outage_at_the_default_address_is_answered_by_the_policy(): void
    {
        if (@fsockopen('127.0.0.1', 6379)) {
            self::markTestSkipped('something listens on 127.0.0.1:6379');
        }
        foreach ([OnFailure::Open, OnFailure::Closed, OnFailure::Memory] as $policy) {
            $lazy = new \Redis(['host' => '127.0.0.1']);
            self::assertNotSame(\RateLimit\Source::Redis, (new \SlidingWindowLog($lazy, 10, 60, $policy))->attempt('one')->source);
        }
    }

    /** @return list<array{\Closure(int): \Redis}> */
    public static function clientsUnderTls(): array
    {
        $options = ['verify_peer' => false, 'verify_peer_name' => false];
        return [
            [function (int $port) use ($options): \Redis {
                $redis = new \Redis();
                $redis->connect('tls://127.0.0.1', $port, 1, null, 0, 0, ['stream' => $options]);
                return $redis;
            }],
            [fn (int $port): \Redis => new \Redis(['host' => '127.0.0.1', 'port' => $port, 'ssl' => $options])],
            [function (int $port) use ($options): \Redis {
                $redis = new \Redis(['host' => '127.0.0.1', 'port' => $port, 'ssl' => $options]);
                $redis->ping();
                return $redis;
            }],
        ];
    }

    #[DataProvider('clientsUnderTls')]
    public function test_an_object_under_tls_works_however_it_was_made(\Closure $client): void
    {
        $redis = $client($this->server->tlsPort());
        foreach ([\SlidingWindowLog::class, \SlidingWindowCounter::class] as $class) {
            self::assertSame(9, (new $class($redis, 10, 31_536_000))->check('one')['remaining']);
            self::assertSame(8, (new $class($this->server->dsn(), 10, 31_536_000))->check('one')['remaining']);
        }
    }

    public function test_a_cluster_object_counts_on_keys_of_one_slot(): void
    {
        [$one, $two] = RedisServer::cluster();
        $redis = new \RedisCluster(null, ["127.0.0.1:$one->port"]);
        $redis->setOption(\Redis::OPT_PREFIX, 'app:');
        foreach ([\SlidingWindowLog::class, \SlidingWindowCounter::class] as $class) {
            $limiter = new $class($redis, 10, 31_536_000);
            foreach (['', 'a{b}c', '}x', 'one', 'two', 'three'] as $identity) {
                self::assertSame(9, $limiter->check($identity)['remaining']);
                $redis->script("127.0.0.1:$one->port", 'flush');
                $redis->script("127.0.0.1:$two->port", 'flush');
                self::assertSame(8, $limiter->check($identity)['remaining']);
                $limiter->reset($identity);
                self::assertSame(10, $limiter->peek($identity)->remaining);
            }
        }
        $redis->multi();
        $this->expectException(ConfigException::class);
        (new \SlidingWindowLog($redis, 10, 60))->check('one');
    }

    /** A denial that is remembered for one database, user or prefix says nothing about another. */
    public function test_stores_behind_objects_on_one_server_are_apart(): void
    {
        require_once 'Predis/Autoloader.php';
        \Predis\Autoloader::register();
        $proxy = function (int $database, string $prefix): \Redis {
            $redis = $this->server->connect(new class extends \Redis {});
            $redis->select($database);
            $redis->setOption(\Redis::OPT_PREFIX, $prefix);
            return $redis;
        };
        $predis = fn (int $database, string $prefix): \Predis\Client
            => new \Predis\Client(['scheme' => 'unix', 'path' => $this->server->socket, 'database' => $database], ['prefix' => $prefix]);
        foreach ([$proxy, $predis] as $client) {
            $this->server->client()->flushAll();
            foreach ([[0, ''], [5, ''], [0, 'app:']] as [$database, $prefix]) {
                $limiter = new \SlidingWindowLog($client($database, $prefix), 1, 60);
                self::assertTrue($limiter->check('one')['allowed'], "$database $prefix");
                self::assertFalse($limiter->check('one')['allowed']);
                self::assertSame(\RateLimit\Source::DenyCache, $limiter->attempt('one')->source);
            }
        }
    }

    public function test_a_test_double_is_asked_itself(): void
    {
        $double = $this->createMock(\Redis::class);
        $double->method('rawCommand')->willReturnCallback(
            fn (string $command): array => $command === 'TIME' ? [(string) time(), '0'] : [1, 0, 0, 0, 0],
        );
        self::assertSame(['allowed' => true, 'remaining' => 6], (new \SlidingWindowLog($double, 7, 60))->check('one'));
    }

    public function test_a_double_that_answers_something_else_is_a_failure(): void
    {
        $limiter = new \SlidingWindowLog($this->createStub(\Redis::class), 7, 60);
        $this->expectException(StoreException::class);
        $limiter->check('one');
    }

    public function test_the_clients_exception_is_the_previous_one(): void
    {
        $redis = $this->server->connect(new class extends \Redis {
            public function rawCommand(string $command, mixed ...$arguments): mixed
            {
                throw new \RedisException('read error on connection');
            }
        });
        self::assertTrue((new \SlidingWindowLog($redis, 7, 60, OnFailure::Open))->check('one')['allowed']);
        try {
            (new \SlidingWindowLog($redis, 7, 60))->check('one');
            self::fail('no exception');
        } catch (StoreException $exception) {
            self::assertSame('read error on connection', $exception->getPrevious()->getMessage());
        }
    }

    public function test_an_error_in_the_clients_code_is_not_hidden_by_a_policy(): void
    {
        $redis = $this->server->connect(new class extends \Redis {
            public function rawCommand(string $command, mixed ...$arguments): mixed
            {
                throw new \LogicError();
            }
        });
        $this->expectException(\Error::class);
        $this->expectExceptionMessage('Class "LogicError" not found');
        (new \SlidingWindowLog($redis, 7, 60, OnFailure::Open))->check('one');
    }

    public function test_an_error_in_the_clients_code_takes_nothing_and_opens_no_breaker(): void
    {
        foreach (OnFailure::cases() as $policy) {
            $redis = $this->server->connect(new class extends \Redis {
                public bool $broken = false;

                public function rawCommand(string $command, mixed ...$arguments): mixed
                {
                    return $this->broken ? throw new \Error('broken') : parent::rawCommand($command, ...$arguments);
                }
            });
            $limiter = new \SlidingWindowLog($redis, 7, 60, $policy);
            $limiter->check($policy->name);
            $redis->broken = true;
            for ($call = 0; $call < 5; ++$call) {
                try {
                    $limiter->check($policy->name);
                    self::fail('no error');
                } catch (\Error $error) {
                    self::assertSame('broken', $error->getMessage());
                }
            }
            $redis->broken = false;
            $verdict = $limiter->attempt($policy->name);
            self::assertSame([5, \RateLimit\Source::Redis], [$verdict->remaining, $verdict->source]);
        }
    }

    public function test_a_client_that_uses_the_limiter_itself_is_answered(): void
    {
        $redis = $this->server->connect(new class extends \Redis {
            public ?\SlidingWindowLog $limiter = null;

            public function rawCommand(string $command, mixed ...$arguments): mixed
            {
                if ($this->limiter !== null) {
                    [$limiter, $this->limiter] = [$this->limiter, null];
                    $limiter->check('inner');
                }
                return parent::rawCommand($command, ...$arguments);
            }
        });
        $redis->limiter = $limiter = new \SlidingWindowLog($redis, 7, 60);
        self::assertSame(6, $limiter->check('outer')['remaining']);
        self::assertSame(6, $limiter->peek('inner')->remaining);
    }

    public function test_limiter_and_client_that_refer_to_each_other_are_collected(): void
    {
        $redis = $this->server->connect(new class extends \Redis {
            public ?\SlidingWindowLog $limiter = null;
        });
        $redis->limiter = new \SlidingWindowLog($redis, 7, 60);
        $reference = \WeakReference::create($redis);
        unset($redis);
        gc_collect_cycles();
        self::assertNull($reference->get());
    }

    #[DataProvider('predisOptions')]
    public function test_predis_counts_on_the_same_keys(array $options, string $prefix): void
    {
        require_once 'Predis/Autoloader.php';
        \Predis\Autoloader::register();
        $predis = new \Predis\Client(['scheme' => 'unix', 'path' => $this->server->socket], $options);
        foreach ([\SlidingWindowLog::class, \SlidingWindowCounter::class] as $class) {
            $limiter = new $class($predis, 10, 31_536_000);
            self::assertSame(9, $limiter->check('one')['remaining']);
            $native = new $class($this->server->dsn("prefix=$prefix"), 10, 31_536_000);
            self::assertSame(8, $native->check('one')['remaining']);
            $this->server->client()->script('flush');
            self::assertSame(7, $limiter->check('one')['remaining']);
            $limiter->reset('one');
            self::assertSame(10, $native->peek('one')->remaining);
        }
    }

    /** @return list<array{array<string, mixed>, string}> */
    public static function predisOptions(): array
    {
        return [[[], ''], [['prefix' => 'app:'], 'app:'], [['exceptions' => false], '']];
    }
}
