--TEST--
Limits, windows and costs outside their range are a ValueError that names value and rule
--FILE--
<?php
function attempt(callable $call): void {
    try {
        $call();
        echo "no error\n";
    } catch (ValueError $error) {
        echo $error->getMessage(), "\n";
    }
}
foreach ([[-1, 60], [2 ** 31, 60], [1, 0], [1, -5], [1, 31_536_001], [0, 1], [2 ** 31 - 1, 31_536_000]] as [$limit, $window]) {
    attempt(fn () => new SlidingWindowCounter('memory://', $limit, $window));
}
$log = new SlidingWindowLog('memory://', 10, 60);
$counter = new SlidingWindowCounter('memory://', 10, 60);
foreach ([0, -1, PHP_INT_MIN, 1001] as $cost) {
    attempt(fn () => $log->attempt('a', $cost));
    attempt(fn () => $counter->peek('a', $cost));
}
$never = $counter->attempt('a', PHP_INT_MAX);
var_dump($never->allowed, $never->retryAfter, $never->remaining);
?>
--EXPECT--
SlidingWindowCounter::__construct(): Argument #2 ($limit) must be between 0 and 2147483647, -1 given
SlidingWindowCounter::__construct(): Argument #2 ($limit) must be between 0 and 2147483647, 2147483648 given
SlidingWindowCounter::__construct(): Argument #3 ($windowSeconds) must be between 1 and 31536000 seconds, 0 given
SlidingWindowCounter::__construct(): Argument #3 ($windowSeconds) must be between 1 and 31536000 seconds, -5 given
SlidingWindowCounter::__construct(): Argument #3 ($windowSeconds) must be between 1 and 31536000 seconds, 31536001 given
no error
no error
SlidingWindowLog::attempt(): Argument #2 ($cost) must be greater than or equal to 1, 0 given
SlidingWindowCounter::peek(): Argument #2 ($cost) must be greater than or equal to 1, 0 given
SlidingWindowLog::attempt(): Argument #2 ($cost) must be greater than or equal to 1, -1 given
SlidingWindowCounter::peek(): Argument #2 ($cost) must be greater than or equal to 1, -1 given
SlidingWindowLog::attempt(): Argument #2 ($cost) must be greater than or equal to 1, -9223372036854775808 given
SlidingWindowCounter::peek(): Argument #2 ($cost) must be greater than or equal to 1, -9223372036854775808 given
SlidingWindowLog::attempt(): Argument #2 ($cost) must be between 1 and 1000 on a log, 1001 given
no error
bool(false)
NULL
int(10)
