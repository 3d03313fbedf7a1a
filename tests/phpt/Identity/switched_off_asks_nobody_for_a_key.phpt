--TEST--
With rate_limit.enabled=0 a managed identity needs no server; without a copy and enabled, the policy decides
--SKIPIF--
<?php if (!getenv('TEST_PHP_EXTRA_ARGS')) die('skip needs run-tests.php'); ?>
--FILE--
<?php
require __DIR__ . '/../php.inc';
$show = 'try { echo preg_match("/^[0-9a-f]{24}:x$/D", rate_limit_identity("192.0.2.1", "x")), "\n"; } catch (RateLimit\StoreException) { echo "StoreException\n"; }';
$settings = ['rate_limit.salt' => 'managed', 'rate_limit.store' => 'redis://127.0.0.1:1', 'error_log' => '/dev/null'];
echo php($show, $settings + ['rate_limit.enabled' => '0']);
echo php($show, $settings);
?>
--EXPECT--
1
StoreException
