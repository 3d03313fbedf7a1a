<?php

declare(strict_types=1);

/*
 * What an identity costs beside PHP's own hash_hmac('sha256', ...) of the same message under the same
 * salt: medians over interleaved rounds in one process. The reach is a ratio of at most 1.5.
 *
 *     taskset -c 0 php -d extension=modules/rate_limit.so benches/identity.php
 *
 * Not measured: the first identity of a request with managed keys, which asks the host's key ring, and
 * now and then the store.
 */

const ROUNDS = 21;
const CALLS = 20_000;

putenv('RL_DAILY_SALT=' . ($salt = bin2hex(random_bytes(16))));
$managed = ini_get('rate_limit.salt') === 'managed';
$cases = ['203.0.113.7' => '203.0.113.7', '2001:db8:0:1::2a' => '2001:db8:0:1::/64'];

$worst = 0.0;
foreach ($cases as $address => $client) {
    $message = "$client|" . gmdate('Y-m-d');
    $expected = substr(hash_hmac('sha256', $message, $salt), 0, 24) . ':trending';
    if (!$managed && rate_limit_identity($address, 'trending') !== $expected) {
        throw new Exception("rate_limit_identity($address) is not the formula's");
    }
    $native = $hmac = [];
    for ($round = 0; $round < ROUNDS; $round++) {
        $start = hrtime(true);
        for ($i = 0; $i < CALLS; $i++) {
            hash_hmac('sha256', $message, $salt);
        }
        $middle = hrtime(true);
        for ($i = 0; $i < CALLS; $i++) {
            rate_limit_identity($address, 'trending');
        }
        $hmac[] = ($middle - $start) / CALLS;
        $native[] = (hrtime(true) - $middle) / CALLS;
    }
    sort($hmac);
    sort($native);
    [$theirs, $ours] = [$hmac[ROUNDS >> 1], $native[ROUNDS >> 1]];
    $worst = max($worst, $ours / $theirs);
    printf("%-18s hash_hmac %4.0f ns, rate_limit_identity %4.0f ns, ratio %.2f\n", $address, $theirs, $ours, $ours / $theirs);
}
exit($worst <= 1.5 ? 0 : 1);
