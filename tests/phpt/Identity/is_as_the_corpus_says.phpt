--TEST--
rate_limit_identity() is as tests/vectors/identity.json says, at any time of the day in any time zone
--SKIPIF--
<?php if (!function_exists('rate_limit_freeze')) die('skip needs a module whose clock can be stopped'); ?>
--FILE--
<?php
require __DIR__ . '/../php.inc';
$check = <<<'PHP'
    foreach (json_decode(file_get_contents(getenv('CORPUS')))->cases as $case) {
        if ($case->ipv6_prefix !== (int) ini_get('rate_limit.ipv6_prefix')) continue;
        putenv("RL_DAILY_SALT=$case->salt");
        foreach (['00:00:00', '12:00:00', '23:59:59'] as $time) {
            rate_limit_freeze((new DateTime("$case->utc_date $time UTC"))->getTimestamp() * 1_000_000);
            foreach (['rate_limit_identity', 'rateLimitIdentity'] as $function) {
                $same = $function($case->ip, $case->endpoint) === $case->expect;
                echo $same ? '.' : "\n$case->ip is " . $function($case->ip, $case->endpoint);
            }
        }
    }
    PHP;
$corpus = __DIR__ . '/../../vectors/identity.json';
$cases = json_decode(file_get_contents($corpus))->cases;
$seen = '';
foreach (array_unique(array_column($cases, 'ipv6_prefix')) as $prefix) {
    $settings = ['rate_limit.ipv6_prefix' => (string) $prefix, 'date.timezone' => 'Pacific/Kiritimati'];
    $seen .= php($check, $settings, ['CORPUS' => $corpus, 'TZ' => 'Europe/Rome']);
}
var_dump($seen === str_repeat('......', count($cases)) ?: $seen);
?>
--EXPECT--
bool(true)
