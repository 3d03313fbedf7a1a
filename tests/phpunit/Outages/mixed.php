<?php

declare(strict_types=1);

// Mixed calls on every kind of store, good and bad ones, for a memory checker. Arguments: a server's DSN, its socket.
[, $dsn, $socket] = $argv;
require_once 'Predis/Autoloader.php';
Predis\Autoloader::register();
$redis = new Redis();
$redis->connect($socket);
$proxy = new class extends Redis {};
$proxy->connect($socket);
$stores = [
    'memory://', $dsn, $redis, $proxy, new Predis\Client(['scheme' => 'unix', 'path' => $socket]),
    'redis://limiter:wrong@127.0.0.1:1',
];
for ($round = 0; $round < (int) ($argv[3] ?? 3); $round++) {
    foreach ($stores as $number => $store) {
        foreach ([SlidingWindowLog::class, SlidingWindowCounter::class] as $class) {
            foreach (RateLimit\OnFailure::cases() as $policy) {
                $limiter = new $class($store, 3, 60, $policy);
                foreach (["\0$number", str_repeat('x', 600), "round $round"] as $identity) {
                    try {
                        $limiter->check($identity);
                        $limiter->attempt($identity, 2)->headers();
                        json_encode($limiter->peek($identity));
                        $limiter->reset($identity);
                    } catch (RateLimit\StoreException) {
                        // One store is not there.
                    }
                }
            }
        }
    }
    foreach ([fn () => new SlidingWindowLog('nonsense://', 1, 1), fn () => new SlidingWindowLog(null, -1, 1), fn () => clone $limiter] as $wrong) {
        try {
            $wrong();
        } catch (Throwable) {
            // As it should be.
        }
    }
    rate_limit_identity('192.0.2.1', 'mixed');
    rate_limit_status();
}
echo 'done';
