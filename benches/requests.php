<?php

declare(strict_types=1);

/*
 * Row f: whole requests through nginx and php-fpm (origin/), one worker of nginx, four of PHP, wrk with
 * four connections, with each limiter in turn and with none.
 *
 * Spread over all cores, as a web server is, unlike the other benchmarks: what a round trip costs a
 * worker is also that it sleeps and is woken. With two cores the spread between rounds is a tenth. Where
 * all of it shares one core, every ratio to userland is lower (1.5 and 2.3 where here it is 1.5 and 3).
 * The page does nothing but ask the limiter: a real one is slower, and the limiter's share smaller. The
 * userland limiter loads its script in the constructor, as it does in an application.
 */

namespace Bench;

require __DIR__ . '/support/start.php';

$pages = [
    'none' => 'requests without a limiter',
    'memory' => 'requests, native in shared memory',
    'redis' => 'requests, native on Redis',
    'pconnect' => 'requests, userland on pconnect',
    'connect' => 'requests, userland on connect',
];
$taken = [];
for ($round = 0; $round < 7; ++$round) {
    foreach ($pages as $page => $_) {
        $said = run(['wrk', '-t1', '-c4', '-d2s', setting('BENCH_ORIGIN') . "/?$page"]);
        if (!preg_match('~^Requests/sec: +([\d.]+)~m', $said, $rate) || str_contains($said, 'Non-2xx')) {
            throw new \RuntimeException("wrk on $page: $said");
        }
        $taken[$page][] = 1e9 / (float) $rate[1];
    }
}
$times = array_map(fn(array $rounds) => new Times($rounds), $taken);
foreach ($pages as $page => $what) {
    decision($what, $times[$page]);
}
$faster = fn(string $page, string $than) => $times[$than]->over($times[$page]);
at_least('f', 'requests/s, native on Redis / userland on pconnect', 1.5, $faster('redis', 'pconnect'));
at_least('f', 'requests/s, native in shared memory / userland on pconnect', 2.5, $faster('memory', 'pconnect'));
at_least('f', 'requests/s, native in shared memory / no limiter', 0.85, $faster('memory', 'none'));
