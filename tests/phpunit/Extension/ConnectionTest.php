<?php

declare(strict_types=1);

namespace RateLimit\Tests\Extension;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\OnFailure;
use RateLimit\Source;

/** The extension's own connection: whose it is, and what happens when there is none. */
final class ConnectionTest extends TestCase
{
    /** @return list<array{class-string}> */
    public static function classes(): array
    {
        return [[\SlidingWindowLog::class], [\SlidingWindowCounter::class]];
    }

    #[DataProvider('classes')]
    public function test_parent_and_child_go_on_after_a_fork(string $class): void
    {
        $server = new RedisServer();
        $limiter = new $class($server->dsn(), 1000, 31_536_000);
        $limiter->check('forked');
        $check = function () use ($limiter): int {
            $answers = array_map(fn (): array => $limiter->check('forked'), range(1, 100));
            return count(array_unique(array_column($answers, 'remaining')));
        };
        self::assertSame([100, 100], Forks::run(2, $check));
        self::assertSame(100, $check());
        self::assertSame(1000 - 301, $limiter->peek('forked')->remaining);
    }

    #[DataProvider('classes')]
    public function test_a_flushed_script_is_loaded_again_and_the_call_counts_once(string $class): void
    {
        $server = new RedisServer();
        foreach ([$server->dsn(), $server->client(), $server->connect(new class extends \Redis {})] as $i => $redis) {
            $limiter = new $class($redis, 10, 31_536_000);
            $limiter->check("flushed $i");
            $server->client()->script('flush');
            self::assertSame(['allowed' => true, 'remaining' => 8], $limiter->check("flushed $i"));
        }
    }

    public function test_a_connection_that_the_server_closed_is_opened_again(): void
    {
        $server = new RedisServer();
        $limiter = new \SlidingWindowLog($server->dsn(), 10, 60);
        $limiter->check('idle');
        $server->client()->rawCommand('CLIENT', 'KILL', 'TYPE', 'normal');
        self::assertSame(8, $limiter->check('idle')['remaining']);
    }

    public function test_one_connection_serves_all_limiters_of_a_process(): void
    {
        $server = new RedisServer();
        $client = $server->client();
        for ($i = 0; $i < 5; ++$i) {
            (new \SlidingWindowLog($server->dsn("prefix=$i"), 10, 60))->check('one');
            (new \SlidingWindowCounter($client, 10, 60))->check('one');
        }
        // This client, the one that set the port, and the extension's.
        self::assertLessThanOrEqual(3, (int) $client->info('clients')['connected_clients']);
    }

    public function test_credentials_and_database_of_a_dsn_are_used(): void
    {
        $server = new RedisServer();
        $client = $server->client();
        $client->rawCommand('ACL', 'SETUSER', 'limiter', 'on', '>p@ss', '~app:*', '+@all');
        $dsn = "redis://limiter:p%40ss@127.0.0.1:$server->port/3?prefix=app:";
        (new \SlidingWindowLog($dsn, 10, 60))->check('one');
        $client->select(3);
        self::assertSame(['app:rl:log:one'], $client->keys('*'));
    }

    public function test_each_policy_answers_when_nothing_listens(): void
    {
        $limiter = fn (OnFailure $policy): \SlidingWindowLog
            => new \SlidingWindowLog('redis://user:secret@127.0.0.1:1', 3, 60, $policy);

        $open = $limiter(OnFailure::Open)->attempt('one');
        self::assertSame([true, 3, 0.0, Source::FailOpen], [$open->allowed, $open->remaining, $open->retryAfter, $open->source]);
        $closed = $limiter(OnFailure::Closed)->attempt('one');
        self::assertSame([false, 0, 1.0, Source::FailClosed], [$closed->allowed, $closed->remaining, $closed->retryAfter, $closed->source]);
        $memory = $limiter(OnFailure::Memory)->attempt('one', 2);
        self::assertSame([true, 1, Source::Memory], [$memory->allowed, $memory->remaining, $memory->source]);
        foreach ([OnFailure::Open, OnFailure::Closed, OnFailure::Throw] as $policy) {
            $impossible = $limiter($policy)->attempt('one', 4);
            self::assertFalse($impossible->allowed);
            self::assertNull($impossible->retryAfter);
            self::assertSame(Source::FailClosed, $impossible->source);
        }
        try {
            $limiter(OnFailure::Throw)->check('one');
            self::fail('no exception');
        } catch (\RedisException $exception) {
            self::assertInstanceOf(\RateLimit\StoreException::class, $exception);
            self::assertStringContainsString('127.0.0.1:1', $exception->getMessage());
            self::assertStringNotContainsString('secret', (string) $exception);
            self::assertSame(__FILE__, $exception->getFile());
        }
    }

    public function test_reset_throws_whatever_the_policy(): void
    {
        $this->expectException(\RateLimit\StoreException::class);
        (new \SlidingWindowLog('redis://127.0.0.1:1', 3, 60, OnFailure::Open))->reset('one');
    }

    public function test_a_user_who_may_not_delete_is_refused_the_reset_alone(): void
    {
        $server = new RedisServer();
        $server->client()->rawCommand('ACL', 'SETUSER', 'limiter', 'on', '>secret', '~*', '&*', '+@all', '-del');
        $client = $server->connect(new class extends \Redis {});
        $client->auth(['limiter', 'secret']);
        foreach (["redis://limiter:secret@127.0.0.1:$server->port", $client] as $redis) {
            $limiter = new \SlidingWindowLog($redis, 10, 60);
            for ($call = 0; $call < 5; ++$call) {
                try {
                    $limiter->reset('one');
                    self::fail('no exception');
                } catch (\RateLimit\StoreException $exception) {
                    self::assertStringContainsString('NOPERM', $exception->getMessage());
                }
            }
            self::assertSame(Source::Redis, $limiter->attempt('one')->source);
        }
    }

    public function test_a_key_of_another_type_is_an_error_of_that_call_alone(): void
    {
        $server = new RedisServer();
        $server->client()->set('rl:log:one', 'text');
        $limiter = new \SlidingWindowLog($server->dsn(), 3, 60);
        try {
            $limiter->check('one');
            self::fail('no exception');
        } catch (\RateLimit\StoreException $exception) {
            self::assertStringContainsString('WRONGTYPE', $exception->getMessage());
        }
        self::assertTrue($limiter->check('two')['allowed']);
    }
}
