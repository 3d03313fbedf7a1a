--TEST--
phpinfo() and rate_limit_status() show the store without user, password and options
--INI--
rate_limit.store="redis://user:sec@ret@10.0.0.5:6380/2?prefix=app:"
--FILE--
<?php
ob_start();
phpinfo(INFO_MODULES);
preg_match_all('/^.*10\.0\.0\.5.*$/m', ob_get_clean(), $lines);
echo implode("\n", $lines[0]), "\n", rate_limit_status()['store'], "\n";
?>
--EXPECT--
rate_limit.store => redis://***@10.0.0.5:6380/2 => redis://***@10.0.0.5:6380/2
redis://***@10.0.0.5:6380/2
