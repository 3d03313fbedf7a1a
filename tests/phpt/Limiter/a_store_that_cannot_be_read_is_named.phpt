--TEST--
A store that cannot be read is a ConfigException with value, rule and setting, without credentials
--INI--
rate_limit.store=postgres://user:secret@db
--FILE--
<?php
foreach ([null, 'http://user:secret@h', 'memory', 'redis://:secret@h:0', 'redis://secret@h', 'rediss://h?ca=a&timeout=1', '', "redis://\xff"] as $store) {
    try {
        new SlidingWindowLog($store, 10, 60);
        echo "no error\n";
    } catch (RateLimit\ConfigException $error) {
        echo $error->getMessage(), "\n";
        if (str_contains((string) $error, 'secret')) echo "with credentials:\n$error\n";
    }
}
?>
--EXPECTF--
rate_limit.store = "postgres://***@db" must begin with redis://, rediss://, redis+unix://, redis-cluster:// or redis-sentinel://, or be memory://
$redis = "http://***@h" must begin with redis://, rediss://, redis+unix://, redis-cluster:// or redis-sentinel://, or be memory://
$redis = "memory" must begin with redis://, rediss://, redis+unix://, redis-cluster:// or redis-sentinel://, or be memory://
$redis = "redis://***@h:0" must have a port from 1 to 65535 after the host
$redis = "redis://***@h" must give a password with the user, as user:password@
$redis = "rediss://h" has the unknown parameter "timeout"; rediss:// knows prefix, ca, cert, key
$redis = "" must begin with redis://, rediss://, redis+unix://, redis-cluster:// or redis-sentinel://, or be memory://
$redis = "redis://%s" must be UTF-8
