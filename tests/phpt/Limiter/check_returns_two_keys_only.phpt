--TEST--
check() returns the two keys that the userland classes return, in their order
--FILE--
<?php
foreach ([SlidingWindowLog::class, SlidingWindowCounter::class] as $class) {
    $limiter = new $class('memory://', limit: 2, windowSeconds: 31_536_000);
    for ($call = 0; $call < 3; ++$call) {
        echo json_encode($limiter->check('one')), "\n";
    }
    $answer = $limiter->check('one');
    $answer['remaining'] = 5;
    $answer[] = 'mine';
    echo json_encode($limiter->check('one')), "\n";
}
?>
--EXPECT--
{"allowed":true,"remaining":1}
{"allowed":true,"remaining":0}
{"allowed":false,"remaining":0}
{"allowed":false,"remaining":0}
{"allowed":true,"remaining":1}
{"allowed":true,"remaining":0}
{"allowed":false,"remaining":0}
{"allowed":false,"remaining":0}
