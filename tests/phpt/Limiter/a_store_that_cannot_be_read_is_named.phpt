--TEST--
A store that cannot be read is a ConfigException with scheme, rule and setting, without credentials
--INI--
rate_limit.store=postgres://user:secret@db
--FILE--
<?php
$stores = [
    null, 'http://user:secret@h', 'redis://:secret@h:0', 'redis://secret@h', "redis://secret\xff", 'memory://?secret',
    'redis://:secret', 'redis://u:secret', 'redis://u:secret:6379', 'u:secret', 'u:secret://h', 'redis://h/secret',
    'redis://h?secret', 'rediss://h?ca=a&secret=1', "redis://h\0secret", 'redis://h#secret', 'redis+unix://secret', '',
];
foreach ($stores as $store) {
    try {
        new SlidingWindowLog($store, 10, 60);
        echo "no error\n";
    } catch (RateLimit\ConfigException $error) {
        echo $error->getMessage(), "\n";
        if (str_contains((string) $error, 'secret')) echo "with credentials:\n$error\n";
    }
}
?>
--EXPECT--
rate_limit.store = "postgres://***" must begin with redis://, rediss://, redis+unix://, redis-cluster:// or redis-sentinel://, or be memory://
$redis = "http://***" must begin with redis://, rediss://, redis+unix://, redis-cluster:// or redis-sentinel://, or be memory://
$redis = "redis://***" must have a port from 1 to 65535 after the host
$redis = "redis://***" must give a password with the user, as user:password@
$redis = "redis://***" must be UTF-8
$redis = "memory://***" must end there: memory:// takes nothing after it
$redis = "redis://***" must name a host
$redis = "redis://***" must have a port from 1 to 65535 after the host
$redis = "redis://***" must have a port from 1 to 65535 after the host
$redis = "***" must begin with redis://, rediss://, redis+unix://, redis-cluster:// or redis-sentinel://, or be memory://
$redis = "***" must begin with redis://, rediss://, redis+unix://, redis-cluster:// or redis-sentinel://, or be memory://
$redis = "redis://***" must have a whole number, from 0, as its database
$redis = "redis://***" has an unknown parameter; redis:// knows prefix
$redis = "rediss://***" has an unknown parameter; rediss:// knows prefix, ca, cert, key
$redis = "redis://***" must name a host by letters, digits, dots, hyphens or underscores
$redis = "redis://***" must name a host by letters, digits, dots, hyphens or underscores
$redis = "redis+unix://***" must give the socket's path after three slashes
$redis = "" must begin with redis://, rediss://, redis+unix://, redis-cluster:// or redis-sentinel://, or be memory://
