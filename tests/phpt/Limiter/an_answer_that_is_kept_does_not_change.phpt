--TEST--
What check() returned stays as it is, kept or changed, and outlives its limiter
--FILE--
<?php
foreach ([SlidingWindowCounter::class, SlidingWindowLog::class] as $class) {
    $limiter = new $class('memory://', 5, 3600);
    $kept = $limiter->check('a');
    $limiter->check('a');
    $changed = $limiter->check('a');
    $changed['remaining'] = 'mine';
    $changed[] = 'more';
    $reference = $limiter->check('a');
    foreach ($reference as &$value) {
        $value = 'mine';
    }
    unset($value);
    $last = $limiter->check('a');
    $held = (object) ['answer' => $limiter->check('a')];
    $held->itself = $held;
    $limiter = null;
    gc_collect_cycles();
    echo json_encode([$kept, $changed, $reference, $last, $held->answer]), "\n";
    unset($held);
    gc_collect_cycles();
}

$limiter = new SlidingWindowCounter('memory://', 100_000, 3600);
for ($i = 0; $i < 1000; ++$i) {
    $all[] = $limiter->check('b');
}
$limiter->check('b');
[$before, $roots] = [memory_get_usage(), gc_status()['roots']];
for ($i = 0; $i < 10_000; ++$i) {
    $limiter->check('b');
}
var_dump(count(array_unique(array_column($all, 'remaining'))), memory_get_usage() - $before, gc_status()['roots'] - $roots);
?>
--EXPECT--
[{"allowed":true,"remaining":4},{"allowed":true,"remaining":"mine","0":"more"},{"allowed":"mine","remaining":"mine"},{"allowed":true,"remaining":0},{"allowed":false,"remaining":0}]
[{"allowed":true,"remaining":4},{"allowed":true,"remaining":"mine","0":"more"},{"allowed":"mine","remaining":"mine"},{"allowed":true,"remaining":0},{"allowed":false,"remaining":0}]
int(1000)
int(0)
int(0)
