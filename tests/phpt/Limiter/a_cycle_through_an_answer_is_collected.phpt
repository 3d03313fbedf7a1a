--TEST--
The garbage collector finds a cycle through what check() returned
--FILE--
<?php
function cycle(SlidingWindowCounter|SlidingWindowLog $limiter, bool $last): void
{
    $answer = $limiter->check('a');
    if (!$last) {
        $limiter->check('a');           // the limiter keeps this one now
    }
    $answer['itself'] = &$answer;
}

function of_a_limiter_that_ended(): void
{
    $answer = (new SlidingWindowCounter('memory://', 5, 3600))->check('b');
    $answer['itself'] = &$answer;
}

foreach ([SlidingWindowCounter::class, SlidingWindowLog::class] as $class) {
    $limiter = new $class('memory://', 5, 3600);
    foreach ([true, false] as $last) {
        gc_collect_cycles();
        cycle($limiter, $last);
        var_dump(gc_collect_cycles() > 0);
    }
}
of_a_limiter_that_ended();
var_dump(gc_collect_cycles() > 0);
?>
--EXPECT--
bool(true)
bool(true)
bool(true)
bool(true)
bool(true)
