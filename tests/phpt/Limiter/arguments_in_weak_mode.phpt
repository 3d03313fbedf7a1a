--TEST--
In weak mode arguments are converted as a userland signature converts them
--FILE--
<?php
class Text {
    public function __toString(): string { return 'memory://'; }
}
function attempt(callable $call): void {
    try {
        $result = $call();
        echo is_object($result) ? $result::class : json_encode($result), "\n";
    } catch (Throwable $error) {
        echo get_class($error), ': ', $error->getMessage(), "\n";
    }
}
set_error_handler(function (int $level, string $message): bool {
    echo "$message\n";
    return true;
});
$limiter = new SlidingWindowCounter('memory://', 10, 31_536_000);
attempt(fn () => new SlidingWindowLog(new Text, '100', 60.0, null));
attempt(fn () => new SlidingWindowLog('memory://', '1e2', true));
attempt(fn () => new SlidingWindowLog('memory://', 1.5, 60));
attempt(fn () => new SlidingWindowLog('memory://', 'many', 60));
attempt(fn () => new SlidingWindowLog('memory://', null, 60));
attempt(fn () => new SlidingWindowLog('memory://', 10, []));
attempt(fn () => new SlidingWindowLog('memory://', 10, 60, 'throw'));
attempt(fn () => new SlidingWindowLog(new stdClass, 10, 60));
attempt(fn () => new SlidingWindowLog([], 10, 60));
attempt(fn () => new SlidingWindowLog('memory://', 10));
attempt(fn () => new SlidingWindowLog('memory://', window: 10));
attempt(fn () => $limiter->check(123));
attempt(fn () => $limiter->check('123'));
attempt(fn () => $limiter->check(1.5));
attempt(fn () => $limiter->check(true));
attempt(fn () => $limiter->check(new Text));
attempt(fn () => $limiter->check(null));
attempt(fn () => $limiter->check([]));
attempt(fn () => $limiter->check());
attempt(fn () => $limiter->check('a', 'b'));
attempt(fn () => $limiter->attempt('a', '2')->remaining);
attempt(fn () => $limiter->attempt(cost: 3, identity: 'a')->remaining);
attempt(fn () => $limiter->attempt('a', 'two'));
?>
--EXPECT--
SlidingWindowLog
SlidingWindowLog
Implicit conversion from float 1.5 to int loses precision
SlidingWindowLog
TypeError: SlidingWindowLog::__construct(): Argument #2 ($limit) must be of type int, string given
TypeError: SlidingWindowLog::__construct(): Argument #2 ($limit) must be of type int, null given
TypeError: SlidingWindowLog::__construct(): Argument #3 ($windowSeconds) must be of type int, array given
TypeError: SlidingWindowLog::__construct(): Argument #4 ($onFailure) must be of type ?RateLimit\OnFailure, string given
TypeError: SlidingWindowLog::__construct(): Argument #1 ($redis) must be of type Redis|RedisCluster|Relay\Relay|Predis\ClientInterface|string|null, stdClass given
TypeError: SlidingWindowLog::__construct(): Argument #1 ($redis) must be of type Redis|RedisCluster|Relay\Relay|Predis\ClientInterface|string|null, array given
ArgumentCountError: SlidingWindowLog::__construct() expects at least 3 arguments, 2 given
Error: Unknown named parameter $window
{"allowed":true,"remaining":9}
{"allowed":true,"remaining":8}
{"allowed":true,"remaining":9}
{"allowed":true,"remaining":9}
{"allowed":true,"remaining":9}
TypeError: SlidingWindowCounter::check(): Argument #1 ($identity) must be of type string, null given
TypeError: SlidingWindowCounter::check(): Argument #1 ($identity) must be of type string, array given
ArgumentCountError: SlidingWindowCounter::check() expects exactly 1 argument, 0 given
ArgumentCountError: SlidingWindowCounter::check() expects exactly 1 argument, 2 given
8
5
TypeError: SlidingWindowCounter::attempt(): Argument #2 ($cost) must be of type int, string given
