<?php

declare(strict_types=1);

/*
 * Row n: what an identity costs beside PHP's own hash_hmac('sha256', ...) of the same message under the
 * same salt.
 *
 * It says nothing about the first identity of a request with managed keys, which asks the host's key
 * ring, and now and then the store.
 */

namespace Bench;

require __DIR__ . '/support/start.php';

putenv('RL_DAILY_SALT=' . ($salt = bin2hex(random_bytes(16))));
$clients = ['IPv4' => ['203.0.113.7', '203.0.113.7'], 'IPv6' => ['2001:db8:0:1::2a', '2001:db8:0:1::/64']];
foreach ($clients as $kind => [$address, $client]) {
    $message = "$client|" . gmdate('Y-m-d');
    if (\rate_limit_identity($address, 'trending') !== substr(hash_hmac('sha256', $message, $salt), 0, 24) . ':trending') {
        throw new \RuntimeException("rate_limit_identity($address) is not the formula's");
    }
    $times = race([
        'hash_hmac' => function (int $n) use ($message, $salt): void {
            for ($i = 0; $i < $n; ++$i) {
                \hash_hmac('sha256', $message, $salt);
            }
        },
        'identity' => function (int $n) use ($address): void {
            for ($i = 0; $i < $n; ++$i) {
                \rate_limit_identity($address, 'trending');
            }
        },
    ], 2_000, 51);
    decision("hash_hmac() of $kind and date", $times['hash_hmac']);
    decision("rate_limit_identity() of $kind", $times['identity']);
    at_most('n', "rate_limit_identity() / hash_hmac() of the same message, $kind", 1.5, $times['identity']->over($times['hash_hmac']));
}
