--TEST--
Without a salt, or with an empty one, a random one holds for all workers of one start, and the log says so once
--SKIPIF--
<?php
if (!getenv('TEST_PHP_EXTRA_ARGS')) die('skip needs run-tests.php');
if (!function_exists('pcntl_fork')) die('skip needs pcntl');
?>
--FILE--
<?php
require __DIR__ . '/../php.inc';
$code = <<<'PHP'
    pcntl_fork();
    pcntl_fork();
    for ($i = 0; $i < 2; ++$i) echo rate_limit_identity('203.0.113.7', 'a') . "\n";
    while (pcntl_wait($status) > 0);
    PHP;
foreach ([[], ['RL_DAILY_SALT' => '']] as $environment) {
    $log = tempnam(sys_get_temp_dir(), 'log');
    $output = php($code, ['error_log' => $log], $environment);
    preg_match_all('/^[0-9a-f]{24}:a$/m', $output, $identities);
    $starts[] = $identities[0][0] ?? '';
    echo count($identities[0]), ' identities, distinct: ', count(array_unique($identities[0])), "\n";
    echo preg_replace('/^\[.*?\] /m', '', file_get_contents($log));
    unlink($log);
}
var_dump($starts[0] !== $starts[1]);
?>
--EXPECT--
8 identities, distinct: 1
rate_limit: neither RL_DAILY_SALT nor rate_limit.salt_file is set: identities are made with a random salt until the next start, and hosts will not agree on them
8 identities, distinct: 1
rate_limit: neither RL_DAILY_SALT nor rate_limit.salt_file is set: identities are made with a random salt until the next start, and hosts will not agree on them
bool(true)
