<?php

declare(strict_types=1);

/*
 * Row g: denials that a host remembers, so that a client over its limit costs no round trip.
 *
 * The mix is ten clients over their limit that send nine requests in ten, and 5,000 that never reach
 * theirs. It does not show how soon a reset elsewhere is seen (ten seconds at the latest).
 */

namespace Bench;

require __DIR__ . '/support/start.php';
require __DIR__ . '/article.php';

$dsn = dsns()['unix'];

if (isset($argv[1])) { // one process of those at the end
    $native = new \SlidingWindowCounter($dsn, NEVER_REACHED, 3600);
    $admitted = function (int $n) use ($native): void {
        for ($i = 0; $i < $n; ++$i) {
            $native->check(IDENTITY);
        }
    };
    echo race(['admitted' => $admitted], 300)['admitted']->median();
    return;
}

$redis = phpredis();
$identity = IDENTITY . ':denied';

$memory = new \SlidingWindowCounter('memory://', NEVER_REACHED, 60);
$native = new \SlidingWindowCounter($dsn, 1, 3600);
$native->check($identity);
$native->check($identity);
$commands = fn(): int => (int) $redis->info('stats')['total_commands_processed'];
$before = $commands();
$times = race([
    'memory' => function (int $n) use ($memory): void {
        for ($i = 0; $i < $n; ++$i) {
            $memory->check(IDENTITY);
        }
    },
    'denied' => function (int $n) use ($native, $identity): void {
        for ($i = 0; $i < $n; ++$i) {
            $native->check($identity);
        }
    },
], 5_000, 61);
$asked = $commands() - $before - 1;
decision('denial on Redis, remembered by the host', $times['denied']);
at_most('g', 'remembered denial, check() / memory check()', 2, $times['denied']->over($times['memory']));
exactly('g', 'commands that Redis got for ' . 61 * 5_000 . ' remembered denials', 0, $asked);

// What is remembered holds ten seconds, after which one call asks again: part of the mix as well.
$mix = [];
for ($i = 0; $i < 1000; ++$i) {
    $mix[] = $i % 10 === 0 ? 'good:' . $i * 7919 % 5000 : 'bad:' . $i % 10;
}
$article = new \Article\SlidingWindowCounter($redis, 1_000_000, 3600);
$article_denies = new \Article\SlidingWindowCounter($redis, 1, 3600);
$native = new \SlidingWindowCounter($dsn, 1_000_000, 3600);
$native_denies = new \SlidingWindowCounter($dsn, 1, 3600);
$traffic = fn(object $admits, object $denies) => function (int $n) use ($mix, $admits, $denies): void {
    for ($i = 0; $i < $n; ++$i) {
        $client = $mix[$i % 1000];
        $client[0] === 'b' ? $denies->check($client) : $admits->check($client);
    }
};
$times = race([
    'article' => $traffic($article, $article_denies),
    'native' => $traffic($native, $native_denies),
], 1000, 15);
decision('userland, nine in ten denied', $times['article']);
decision('native, nine in ten denied', $times['native']);
at_least('g', 'userland / native, nine in ten denied', 7, $times['article']->over($times['native']));

for ($round = 0; $round < 15; ++$round) {
    foreach (['on', 'off'] as $cache) {
        $taken[$cache][] = (float) run(php_with_module(['rate_limit.deny_cache' => $cache], __FILE__, 'admitted'));
    }
}
$ratio = (new Times($taken['on']))->over(new Times($taken['off']));
at_most('g', 'native with a deny cache that is never hit / without one', 1.03, $ratio);
