<?php

declare(strict_types=1);

/*
 * Rows j and k: what a log costs the Redis server, in time of its main thread and in memory, kept as a
 * list or as a sorted set (rate_limit.log_layout).
 *
 * Identities are filled up to their limit, call by call: every call is admitted and nothing expires.
 * Time is INFO cpu's of the main thread, reading and answering included. Memory is INFO memory's
 * used_memory with the identities less that without them, so keys, expiry and tables count.
 */

namespace Bench;

require __DIR__ . '/support/start.php';

if (isset($argv[1])) {
    [, $limit, $identities] = array_map(intval(...), $argv);
    $limiter = new \SlidingWindowLog(dsns()['unix'], $limit, 3600);
    for ($call = 0; $call < $limit; ++$call) {
        for ($i = 0; $i < $identities; ++$i) {
            $limiter->check(substr(md5("$i"), 0, 24) . ':trending');
        }
    }
    return;
}

$redis = phpredis();

/** Fills so many identities up to the limit; gives the server's nanoseconds a call and bytes an identity. */
$fill = function (string $layout, int $limit, int $identities) use ($redis): array {
    $redis->flushDB();
    $before = $redis->info('everything');
    run(php_with_module(['rate_limit.log_layout' => $layout], __FILE__, (string) $limit, (string) $identities));
    $after = $redis->info('everything');
    $grown = fn(string $field): float => $after[$field] - $before[$field];
    $seconds = $grown('used_cpu_user_main_thread') + $grown('used_cpu_sys_main_thread');
    return [1e9 * $seconds / ($limit * $identities), $grown('used_memory') / $identities];
};

foreach ([10 => 1.10, 100 => 0.75, 1000 => 1.10] as $limit => $reach) {
    $taken = [];
    for ($round = 0; $round < 7; ++$round) {
        foreach (['list', 'sorted-set'] as $layout) {
            [$taken[$layout][]] = $fill($layout, $limit, intdiv(8000, $limit));
        }
    }
    [$list, $set] = [new Times($taken['list']), new Times($taken['sorted-set'])];
    decision("server's main thread, log of $limit as a list", $list);
    decision("server's main thread, log of $limit as a sorted set", $set);
    at_most('j', "server time, log of $limit as a list / as a sorted set", $reach, $list->over($set));
}
foreach ([10, 100, 1000] as $limit) {
    [, $bytes] = $fill('list', $limit, $limit === 1000 ? 256 : 4096);
    at_most('k', "server memory of an identity, log as a list, $limit calls", 100 + 11 * $limit, $bytes, ' B');
}
$redis->flushDB();
