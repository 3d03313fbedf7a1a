--TEST--
A value outside its rule is logged with name, value and rule; the default holds
--SKIPIF--
<?php if (!getenv('TEST_PHP_EXTRA_ARGS')) die('skip needs run-tests.php'); ?>
--FILE--
<?php
require __DIR__ . '/../php.inc';
$bad = [
    'on_failure' => ['', 'Throw', 'fail'], 'timeout' => ['0', '-1', '60.1', 'abc', 'NaN'], 'breaker' => ['0', '1.5', '1001'],
    'retry_interval' => ['0', '3601'], 'memory_size' => ['lots', '-1', '5T'], 'ipv6_prefix' => ['0', '129', '64.0'],
    'deny_cache' => ['2'], 'log_layout' => ['set'], 'clock' => ['redis'], 'salt' => ['a secret salt', 'Managed'],
    'enabled' => ['never'], 'dry_run' => ['wet'],
];
foreach ($bad as $name => $values) {
    foreach ($values as $value) echo php("if (ini_get('rate_limit.$name') === '$value') echo 'taken';", ["rate_limit.$name" => $value]);
}
$good = ['timeout' => '60', 'breaker' => '1000', 'retry_interval' => '0.01', 'memory_size' => '2m', 'ipv6_prefix' => '128', 'deny_cache' => 'off', 'log_layout' => 'list', 'clock' => 'host', 'on_failure' => 'memory', 'namespace' => 'mine', 'enabled' => '0', 'dry_run' => 'on'];
$settings = array_combine(array_map(fn (string $name): string => "rate_limit.$name", array_keys($good)), $good);
echo php('echo json_encode(rate_limit_status()["settings"]), "\n";', $settings);
?>
--EXPECT--
rate_limit: rate_limit.on_failure = "" must be throw, open, closed or memory; it is ignored
rate_limit: rate_limit.on_failure = "Throw" must be throw, open, closed or memory; it is ignored
rate_limit: rate_limit.on_failure = "fail" must be throw, open, closed or memory; it is ignored
rate_limit: rate_limit.timeout = "0" must be a number of seconds from 0.001 to 60; it is ignored
rate_limit: rate_limit.timeout = "-1" must be a number of seconds from 0.001 to 60; it is ignored
rate_limit: rate_limit.timeout = "60.1" must be a number of seconds from 0.001 to 60; it is ignored
rate_limit: rate_limit.timeout = "abc" must be a number of seconds from 0.001 to 60; it is ignored
rate_limit: rate_limit.timeout = "NaN" must be a number of seconds from 0.001 to 60; it is ignored
rate_limit: rate_limit.breaker = "0" must be a whole number from 1 to 1000; it is ignored
rate_limit: rate_limit.breaker = "1.5" must be a whole number from 1 to 1000; it is ignored
rate_limit: rate_limit.breaker = "1001" must be a whole number from 1 to 1000; it is ignored
rate_limit: rate_limit.retry_interval = "0" must be a number of seconds from 0.01 to 3600; it is ignored
rate_limit: rate_limit.retry_interval = "3601" must be a number of seconds from 0.01 to 3600; it is ignored
rate_limit: rate_limit.memory_size = "lots" must be a number of bytes, as 64M or 1G; it is ignored
rate_limit: rate_limit.memory_size = "-1" must be a number of bytes, as 64M or 1G; it is ignored
rate_limit: rate_limit.memory_size = "5T" must be a number of bytes, as 64M or 1G; it is ignored
rate_limit: rate_limit.ipv6_prefix = "0" must be a whole number from 1 to 128; it is ignored
rate_limit: rate_limit.ipv6_prefix = "129" must be a whole number from 1 to 128; it is ignored
rate_limit: rate_limit.ipv6_prefix = "64.0" must be a whole number from 1 to 128; it is ignored
rate_limit: rate_limit.deny_cache = "2" must be 1 or 0; it is ignored
rate_limit: rate_limit.log_layout = "set" must be sorted-set or list; it is ignored
rate_limit: rate_limit.clock = "redis" must be server or host; it is ignored
rate_limit: rate_limit.salt = "***" must be empty or managed; a salt of your own belongs into RL_DAILY_SALT or the file that rate_limit.salt_file names, since ini_get() shows what stands here; it is ignored
rate_limit: rate_limit.salt = "***" must be empty or managed; a salt of your own belongs into RL_DAILY_SALT or the file that rate_limit.salt_file names, since ini_get() shows what stands here; it is ignored
rate_limit: rate_limit.enabled = "never" must be 1 or 0; it is ignored
rate_limit: rate_limit.dry_run = "wet" must be 1 or 0; it is ignored
{"on_failure":"memory","timeout":60,"breaker":1000,"retry_interval":0.01,"memory_size":2097152,"memory_file":"","namespace":"mine","salt":"","salt_file":"","ipv6_prefix":128,"deny_cache":false,"log_layout":"list","clock":"host","enabled":false,"dry_run":true}
