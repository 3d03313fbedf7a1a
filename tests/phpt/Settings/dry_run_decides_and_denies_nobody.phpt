--TEST--
A dry run, by setting or of one limiter, decides and records as ever, lets everything pass, and marks what it would have denied
--SKIPIF--
<?php if (!getenv('TEST_PHP_EXTRA_ARGS')) die('skip needs run-tests.php'); ?>
--FILE--
<?php
require __DIR__ . '/../php.inc';
$show = <<<'PHP'
    foreach (["SlidingWindowLog", "SlidingWindowCounter"] as $class) {
        $limiter = new $class("memory://", 1, 31_536_000);
        %s;
        foreach ([1, 1, 2] as $cost) {
            $verdict = $limiter->attempt("one", $cost);
            echo json_encode([$verdict->allowed, $verdict->wouldDeny, $verdict->remaining, $verdict->retryAfter === 0.0, isset($verdict->headers()["Retry-After"])]);
        }
        echo json_encode($limiter->check("one")), json_encode($limiter->peek("one")->wouldDeny), "\n";
    }
    echo json_encode(rate_limit_status()["decisions"]["log"]["memory"]), "\n";
PHP;
echo php(sprintf($show, ''), ['rate_limit.dry_run' => '1']);
echo php(sprintf($show, 'rate_limit_dry_run($limiter)'));
echo php(sprintf($show, ''));
?>
--EXPECT--
[true,false,0,true,false][true,true,0,true,false][true,true,0,true,false]{"allowed":true,"remaining":0}true
[true,false,0,true,false][true,true,0,true,false][true,true,0,true,false]{"allowed":true,"remaining":0}true
{"allowed":1,"denied":0,"would_deny":3}
[true,false,0,true,false][true,true,0,true,false][true,true,0,true,false]{"allowed":true,"remaining":0}true
[true,false,0,true,false][true,true,0,true,false][true,true,0,true,false]{"allowed":true,"remaining":0}true
{"allowed":1,"denied":0,"would_deny":3}
[true,false,0,true,false][false,false,0,false,true][false,false,0,false,false]{"allowed":false,"remaining":0}false
[true,false,0,true,false][false,false,0,false,true][false,false,0,false,false]{"allowed":false,"remaining":0}false
{"allowed":1,"denied":3,"would_deny":0}
