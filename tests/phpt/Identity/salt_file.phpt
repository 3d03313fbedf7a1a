--TEST--
rate_limit.salt_file stands behind the environment, without the newline at its end; one that cannot be read is an error
--SKIPIF--
<?php if (!getenv('TEST_PHP_EXTRA_ARGS')) die('skip needs run-tests.php'); ?>
--FILE--
<?php
require __DIR__ . '/../php.inc';
$file = tempnam(sys_get_temp_dir(), 'salt');
$salt = 'a salt of more than sixteen bytes';
$code = 'try { echo rate_limit_identity("x", "a"), "\n"; } catch (RateLimit\ConfigException $e) { echo "ConfigException: ", $e->getMessage(), "\n"; }';
$expected = fn (string $salt): string => substr(hash_hmac('sha256', 'x|' . gmdate('Y-m-d'), $salt), 0, 24) . ":a\n";
$with = fn (string $content, array $environment = []): string => [
    file_put_contents($file, $content),
    str_replace($file, '(file)', php($code, ['rate_limit.salt_file' => $file], $environment)),
][1];
var_dump(
    $with($salt) === $expected($salt),
    $with("$salt\n") === $expected($salt),
    $with("$salt\r\n") === $expected($salt),
    $with("\0$salt ") === $expected("\0$salt "),
    $with('another salt of that length', ['RL_DAILY_SALT' => $salt]) === $expected($salt),
);
echo $with("\n"), $with(str_repeat('x', 5000));
unlink($file);
shell_exec('mkfifo ' . escapeshellarg($file));
echo str_replace($file, '(pipe)', php($code, ['rate_limit.salt_file' => $file]));
echo php($code, ['rate_limit.salt_file' => '/dev/zero']);
unlink($file);
echo str_replace($file, '(file)', php($code, ['rate_limit.salt_file' => $file]));
?>
--EXPECT--
bool(true)
bool(true)
bool(true)
bool(true)
bool(true)
rate_limit: rate_limit.salt_file = "(file)": must not be empty
ConfigException: rate_limit.salt_file = "(file)": must not be empty
rate_limit: rate_limit.salt_file = "(file)": must hold at most 4096 bytes
ConfigException: rate_limit.salt_file = "(file)": must hold at most 4096 bytes
rate_limit: rate_limit.salt_file = "(pipe)": cannot be read: it is not a regular file
ConfigException: rate_limit.salt_file = "(pipe)": cannot be read: it is not a regular file
rate_limit: rate_limit.salt_file = "/dev/zero": cannot be read: it is not a regular file
ConfigException: rate_limit.salt_file = "/dev/zero": cannot be read: it is not a regular file
rate_limit: rate_limit.salt_file = "(file)": cannot be read: No such file or directory (os error 2)
ConfigException: rate_limit.salt_file = "(file)": cannot be read: No such file or directory (os error 2)
