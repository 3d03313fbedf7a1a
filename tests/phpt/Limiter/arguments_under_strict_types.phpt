--TEST--
Under strict_types=1 arguments of another type are a TypeError with PHP's own message
--FILE--
<?php
declare(strict_types=1);

class Text {
    public function __toString(): string { return 'memory://'; }
}
function attempt(callable $call): void {
    try {
        $call();
        echo "no error\n";
    } catch (TypeError $error) {
        echo $error->getMessage(), ' (line ', $error->getLine(), ")\n";
    }
}
$limiter = new SlidingWindowCounter('memory://', 10, 31_536_000);
attempt(fn () => new SlidingWindowLog(new Text, 10, 60));
attempt(fn () => new SlidingWindowLog(5, 10, 60));
attempt(fn () => new SlidingWindowLog('memory://', '100', 60));
attempt(fn () => new SlidingWindowLog('memory://', 100.0, 60));
attempt(fn () => new SlidingWindowLog('memory://', 100, true));
attempt(fn () => $limiter->check(123));
attempt(fn () => $limiter->check(null));
attempt(fn () => $limiter->attempt('a', '2'));
attempt(fn () => rate_limit_identity(1, 'a'));
attempt(fn () => rate_limit_identity('a', 1.0));
attempt(fn () => $limiter->check('a'));
?>
--EXPECT--
SlidingWindowLog::__construct(): Argument #1 ($redis) must be of type Redis|RedisCluster|Relay\Relay|Predis\ClientInterface|string|null, Text given (line 16)
SlidingWindowLog::__construct(): Argument #1 ($redis) must be of type Redis|RedisCluster|Relay\Relay|Predis\ClientInterface|string|null, int given (line 17)
SlidingWindowLog::__construct(): Argument #2 ($limit) must be of type int, string given (line 18)
SlidingWindowLog::__construct(): Argument #2 ($limit) must be of type int, float given (line 19)
SlidingWindowLog::__construct(): Argument #3 ($windowSeconds) must be of type int, true given (line 20)
SlidingWindowCounter::check(): Argument #1 ($identity) must be of type string, int given (line 21)
SlidingWindowCounter::check(): Argument #1 ($identity) must be of type string, null given (line 22)
SlidingWindowCounter::attempt(): Argument #2 ($cost) must be of type int, string given (line 23)
rate_limit_identity(): Argument #1 ($ip) must be of type string, int given (line 24)
rate_limit_identity(): Argument #2 ($endpoint) must be of type string, float given (line 25)
no error
