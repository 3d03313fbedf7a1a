--TEST--
ini_set() changes none of the settings
--FILE--
<?php
$settings = ini_get_all('rate_limit');
foreach ($settings as $name => $setting) {
    $new = ['rate_limit.store' => 'memory://x', 'rate_limit.on_failure' => 'open', 'rate_limit.log_layout' => 'list', 'rate_limit.clock' => 'host'];
    if (ini_set($name, $new[$name] ?? '2') !== false || $setting['access'] !== INI_SYSTEM) echo "$name was changed\n";
}
echo count($settings), "\n";
var_dump(ini_get_all('rate_limit') === $settings);
?>
--EXPECT--
16
bool(true)
