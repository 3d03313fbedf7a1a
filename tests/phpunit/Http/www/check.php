<?php

declare(strict_types=1);

// One check: ?class=...&store=...&limit=...&identity=...; `store` may be "phpredis:/path/to/socket".
[$class, $store] = [$_GET['class'], $_GET['store']];
if (str_starts_with($store, 'phpredis:')) {
    $redis = new Redis();
    $redis->pconnect(substr($store, strlen('phpredis:')));
}
// A window of a year: no counter's window ends while a test runs.
$limiter = new $class($redis ?? $store, limit: (int) $_GET['limit'], windowSeconds: 31_536_000);
$check = $limiter->check($_GET['identity']);
http_response_code($check['allowed'] ? 200 : 429);
header('X-Remaining: ' . $check['remaining']);
header('X-Worker: ' . getmypid());
