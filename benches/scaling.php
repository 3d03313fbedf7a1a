<?php

declare(strict_types=1);

/*
 * scaling.svg, with contention.php's workers: what a decision costs as identities and limits grow.
 *
 * Identities are visited in an order that no cache foresees, so what grows with their number is the
 * processor's misses, in any table. Limits: identities whose logs hold that many entries already, so
 * that every call is admitted at that length; there are 1,000, and 10 of the longest. Making the
 * identity's name is measured by itself and subtracted. Nothing expires meanwhile.
 */

namespace Bench;

require __DIR__ . '/support/start.php';

const ROUNDS = 21;

/** Times of one check() each of $count identities in turn. */
function each(\RateLimit\Limiter $limiter, int $count, int $iterations): Times
{
    [$at, $named] = [0, 0];
    $times = race([
        'check' => function (int $n) use ($limiter, $count, &$at): void {
            for ($i = 0; $i < $n; ++$i) {
                $limiter->check('client:' . ($at = ($at + 7919) % $count));
            }
        },
        'name' => function (int $n) use ($count, &$named): void {
            for ($i = 0; $i < $n; ++$i) {
                $name = 'client:' . ($named = ($named + 7919) % $count);
            }
        },
    ], $iterations, ROUNDS);
    return $times['check']->less($times['name']);
}

$stores = [
    'counter in shared memory' => [\SlidingWindowCounter::class, 'memory://', 10_000],
    'log in shared memory' => [\SlidingWindowLog::class, 'memory://', 10_000],
    'counter on Redis' => [\SlidingWindowCounter::class, dsns()['unix'], 200],
    'log on Redis' => [\SlidingWindowLog::class, dsns()['unix'], 200],
];
foreach ($stores as $name => [$class, $dsn, $iterations]) {
    foreach ([10, 100, 1_000, 10_000, 100_000, 1_000_000] as $count) {
        $limiter = new $class($dsn, 1_000_000, 3600);
        for ($i = 0; $i < $count; ++$i) {
            $limiter->check("client:$i");
        }
        point('identities', $name, $count, each($limiter, $count, $iterations));
    }
    phpredis()->flushDB();
    foreach ([10, 100, 1_000, 10_000, 100_000] as $limit) {
        $limiter = new $class($dsn, $limit + 100_000, 3601);
        $count = max(10, min(1_000, intdiv(1_000_000, $limit)));
        for ($i = 0; $i < $count; ++$i) {
            for ($units = $limit; $units > 0; $units -= $cost) {
                $limiter->attempt("client:$i", $cost = min($units, 1000));
            }
        }
        point('limit', $name, $limit, each($limiter, $count, $iterations));
        for ($i = 0; $i < $count; ++$i) {
            $limiter->reset("client:$i");
        }
    }
}
