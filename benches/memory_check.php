<?php

declare(strict_types=1);

/*
 * Rows a and c: what one check() in shared memory costs a PHP script, against a call that does nothing,
 * APCu's own counter, and Symfony's sliding window on APCu.
 *
 * One process, one identity, always admitted; opcache and JIT are off. It says nothing about contention
 * (contention.php), many identities (scaling.php) or a whole request (requests.php).
 *
 * The call that does nothing is preg_last_error(), which returns a variable of the engine's: of twenty
 * functions tried none was quicker, a function in C with an empty body included (both 2.1 ns, where
 * gc_enabled() takes 3.1). Its ratio alone compares whole iterations, `for` included (2.2 ns more), which
 * is what its reach was set by. apcu_inc() keeps neither a window nor a limit.
 */

namespace Bench;

use Symfony\Component\Cache\Adapter\ApcuAdapter;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\SemaphoreStore;

require __DIR__ . '/support/start.php';
require __DIR__ . '/support/symfony.php';

$identity = IDENTITY;
$counter = new \SlidingWindowCounter('memory://', NEVER_REACHED, 60);
$log = new \SlidingWindowLog('memory://', 100_000, 1);
$exhausted = new \SlidingWindowCounter('memory://', 1, 3600);
apcu_store($identity, 0);

$times = race([
    'loop' => function (int $n): void {
        for ($i = 0; $i < 2 * $n; ++$i) { // once more than is subtracted
        }
    },
    'nothing' => function (int $n): void {
        for ($i = 0; $i < $n; ++$i) {
            \preg_last_error();
        }
    },
    'apcu' => function (int $n) use ($identity): void {
        for ($i = 0; $i < $n; ++$i) {
            \apcu_inc($identity);
        }
    },
    'counter' => function (int $n) use ($counter, $identity): void {
        for ($i = 0; $i < $n; ++$i) {
            $counter->check($identity);
        }
    },
    'denied' => function (int $n) use ($exhausted, $identity): void {
        for ($i = 0; $i < $n; ++$i) {
            $exhausted->check($identity);
        }
    },
    'log' => function (int $n) use ($log, $identity): void {
        for ($i = 0; $i < $n; ++$i) {
            $log->check($identity);
        }
    },
    'attempt' => function (int $n) use ($counter, $identity): void {
        for ($i = 0; $i < $n; ++$i) {
            $counter->attempt($identity);
        }
    },
], ['loop' => 100_000, 'nothing' => 100_000, 'apcu' => 20_000, 'counter' => 5_000, 'denied' => 5_000, 'log' => 5_000, 'attempt' => 5_000], 101);
decision('a call that does nothing', $times['nothing']);
decision('apcu_inc()', $times['apcu']);
decision('counter in shared memory', $times['counter']);
decision('counter in shared memory, denied', $times['denied']);
decision('log in shared memory', $times['log']);
decision('counter in shared memory, attempt()', $times['attempt']);
$iteration = fn(string $of) => $times[$of]->plus($times['loop']);
at_most('a', 'memory counter check() / an empty internal function, in a loop', 24, $iteration('counter')->over($iteration('nothing')));
at_most('a', 'memory counter check() / apcu_inc()', 2.5, $times['counter']->over($times['apcu']));

$plain = symfony(new ApcuAdapter())->create('plain');
$locked = symfony(new ApcuAdapter(), new LockFactory(new SemaphoreStore()))->create('locked');
$times = race([
    'counter' => function (int $n) use ($counter, $identity): void {
        for ($i = 0; $i < $n; ++$i) {
            $counter->check($identity);
        }
    },
    'plain' => function (int $n) use ($plain): void {
        for ($i = 0; $i < $n; ++$i) {
            $plain->consume();
        }
    },
    'locked' => function (int $n) use ($locked): void {
        for ($i = 0; $i < $n; ++$i) {
            $locked->consume();
        }
    },
], ['counter' => 5_000, 'plain' => 300, 'locked' => 300], 51);
decision('Symfony on APCu, no lock (admits too many under load)', $times['plain']);
decision('Symfony on APCu, with a lock', $times['locked']);
at_least('c', 'Symfony on APCu, no lock / memory check()', 75, $times['plain']->over($times['counter']));
at_least('c', 'Symfony on APCu, with a lock / memory check()', 120, $times['locked']->over($times['counter']));
