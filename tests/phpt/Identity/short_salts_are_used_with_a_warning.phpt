--TEST--
A salt below 16 bytes is used, with one warning that does not show it
--SKIPIF--
<?php if (!getenv('TEST_PHP_EXTRA_ARGS')) die('skip needs run-tests.php'); ?>
--FILE--
<?php
require __DIR__ . '/../php.inc';
$code = 'for ($i = 0; $i < 2; ++$i) $identity = rate_limit_identity("x", "a");
    var_dump($identity === substr(hash_hmac("sha256", "x|" . gmdate("Y-m-d"), getenv("RL_DAILY_SALT")), 0, 24) . ":a");';
foreach (['fifteen bytes..', 'sixteen bytes...'] as $salt) echo php($code, [], ['RL_DAILY_SALT' => $salt]), "---\n";
?>
--EXPECT--
rate_limit: the salt in RL_DAILY_SALT has 15 bytes; a salt should have at least 16
bool(true)
---
bool(true)
---
