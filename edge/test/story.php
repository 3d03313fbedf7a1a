<?php
/** 100 requests a minute and client behind the worker, counted in three ways: /api/v1/fixed, /log and /counter. */
declare(strict_types=1);

use RateLimit\Edge;
use RateLimit\Guard;
use RateLimit\Request;
use RateLimit\Rules;

require __DIR__ . '/autoload.php';

$secret = '@SECRET@';

if ($_SERVER['REQUEST_URI'] === '/api/v1/fixed') {
    $client = (new Edge($secret))->client(Request::current());
    $minute = intdiv(time(), 60);
    $redis = stream_socket_client('unix://' . __DIR__ . '/redis.sock');
    fwrite($redis, "INCR fixed:$client:$minute\r\n");
    if ((int) substr(fgets($redis), 1) > 100) {
        http_response_code(429);
        exit;
    }
} else {
    (new Guard(Rules::fromArray([
        'default' => ['limit' => 0, 'window' => 60],
        'routes' => [
            '/api/v1/log' => ['limit' => 100, 'window' => 60, 'algorithm' => 'log'],
            '/api/v1/counter' => ['limit' => 100, 'window' => 60, 'algorithm' => 'counter'],
        ],
        'edge' => ['secret' => $secret],
        'on_failure' => 'throw', // 500, which no test takes for an answer
    ])))->protect();
}
echo "fine\n";
