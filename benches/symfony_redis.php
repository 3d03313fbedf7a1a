<?php

declare(strict_types=1);

/*
 * Row h: Symfony's sliding window on Redis with a lock, the only way in which it is right with several
 * hosts, against one native check on the same server.
 *
 * One caller: nobody ever waits for the lock. With several callers on one identity the distance grows.
 */

namespace Bench;

use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

require __DIR__ . '/support/start.php';
require __DIR__ . '/support/symfony.php';

$redis = phpredis();
$native = new \SlidingWindowCounter(dsns()['unix'], NEVER_REACHED, 60);
$plain = symfony(new RedisAdapter($redis))->create('plain');
$locked = symfony(new RedisAdapter($redis), new LockFactory(new RedisStore($redis)))->create('locked');
$times = race([
    'native' => function (int $n) use ($native): void {
        for ($i = 0; $i < $n; ++$i) {
            $native->check(IDENTITY);
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
], ['native' => 300, 'plain' => 100, 'locked' => 50], 31);
decision('Symfony on Redis, no lock (admits too many under load)', $times['plain']);
decision('Symfony on Redis, with a lock', $times['locked']);
at_least('h', 'Symfony on Redis, with a lock / native', 8, $times['locked']->over($times['native']));
