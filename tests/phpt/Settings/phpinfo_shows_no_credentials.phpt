--TEST--
phpinfo() and rate_limit_status() show the store without user, password and options
--FILE--
<?php
require __DIR__ . '/../php.inc';

$stores = ['redis://user:sec@ret@10.0.0.5:6380/2?prefix=app:', 'redis://u:secret', 'redis://u:secret:6379', 'u:secret'];
foreach ($stores as $store) {
    echo php(<<<'PHP'
        ob_start();
        phpinfo(INFO_MODULES);
        preg_match('/^rate_limit.store.*$/m', ob_get_clean(), $line);
        echo $line[0], "\n", rate_limit_status()['store'], "\n";
        PHP, ['rate_limit.store' => $store]);
}
?>
--EXPECT--
rate_limit.store => redis://10.0.0.5:6380/2 => redis://10.0.0.5:6380/2
redis://10.0.0.5:6380/2
rate_limit.store => redis://*** => redis://***
redis://***
rate_limit.store => redis://*** => redis://***
redis://***
rate_limit.store => *** => ***
***
