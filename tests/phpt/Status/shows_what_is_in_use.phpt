--TEST--
rate_limit_status() shows what is in force and in use
--FILE--
<?php
$before = rate_limit_status()['memory'];
(new SlidingWindowCounter('memory://', 10, 60))->check('one');
$log = new SlidingWindowLog('memory://', 10, 60);
for ($i = 0; $i < 20; ++$i) $log->check("identity $i");
$status = rate_limit_status();
echo implode(' ', array_keys($status)), "\n";
echo $status['version'] === phpversion('rate_limit') ? 'the version of the module' : $status['version'], "\n";
echo $status['memory']['size'], "\n";
var_dump($status['memory']['counters']['used'] - $before['counters']['used']);
var_dump($status['memory']['logs']['used'] - $before['logs']['used']);
var_dump($status['memory']['used'] > $before['used']);
var_dump($status['memory']['shared']);
?>
--EXPECT--
version store memory since decisions policies servers busy settings
the version of the module
67108864
int(1)
int(20)
bool(true)
bool(false)
