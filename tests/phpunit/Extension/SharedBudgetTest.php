<?php

declare(strict_types=1);

namespace RateLimit\Tests\Extension;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Userland;

/** Hosts with the extension and hosts with the userland classes share one budget. */
final class SharedBudgetTest extends TestCase
{
    private const int LIMIT = 60;
    private const int YEAR = 31_536_000;

    /** @return array<string, array{class-string, class-string, int}> */
    public static function classes(): array
    {
        return [
            'log' => [\SlidingWindowLog::class, Userland\SlidingWindowLog::class, \Redis::REDIS_ZSET],
            'counter' => [\SlidingWindowCounter::class, Userland\SlidingWindowCounter::class, \Redis::REDIS_STRING],
        ];
    }

    #[DataProvider('classes')]
    public function test_userland_and_every_way_of_the_extension_share_one_budget_to_the_unit(
        string $class,
        string $userland,
        int $type,
    ): void {
        $server = new RedisServer();
        $redis = $server->client();
        $limiters = [
            new $userland($redis, self::LIMIT, self::YEAR),
            new $class($redis, self::LIMIT, self::YEAR),
            new $class($server->connect(new class extends \Redis {}), self::LIMIT, self::YEAR),
            new $class($server->dsn(), self::LIMIT, self::YEAR),
            new $class("redis://127.0.0.1:$server->port", self::LIMIT, self::YEAR),
        ];
        for ($call = 1; $call <= self::LIMIT; ++$call) {
            $answer = $limiters[$call % count($limiters)]->check('203.0.113.7:trending');
            self::assertSame(['allowed' => true, 'remaining' => self::LIMIT - $call], $answer);
        }
        foreach ($limiters as $limiter) {
            self::assertSame(['allowed' => false, 'remaining' => 0], $limiter->check('203.0.113.7:trending'));
        }
        [$key] = $redis->keys('*');
        self::assertSame($type, $redis->type($key));
        self::assertLessThanOrEqual(2 * self::YEAR + 1, $redis->ttl($key));
        self::assertGreaterThan(0, $redis->ttl($key));
    }

    #[DataProvider('classes')]
    public function test_racing_processes_of_both_kinds_admit_exactly_the_limit(string $class, string $userland): void
    {
        $server = new RedisServer();
        $allowed = Forks::run(8, function (int $number) use ($server, $class, $userland): int {
            $limiter = $number % 2 ? new $class($server->dsn(), self::LIMIT, self::YEAR)
                : new $userland($server->client(), self::LIMIT, self::YEAR);
            $answers = array_map(fn (): array => $limiter->check('one'), range(1, 25));
            return count(array_filter(array_column($answers, 'allowed')));
        });
        self::assertSame(self::LIMIT, array_sum($allowed));
    }
}
