<?php

declare(strict_types=1);

/*
 * at_rest.php STORE MINUTES ADDRESS...: traffic from these addresses on both classes and several stores, with
 * failures, and then everything that the extension shows or keeps: the status, phpinfo(), the settings, a
 * stack trace, and every byte of the memory that this process shares.
 */

[, $store] = $argv;
$addresses = array_slice($argv, 2);
$trace = '';
foreach ($addresses as $address) {
    $identity = rate_limit_identity($address, 'trending');
    foreach ([null, $store, 'memory://', 'redis+unix:///nowhere/redis.sock'] as $where) {
        foreach ([SlidingWindowLog::class, SlidingWindowCounter::class] as $class) {
            try {
                $limiter = new $class($where, 3, 172_800); // looks back whatever the time of day
                for ($i = 0; $i < 5; ++$i) {
                    $limiter->check($identity);
                }
                $limiter->peek($identity);
            } catch (RateLimit\StoreException $error) {
                $trace .= $error;
            }
        }
    }
}
try {
    rate_limit_identity($address, []);
} catch (TypeError $error) {
    $trace .= $error->getMessage(); // its trace holds the arguments, as any trace of PHP's
}
unset($_SERVER['argv'], $_SERVER['argc'], $_SERVER['RL_DAILY_SALT'], $_ENV['RL_DAILY_SALT']); // the test's own
ob_start();
phpinfo(INFO_MODULES | INFO_CONFIGURATION);
$shown = ob_get_clean() . json_encode(rate_limit_status()) . json_encode(ini_get_all('rate_limit')) . serialize($_SERVER) . $trace;

$memory = '';
$own = fopen('/proc/self/mem', 'rb');
stream_set_read_buffer($own, 0);
foreach (file('/proc/self/maps') as $line) {
    if (preg_match('/^([0-9a-f]+)-([0-9a-f]+) rw-s /', $line, $match) === 1) {
        [$start, $end] = [hexdec($match[1]), hexdec($match[2])];
        fseek($own, $start);
        while (($left = $end - ftell($own)) > 0 && ($part = fread($own, min($left, 65_536))) !== false && $part !== '') {
            $memory .= $part;
        }
    }
}
echo json_encode(['shown' => base64_encode($shown), 'memory' => base64_encode($memory)]);
