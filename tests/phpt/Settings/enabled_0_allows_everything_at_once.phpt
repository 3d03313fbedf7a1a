--TEST--
With rate_limit.enabled = 0 nobody is asked, everything is allowed, and the source says so
--INI--
rate_limit.enabled=0
rate_limit.dry_run=1
--FILE--
<?php
foreach (['memory://', 'redis://127.0.0.1:1'] as $store) {
    foreach (['SlidingWindowLog', 'SlidingWindowCounter'] as $class) {
        $limiter = new $class($store, 1, 60);
        echo json_encode($limiter->check('one')), json_encode($limiter->check('one')), "\n";
        echo json_encode($limiter->attempt('one', 5)), "\n";
        echo json_encode($limiter->peek('one')->source), json_encode((new $class($store, 0, 60))->attempt('none')->allowed), "\n";
    }
}
$status = rate_limit_status();
echo json_encode($status['settings']['enabled']), json_encode($status['decisions']['log']['disabled']), "\n";
echo $status['memory']['logs']['used'] + $status['memory']['counters']['used'], ' states, ', count($status['servers']), " endpoints asked\n";
?>
--EXPECT--
{"allowed":true,"remaining":1}{"allowed":true,"remaining":1}
{"allowed":true,"limit":1,"remaining":1,"retryAfter":0,"replenishAfter":0,"resetAfter":0,"source":"disabled","wouldDeny":false}
"disabled"true
{"allowed":true,"remaining":1}{"allowed":true,"remaining":1}
{"allowed":true,"limit":1,"remaining":1,"retryAfter":0,"replenishAfter":0,"resetAfter":0,"source":"disabled","wouldDeny":false}
"disabled"true
{"allowed":true,"remaining":1}{"allowed":true,"remaining":1}
{"allowed":true,"limit":1,"remaining":1,"retryAfter":0,"replenishAfter":0,"resetAfter":0,"source":"disabled","wouldDeny":false}
"disabled"true
{"allowed":true,"remaining":1}{"allowed":true,"remaining":1}
{"allowed":true,"limit":1,"remaining":1,"retryAfter":0,"replenishAfter":0,"resetAfter":0,"source":"disabled","wouldDeny":false}
"disabled"true
false{"allowed":8,"denied":0,"would_deny":0}
0 states, 0 endpoints asked
