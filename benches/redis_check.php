<?php

declare(strict_types=1);

/*
 * Rows d and e: what one check() on Redis costs a PHP script, against the same bytes over a bare socket
 * (bare_socket.c), and against the userland limiter (article.php) in each way it can be connected.
 *
 * Client and server share a core, so a round trip costs what it costs the processor. Over a network
 * every round trip is dearer by the same amount, whoever makes it: what is saved there is round trips,
 * and rows e (two and more against one) and g say how many. The p99 is the machine's, not ours.
 */

namespace Bench;

require __DIR__ . '/support/start.php';
require __DIR__ . '/article.php';
require __DIR__ . '/support/bare_socket.php';

foreach (dsns() as $transport => $dsn) {
    foreach (['counter, admitted' => NEVER_REACHED, 'log of 100, denied' => 100] as $what => $limit) {
        $class = $limit === 100 ? \SlidingWindowLog::class : \SlidingWindowCounter::class;
        $native = new $class($dsn, $limit, 3600);
        $bare = BareSocket::to($transport, sent_by(fn(string $elsewhere) => new $class($elsewhere, $limit, 3600)));
        [$ours, $theirs] = [IDENTITY . '1', IDENTITY . '2'];
        for ($i = 0; $limit === 100 && $i < $limit; ++$i) {
            $native->check($ours);
            $native->check($theirs);
        }
        $times = race([
            'native' => function (int $n) use ($native, $ours): void {
                for ($i = 0; $i < $n; ++$i) {
                    $native->check($ours);
                }
            },
            'bare' => $bare->repeat(...),
        ], 300, 101);
        decision("$what, over $transport", $times['native']);
        decision("$what, over $transport: its bytes over a bare socket", $times['bare']);
        at_most('d', "$what, over $transport / the same bytes over a bare socket", 1.06, $times['native']->over($times['bare']));
    }
}

/** A request that connects in some way, and decides once. */
function request(string $transport, string $how, bool $load): \Closure
{
    return function (int $n) use ($transport, $how, $load): void {
        for ($i = 0; $i < $n; ++$i) {
            $redis = new \Redis();
            connect($redis, $transport, $how);
            (new \Article\SlidingWindowCounter($redis, NEVER_REACHED, 60, $load))->check(IDENTITY);
            if ($how === 'connect') {
                $redis->close();
            }
        }
    };
}

foreach (dsns() as $transport => $dsn) {
    $kept = new \Article\SlidingWindowCounter(phpredis($transport), NEVER_REACHED, 60);
    $times = race([
        'native' => function (int $n) use ($dsn): void {
            for ($i = 0; $i < $n; ++$i) {
                (new \SlidingWindowCounter($dsn, NEVER_REACHED, 60))->check(IDENTITY);
            }
        },
        'kept' => function (int $n) use ($kept): void {
            for ($i = 0; $i < $n; ++$i) {
                $kept->check(IDENTITY);
            }
        },
        'pconnect' => request($transport, 'pconnect', false),
        'pconnect, load' => request($transport, 'pconnect', true),
        'connect, load' => request($transport, 'connect', true),
    ], 100, 51);
    decision("native, new limiter each time, over $transport", $times['native']);
    decision("userland, one object for all calls, over $transport", $times['kept']);
    decision("userland, pconnect each time, over $transport", $times['pconnect']);
    decision("userland, pconnect and SCRIPT LOAD each time, over $transport", $times['pconnect, load']);
    decision("userland, connect and SCRIPT LOAD each time, over $transport", $times['connect, load']);
    $ratio = fn(string $how) => $times[$how]->over($times['native']);
    at_least('e', "userland, pconnect each request / native, over $transport", 2.0, $ratio('pconnect'));
    at_least('e', "userland, connect and SCRIPT LOAD / native, over $transport", $transport === 'unix' ? 3.0 : 4.0, $ratio('connect, load'));
}
