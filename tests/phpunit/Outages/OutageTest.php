<?php

declare(strict_types=1);

namespace RateLimit\Tests\Outages;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Extension\Forks;
use RateLimit\Tests\Extension\RedisServer;

/** What one outage costs the workers of a host together. */
final class OutageTest extends TestCase
{
    /**
     * 16 workers under load; after two seconds the server is stopped for five.
     *
     * Slow is a check that takes as long as the timeout. Those in flight when the server stops are, and those that
     * open the breaker, which all began within the first timeout; from then on one an interval.
     */
    #[Group('heavy')]
    public function test_an_outage_of_five_seconds_costs_one_wait_an_interval(): void
    {
        $server = new RedisServer();
        $pool = new Pool($server->dsn(), 16, ['rate_limit.timeout' => '0.1', 'rate_limit.retry_interval' => '1']);
        $end = hrtime(true) / 1e9 + 9;
        $stopped = $end - 7;
        $continued = $end - 2;
        $results = Forks::run(17, function (int $number) use ($server, $pool, $stopped, $continued, $end): array {
            if ($number === 16) {
                usleep((int) (($stopped - hrtime(true) / 1e9) * 1e6));
                $server->signal(SIGSTOP);
                usleep((int) (($continued - hrtime(true) / 1e9) * 1e6));
                $server->signal(SIGCONT);
                return [];
            }
            $seen = [];
            while (hrtime(true) / 1e9 < $end) {
                $seen[] = $pool->attempt();
                usleep(5_000);
            }
            return $seen;
        });
        $all = array_merge(...$results);
        $within = fn (float $from, float $to): array
            => array_filter($all, fn (array $seen): bool => $seen['ended'] - $seen['seconds'] > $from && $seen['ended'] < $to);
        $slow = fn (array $seen): bool => $seen['seconds'] > 0.09;
        $healthy = $within(0, $stopped);
        $outage = $within($stopped - 0.1, $continued);
        $settled = $within($stopped + 0.15, $continued);

        self::assertGreaterThan(500, count($healthy));
        self::assertSame([], array_filter($healthy, $slow));
        self::assertLessThanOrEqual(16 + 3 + 5, count(array_filter($outage, $slow)));
        self::assertGreaterThan(500, count($settled));
        self::assertLessThanOrEqual(5, count(array_filter($settled, $slow)), 'one an interval');
        foreach ($settled as $seen) {
            self::assertSame('fail-open', $seen['source']);
        }
        $quick = array_filter($settled, fn (array $seen): bool => !$slow($seen));
        // Checks that ask nobody take a few microseconds, if the machine does not do something else meanwhile.
        self::assertLessThanOrEqual(self::p99($healthy) + 0.001, self::p99($quick));
        $after = $within($continued + 1.2, $end);
        self::assertSame(['redis'], array_values(array_unique(array_column($after, 'source'))));
        self::assertSame(1, substr_count($pool->log(), "\n"), $pool->log());
    }

    public function test_a_probe_whose_worker_is_killed_is_taken_over(): void
    {
        $server = new RedisServer();
        $pool = new Pool($server->dsn(), 2, [
            'rate_limit.timeout' => '5', 'rate_limit.retry_interval' => '0.3', 'rate_limit.breaker' => '1',
        ]);
        self::assertSame('redis', $pool->attempt()['source']);
        // Opens the breaker at once, with an error.
        $server->client()->rawCommand('REPLICAOF', '127.0.0.1', '1');
        self::assertSame('fail-open', $pool->attempt()['source']);
        $server->client()->rawCommand('REPLICAOF', 'NO', 'ONE');
        usleep(350_000);

        $server->signal(SIGSTOP);
        [$probe, [$during, $after]] = Forks::run(2, function (int $number) use ($pool, $server): array {
            if ($number === 0) {
                return $pool->attempt(['identity' => 'probe']);
            }
            usleep(150_000); // the probe waits for its answer by now
            posix_kill($pool->latestWorker(), SIGKILL);
            $during = $pool->attempt();
            usleep(350_000);
            $server->signal(SIGCONT);
            return [$during, $pool->attempt()];
        });
        self::assertSame([], $probe, 'the probe was answered');
        self::assertSame('fail-open', $during['source']);
        self::assertLessThan(0.1, $during['seconds']);
        self::assertSame('redis', $after['source']);
    }

    /** A server that cannot write has run nothing, so all of it is owed. */
    public function test_what_is_admitted_in_an_outage_is_added_when_the_server_is_back(): void
    {
        foreach (['SlidingWindowLog', 'SlidingWindowCounter'] as $class) {
            $server = new RedisServer();
            $pool = new Pool($server->dsn(), 4, ['rate_limit.retry_interval' => '0.2']);
            $attempt = function () use ($pool, $class): array {
                // A window of a year: no counter's window ends while this runs.
                $query = ['class' => $class, 'policy' => 'memory', 'limit' => '10', 'window' => '31536000'];
                $answer = $pool->attempt($query);
                return [$answer['source'], $answer['remaining']];
            };
            self::assertSame([['redis', 9], ['redis', 8], ['redis', 7], ['redis', 6]], array_map($attempt, range(1, 4)));
            $server->client()->rawCommand('REPLICAOF', '127.0.0.1', '1');
            $here = array_map($attempt, range(1, 5));
            self::assertSame([['memory', 5], ['memory', 4], ['memory', 3], ['memory', 2], ['memory', 1]], $here);
            $server->client()->rawCommand('REPLICAOF', 'NO', 'ONE');
            usleep(250_000);
            self::assertSame(['redis', 0], $attempt());
            self::assertSame(['redis', 0], $attempt());
            if ($class === 'SlidingWindowLog') {
                self::assertSame(10, $server->client()->zCard('rl:log:one'));
            } else {
                [$key] = $server->client()->keys('rl:cnt:one:*');
                self::assertSame('10', $server->client()->get($key));
            }
        }
    }

    /** @param array<array{seconds: float}> $seen */
    private static function p99(array $seen): float
    {
        $seconds = array_column($seen, 'seconds');
        sort($seconds);
        return $seconds[(int) (count($seconds) * 0.99)];
    }
}
