<?php

declare(strict_types=1);

/*
 * midnight.php SEED [SOCKET]: random calls around midnight under a frozen clock, by rate_limit_identity()
 * and beside it by one string that never changes. Prints where the two verdicts differ, and what was done.
 */

[, $seed, $socket] = [...$argv, null];
mt_srand((int) $seed);
$admin = null;
if ($socket !== null) {
    $admin = new Redis();
    $admin->connect($socket);
}
$reads = fn (): int => (int) explode('=', explode(',', $admin?->info('commandstats')['cmdstat_evalsha'] ?? 'calls=0')[0])[1];
const DAY = 86_400_000_000;
$unlike = [];
$denied = $carried = $asked = 0;

foreach ([1, 60, 3_600, 43_200, 86_400, 100_000, 172_800] as $n => $window) {
    foreach ([SlidingWindowLog::class, SlidingWindowCounter::class] as $class) {
        $client = "2001:db8:$seed:$n::" . ($class === SlidingWindowLog::class ? 1 : 2);
        $unbroken = "unbroken $client";
        $midnight = (20_900 + 10 * $n) * DAY;
        $now = $midnight - intdiv($window * 1_000_000, 2);
        for ($call = 0; $call < 60; ++$call) {
            $now = mt_rand(0, 3) === 0 && $now < $midnight
                ? $midnight + mt_rand(-1, 1)
                : $now + mt_rand(0, intdiv($window * 1_000_000, 8));
            rate_limit_freeze($now);
            $limiter = new $class(null, mt_rand(0, 4) === 0 ? mt_rand(1, 30) : 12, $window);
            $cost = mt_rand(1, 3);
            $method = mt_rand(0, 5) === 0 ? 'peek' : 'attempt';
            $expected = $limiter->$method($unbroken, $cost);
            $identity = rate_limit_identity($client, 'route');
            $before = $reads();
            $verdict = $limiter->$method($identity, $cost);
            $more = $reads() - $before;
            // A managed key may be asked for; that is one script more, for each day.
            $stretch = ($class === SlidingWindowLog::class ? 1 : 2) * $window * 1_000_000;
            if (ini_get('rate_limit.salt') === '' && $more > 1 && $now % DAY >= $stretch) {
                $unlike[] = "$class $window s: $more reads at " . $now % DAY;
            }
            $carried += (int) ($more > 1);
            $asked += (int) ($more === 1);
            foreach (['allowed', 'limit', 'remaining', 'retryAfter', 'replenishAfter', 'resetAfter'] as $part) {
                if ($verdict->$part !== $expected->$part) {
                    $unlike[] = "$class $window s, call $call, at " . ($now - $midnight) . ": $part is "
                        . var_export($verdict->$part, true) . ' and not ' . var_export($expected->$part, true);
                }
            }
            $denied += (int) !$verdict->allowed;
            if (mt_rand(0, 25) === 0) {
                $limiter->reset($unbroken);
                $limiter->reset($identity);
            }
        }
    }
}
rate_limit_freeze(null);
echo json_encode(['unlike' => $unlike, 'denied' => $denied, 'carried' => $carried, 'asked' => $asked]);
