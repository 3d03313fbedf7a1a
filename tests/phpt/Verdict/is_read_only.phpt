--TEST--
A verdict is read-only, comes from a limiter alone, and shows itself to PHP's own functions
--FILE--
<?php
$verdict = (new SlidingWindowCounter('memory://', 3, 31_536_000))->peek('one', 4);
foreach ([
    fn () => $verdict->allowed = true,
    fn () => $verdict->other = 1,
    function () use ($verdict) { unset($verdict->limit); },
    fn () => new RateLimit\Verdict(),
    fn () => (new ReflectionClass(RateLimit\Verdict::class))->newInstanceWithoutConstructor()->headers(),
] as $call) {
    try {
        $call();
        echo "no error\n";
    } catch (Error $error) {
        echo $error->getMessage(), "\n";
    }
}
echo json_encode($verdict), "\n";
var_dump($verdict == unserialize(serialize($verdict)), unserialize(serialize($verdict))->headers() === $verdict->headers());
var_dump(clone $verdict == $verdict);
?>
--EXPECT--
Cannot modify readonly property RateLimit\Verdict::$allowed
Cannot create dynamic property RateLimit\Verdict::$other
Cannot unset readonly property RateLimit\Verdict::$limit
Call to private RateLimit\Verdict::__construct() from global scope
This RateLimit\Verdict was not made by a limiter
{"allowed":false,"limit":3,"remaining":3,"retryAfter":null,"replenishAfter":0,"resetAfter":0,"source":"memory","wouldDeny":false}
bool(true)
bool(true)
bool(true)
