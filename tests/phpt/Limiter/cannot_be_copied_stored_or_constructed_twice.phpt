--TEST--
Limiters cannot be cloned, serialised, extended, constructed twice or given properties
--FILE--
<?php
function attempt(callable $call): void {
    try {
        $call();
        echo "no error\n";
    } catch (Throwable $error) {
        echo get_class($error), ': ', $error->getMessage(), "\n";
    }
}
foreach ([SlidingWindowLog::class, SlidingWindowCounter::class] as $class) {
    $limiter = new $class('memory://', 10, 60);
    attempt(fn () => clone $limiter);
    attempt(fn () => serialize($limiter));
    attempt(fn () => unserialize(sprintf('O:%d:"%s":0:{}', strlen($class), $class)));
    attempt(fn () => $limiter->__construct('memory://', 10, 60));
    attempt(fn () => $limiter->property = 1);
    attempt(fn () => (new ReflectionClass($class))->newInstanceWithoutConstructor());
    var_dump((new ReflectionClass($class))->isFinal(), $limiter->check('one')['remaining']);
    var_dump($limiter);
}
?>
--EXPECTF--
Error: Trying to clone an uncloneable object of class SlidingWindowLog
Exception: Serialization of 'SlidingWindowLog' is not allowed
Exception: Unserialization of 'SlidingWindowLog' is not allowed
Error: SlidingWindowLog::__construct() must not be called twice
Error: Cannot create dynamic property SlidingWindowLog::$property
ReflectionException: Class SlidingWindowLog is an internal class marked as final that cannot be instantiated without invoking its constructor
bool(true)
int(9)
object(SlidingWindowLog)#%d (0) {
}
Error: Trying to clone an uncloneable object of class SlidingWindowCounter
Exception: Serialization of 'SlidingWindowCounter' is not allowed
Exception: Unserialization of 'SlidingWindowCounter' is not allowed
Error: SlidingWindowCounter::__construct() must not be called twice
Error: Cannot create dynamic property SlidingWindowCounter::$property
ReflectionException: Class SlidingWindowCounter is an internal class marked as final that cannot be instantiated without invoking its constructor
bool(true)
int(9)
object(SlidingWindowCounter)#%d (0) {
}
