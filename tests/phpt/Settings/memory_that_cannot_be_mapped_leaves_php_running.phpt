--TEST--
A memory_size that is too small or cannot be mapped is logged, leaves PHP running, and memory:// says why
--SKIPIF--
<?php if (!getenv('TEST_PHP_EXTRA_ARGS')) die('skip needs run-tests.php'); ?>
--FILE--
<?php
require __DIR__ . '/../php.inc';
$code = <<<'PHP'
    try {
        new SlidingWindowLog('memory://', 10, 60);
        echo "no error\n";
    } catch (RateLimit\ConfigException $error) {
        echo $error->getMessage(), "\n";
    }
    $limiter = new SlidingWindowLog('redis://127.0.0.1:1', 10, 60, RateLimit\OnFailure::Memory);
    try {
        $limiter->check('one');
        echo "no error\n";
    } catch (RateLimit\StoreException $error) {
        echo $error->getMessage(), "\n";
    }
    var_dump(rate_limit_status()['memory']['mapped']);
    PHP;
foreach (['1000', '8000000G', '17179869183G'] as $size) echo php($code, ['rate_limit.memory_size' => $size]), "\n";
echo php('
    try {
        new SlidingWindowLog("memory://", 32_761, 60);
    } catch (RateLimit\ConfigException $error) {
        echo $error->getMessage(), "\n";
    }
    new SlidingWindowLog("memory://", 32_760, 60);
    new SlidingWindowCounter("memory://", 2_147_483_647, 60);', ['rate_limit.memory_size' => '1M']);
?>
--EXPECTF--
rate_limit: rate_limit.memory_size must be at least 1048576 bytes (1M), 1000 given
memory://: rate_limit.memory_size must be at least 1048576 bytes (1M), 1000 given
rate_limit: redis://127.0.0.1:1: Connection refused (os error 111)
memory://: rate_limit.memory_size must be at least 1048576 bytes (1M), 1000 given
bool(false)

rate_limit: rate_limit.memory_size: cannot map 8589934592000000 bytes: Cannot allocate memory (os error 12)
memory://: rate_limit.memory_size: cannot map 8589934592000000 bytes: Cannot allocate memory (os error 12)
rate_limit: redis://127.0.0.1:1: Connection refused (os error 111)
memory://: rate_limit.memory_size: cannot map 8589934592000000 bytes: Cannot allocate memory (os error 12)
bool(false)

rate_limit: rate_limit.memory_size: cannot map 18446744072635809792 bytes: Cannot allocate memory (os error 12)
memory://: rate_limit.memory_size: cannot map 18446744072635809792 bytes: Cannot allocate memory (os error 12)
rate_limit: redis://127.0.0.1:1: Connection refused (os error 111)
memory://: rate_limit.memory_size: cannot map 18446744072635809792 bytes: Cannot allocate memory (os error 12)
bool(false)

a log of 32761 entries needs 262152 bytes, more than a quarter of rate_limit.memory_size (1048576 bytes)
