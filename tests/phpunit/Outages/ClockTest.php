<?php

declare(strict_types=1);

namespace RateLimit\Tests\Outages;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Extension\RedisServer;

/** Hosts whose clocks are wrong, or are set while they work. */
final class ClockTest extends TestCase
{
    /** @return list<array{class-string}> */
    public static function classes(): array
    {
        return [[\SlidingWindowLog::class], [\SlidingWindowCounter::class]];
    }

    #[DataProvider('classes')]
    public function test_hosts_whose_clocks_are_61_seconds_apart_give_the_same_verdicts(string $class): void
    {
        $server = new RedisServer();
        $right = new Host($class, $server->dsn(), 10, 3600, '+0s');
        $ahead = new Host($class, $server->dsn(), 10, 3600, '+61s');
        for ($left = 9; $left >= 0; $left--) {
            $verdict = ($left % 2 === 1 ? $right : $ahead)->attempt();
            self::assertSame([true, $left], [$verdict['allowed'], $verdict['remaining']]);
        }
        [$one, $other] = [$right->attempt(), $ahead->attempt()];
        self::assertSame([false, false], [$one['allowed'], $other['allowed']]);
        self::assertEqualsWithDelta($one['retryAfter'], $other['retryAfter'], 1.0);
        self::assertEqualsWithDelta(-61, $other['clock']['ahead'], 0.5);
        self::assertCount(1, $server->client()->keys('*'), 'in one window');
    }

    /** @return array<string, array{class-string, string}> */
    public static function stores(): array
    {
        $cases = [];
        foreach (self::classes() as [$class]) {
            foreach (['memory', 'redis by its clock', "redis by the host's"] as $store) {
                $cases["$class, $store"] = [$class, $store];
            }
        }
        return $cases;
    }

    /** An hour back, and forward again: neither denies or admits what a standing clock would not. */
    #[DataProvider('stores')]
    public function test_a_clock_that_is_set_during_a_run_changes_no_verdict(string $class, string $store): void
    {
        $server = new RedisServer();
        $ini = ['rate_limit.clock' => str_contains($store, 'host') ? 'host' : 'server'];
        $host = new Host($class, $store === 'memory' ? 'memory://' : $server->dsn(), 5, 31_536_000, '+0s', $ini);
        foreach (['+0s', '-3600s', '+0s', '-3600s', '-7200s'] as $used => $clock) {
            $host->setClock($clock);
            $verdict = $host->attempt();
            self::assertSame([true, 4 - $used], [$verdict['allowed'], $verdict['remaining']], $clock);
        }
        foreach (['+0s', '-3600s'] as $clock) {
            $host->setClock($clock);
            $verdict = $host->attempt();
            self::assertFalse($verdict['allowed'], $clock);
            self::assertLessThanOrEqual(2 * 31_536_000.0, $verdict['retryAfter']);
        }
    }

    public function test_a_server_that_refuses_its_time_is_used_by_the_hosts_clock(): void
    {
        $server = new RedisServer();
        $server->client()->rawCommand('ACL', 'SETUSER', 'limiter', 'on', '>word', '~rl:*', '+@all', '-time');
        $host = new Host(\SlidingWindowLog::class, "redis://limiter:word@127.0.0.1:$server->port", 2, 60, '+0s');
        self::assertSame([1, 0], [$host->attempt()['remaining'], $host->attempt()['remaining']]);
        $verdict = $host->attempt();
        self::assertFalse($verdict['allowed']);
        self::assertSame(['source' => 'host, since the server refuses TIME', 'ahead' => null], $verdict['clock']);
    }
}
