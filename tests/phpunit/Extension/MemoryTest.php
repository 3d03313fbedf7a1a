<?php

declare(strict_types=1);

namespace RateLimit\Tests\Extension;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** Shared memory, from processes that were forked from one parent. */
final class MemoryTest extends TestCase
{
    /** @return list<array{class-string, int}> */
    public static function classesAndWorkers(): array
    {
        return [
            [\SlidingWindowLog::class, 2], [\SlidingWindowLog::class, 16],
            [\SlidingWindowCounter::class, 2], [\SlidingWindowCounter::class, 16],
        ];
    }

    #[DataProvider('classesAndWorkers')]
    public function test_workers_on_one_identity_are_admitted_exactly_the_limit(string $class, int $workers): void
    {
        $identity = __METHOD__ . $class . $workers;
        $allowed = Forks::run($workers, function () use ($class, $identity): int {
            $limiter = new $class('memory://', 1000, 31_536_000);
            $allowed = 0;
            for ($call = 0; $call < 1000; ++$call) {
                $allowed += (int) $limiter->check($identity)['allowed'];
            }
            return $allowed;
        });
        self::assertSame(1000, array_sum($allowed));
    }

    public function test_a_limiter_made_before_the_fork_works_after_it(): void
    {
        $limiter = new \SlidingWindowCounter('memory://', 100, 31_536_000);
        $limiter->check('forked');
        Forks::run(3, fn (): array => $limiter->check('forked'));
        self::assertSame(96, $limiter->peek('forked')->remaining);
    }

    public function test_a_log_too_large_for_the_region_is_refused_before_it_is_needed(): void
    {
        foreach (['memory://', 'redis://127.0.0.1:1'] as $store) {
            try {
                new \SlidingWindowLog($store, 10_000_000, 60, \RateLimit\OnFailure::Memory);
                self::fail('no exception');
            } catch (\RateLimit\ConfigException $exception) {
                self::assertStringContainsString('rate_limit.memory_size', $exception->getMessage());
            }
        }
        new \SlidingWindowLog('redis://127.0.0.1:1', 10_000_000, 60, \RateLimit\OnFailure::Throw);
    }

    public function test_every_decision_of_every_worker_is_counted_once(): void
    {
        $counts = static fn (): array => rate_limit_status()['decisions']['log']['memory'];
        $limiter = new \SlidingWindowLog('memory://', 300, 31_536_000);
        $before = $counts();
        $check = static function () use ($limiter): void {
            for ($call = 0; $call < 333; ++$call) {
                $limiter->check('counted');
            }
            $limiter->attempt('counted')->headers('forked');
            rate_limit_status(); // these workers are killed; those of a server hand in at a request's end
        };
        $limiter->check('counted'); // waits in this process while it forks
        Forks::run(4, $check);
        $after = $counts();
        self::assertSame([300, 4 * 334 + 1 - 300], [$after['allowed'] - $before['allowed'], $after['denied'] - $before['denied']]);
        self::assertSame(4, array_sum(rate_limit_status()['policies']['forked']));
    }

    public function test_a_child_knows_that_it_shares_the_region(): void
    {
        self::assertFalse(rate_limit_status()['memory']['shared']);
        self::assertSame([true], Forks::run(1, fn (): bool => rate_limit_status()['memory']['shared']));
    }
}
