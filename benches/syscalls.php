<?php

declare(strict_types=1);

/*
 * Row i: system calls of one native decision on a connection that is open, counted by strace.
 *
 * The count of a process that decides 2,000 times less that of one that decides 1,000 times, so that
 * start, connecting and loading the script cancel out. Counts, not time.
 */

namespace Bench;

require __DIR__ . '/support/start.php';

if (isset($argv[1])) {
    $limiter = new \SlidingWindowCounter($argv[1], NEVER_REACHED, 60);
    for ($i = 0; $i < (int) $argv[2]; ++$i) {
        $limiter->check(IDENTITY);
    }
    return;
}

function calls(string $dsn, int $decisions): int
{
    $summary = setting('BENCH_SCRATCH') . '/strace';
    run(['strace', '-c', '-o', $summary, ...php_with_module([], __FILE__, $dsn, (string) $decisions)]);
    preg_match('/^\s*100\.00\s+\S+\s+\S+\s+(\d+).*\btotal$/m', file_get_contents($summary), $total);
    return (int) ($total[1] ?? throw new \RuntimeException('strace gave no total'));
}

foreach (dsns() as $transport => $dsn) {
    $each = (calls($dsn, 2000) - calls($dsn, 1000)) / 1000;
    exactly('i', "system calls of a decision, over $transport", $transport === 'unix' ? 3 : 2, $each);
}
