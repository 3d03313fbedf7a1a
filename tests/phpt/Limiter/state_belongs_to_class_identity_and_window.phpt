--TEST--
State belongs to class, identity and window; a changed limit holds from the next call on
--FILE--
<?php
$year = 31_536_000;
(new SlidingWindowLog('memory://', 3, $year))->attempt('one', 3);
$left = fn (string $class, int $limit, int $window): int => (new $class('memory://', $limit, $window))->peek('one')->remaining;
var_dump(
    $left(SlidingWindowLog::class, 3, $year),
    $left(SlidingWindowLog::class, 5, $year),
    $left(SlidingWindowLog::class, 1, $year),
    $left(SlidingWindowLog::class, 3, $year - 1),
    $left(SlidingWindowCounter::class, 3, $year),
);
?>
--EXPECT--
int(0)
int(2)
int(0)
int(3)
int(3)
