--TEST--
The loaded extension is what stubs/rate_limit.php says
--SKIPIF--
<?php if (extension_loaded('redis')) die('skip the stub shows the parents without ext-redis'); ?>
--FILE--
<?php
$stub = shell_exec(escapeshellarg(PHP_BINARY) . ' -n ' . escapeshellarg(__DIR__ . '/surface.inc') . ' ' . escapeshellarg(__DIR__ . '/../../../stubs/rate_limit.php'));
$argv = [];
ob_start();
require __DIR__ . '/surface.inc';
$loaded = ob_get_clean();
$stub = json_decode($stub, true);
$loaded = json_decode($loaded, true);
var_dump(count($loaded));
foreach ($loaded as $name => $declared) {
    if ($declared !== ($stub[$name] ?? null)) {
        echo "$name differs\n", json_encode($declared, JSON_PRETTY_PRINT), "\n", json_encode($stub[$name] ?? null, JSON_PRETTY_PRINT), "\n";
    }
}
$extension = new ReflectionExtension('rate_limit');
$functions = array_diff(array_keys($extension->getFunctions()), ['rate_limit_freeze']);
$known = array_map(strtolower(...), array_keys($loaded));
var_dump(array_diff([...array_map(strtolower(...), $functions), ...array_map(strtolower(...), $extension->getClassNames())], $known));
?>
--EXPECT--
int(14)
array(0) {
}
