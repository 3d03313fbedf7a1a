<?php

declare(strict_types=1);

/*
 * Row l: shared memory that an identity takes, when the region is as full as it gets.
 *
 * Fresh identities are each used up to their limit until the first one that still counts has to go, or
 * is refused a place. The figure is the region's resident bytes, as the kernel counts them, over the
 * identities that are in it: unused slots, headers and locks count.
 */

namespace Bench;

require __DIR__ . '/support/start.php';

const SIZE = 64 << 20; // the default of rate_limit.memory_size

if (isset($argv[1])) {
    [, $class, $limit] = $argv;
    $limiter = new $class('memory://', (int) $limit, 3600);
    try {
        for ($identities = 0; $identities % 256 !== 0 || nobody_lost(); ++$identities) {
            $limiter->attempt("client:$identities", (int) $limit);
        }
    } catch (\RateLimit\StoreException) {
    }
    echo resident() / $identities;
    return;
}

function nobody_lost(): bool
{
    return rate_limit_status()['memory']['evicted_live'] === 0;
}

/** Resident bytes of the mapping that is as large as the region. */
function resident(): int
{
    $size = SIZE / 1024;
    preg_match("/^Size: +$size kB\\n(?:(?!Size).*\\n)*?Rss: +(\\d+) kB/m", file_get_contents('/proc/self/smaps'), $rss);
    return 1024 * (int) ($rss[1] ?? throw new \RuntimeException('the region was not found in /proc/self/smaps'));
}

$full = fn(string $class, int $limit): float => (float) run(php_with_module(
    ['rate_limit.memory_size' => (string) SIZE], __FILE__, $class, (string) $limit,
));
at_most('l', 'shared memory of an identity, counter', 48, $full('SlidingWindowCounter', 100), ' B');
foreach ([10, 100, 1000] as $limit) {
    at_most('l', "shared memory of an identity, log of $limit", 64 + 8 * $limit, $full('SlidingWindowLog', $limit), ' B');
}
