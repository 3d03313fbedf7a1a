<?php

declare(strict_types=1);

require __DIR__ . '/article.php';

/** The userland limiter as an application sets it up for each request. */
function userland(string $how): Article\SlidingWindowCounter
{
    $redis = new Redis();
    $redis->$how('@DIR@/redis.sock');
    return new Article\SlidingWindowCounter($redis, 1_000_000_000, 60);
}

$limiter = match ($_SERVER['QUERY_STRING']) {
    'none' => null,
    'memory' => new SlidingWindowCounter('memory://', 1_000_000_000, 60),
    'redis' => new SlidingWindowCounter('redis+unix://@DIR@/redis.sock', 1_000_000_000, 60),
    'pconnect', 'connect' => userland($_SERVER['QUERY_STRING']),
};
if ($limiter !== null && !$limiter->check($_SERVER['REMOTE_ADDR'] . ':trending')['allowed']) {
    http_response_code(429);
    return;
}
echo "hello\n";
