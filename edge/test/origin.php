<?php
/**
 * An origin that speaks to the worker in plain PHP, as docs/cloudflare.md defines it: three requests
 * a minute and client, counted in files under STATE.
 */
declare(strict_types=1);

$secret = getenv('EDGE_SECRET');
$address = $_SERVER['HTTP_CF_CONNECTING_IP'] ?? '';
$proof = $_SERVER['HTTP_RATELIMIT_EDGE'] ?? '';

[$seconds, $signature] = explode(':', $proof, 2) + ['', ''];
$throughEdge = abs(time() - (int) $seconds) <= 60
    && hash_equals(hash_hmac('sha256', "request|$seconds|$address", $secret), $signature);
$client = $throughEdge ? $address : $_SERVER['REMOTE_ADDR'];

$file = getenv('STATE') . '/' . md5($client);
$count = (int) @file_get_contents($file) + 1;
file_put_contents($file, (string) $count);

if ($count > 3) {
    http_response_code(429);
    header('Retry-After: 60');
    header('Cache-Control: no-store');
    if ($throughEdge) {
        header('RateLimit-Edge: ' . hash_hmac('sha256', "verdict|$proof", $secret));
    }
}
echo $client;
