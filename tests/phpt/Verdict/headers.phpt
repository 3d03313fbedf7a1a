--TEST--
headers(): whole seconds, rounded up; Retry-After only when denied and not for ever
--SKIPIF--
<?php if (!function_exists('rate_limit_freeze')) die('skip needs a module whose clock can be stopped'); ?>
--FILE--
<?php
$start = 1_790_000_040_000_000;
$limiter = new SlidingWindowLog('memory://', 2, 60);
foreach ([[0, 1], [10_000_000, 1], [20_000_000, 1], [58_800_000, 1], [59_800_000, 1], [58_000_000, 1], [58_000_000, 3]] as [$at, $cost]) {
    rate_limit_freeze($start + $at);
    $verdict = $cost === 1 && $at < 20_000_000 ? $limiter->attempt('one') : $limiter->peek('one', $cost);
    echo json_encode($verdict->headers(), JSON_UNESCAPED_SLASHES), "\n";
}
foreach (['trending', '', 'a "b\\"', 'a b'] as $policy) echo $verdict->headers($policy)['RateLimit-Policy'], "\n";
echo $verdict->headers(policy: 'p')['RateLimit'], "\n";
foreach (["\n", "caf\u{e9}", "\x7f", "a\0"] as $policy) {
    try {
        $verdict->headers($policy);
        echo "no error\n";
    } catch (ValueError $error) {
        echo $error->getMessage(), "\n";
    }
}
?>
--EXPECT--
{"X-RateLimit-Limit":"2","X-RateLimit-Remaining":"1","RateLimit-Policy":"\"default\";q=2;w=60","RateLimit":"\"default\";r=1;t=60"}
{"X-RateLimit-Limit":"2","X-RateLimit-Remaining":"0","RateLimit-Policy":"\"default\";q=2;w=60","RateLimit":"\"default\";r=0;t=50"}
{"X-RateLimit-Limit":"2","X-RateLimit-Remaining":"0","RateLimit-Policy":"\"default\";q=2;w=60","RateLimit":"\"default\";r=0;t=40","Retry-After":"40"}
{"X-RateLimit-Limit":"2","X-RateLimit-Remaining":"0","RateLimit-Policy":"\"default\";q=2;w=60","RateLimit":"\"default\";r=0;t=2","Retry-After":"2"}
{"X-RateLimit-Limit":"2","X-RateLimit-Remaining":"0","RateLimit-Policy":"\"default\";q=2;w=60","RateLimit":"\"default\";r=0;t=1","Retry-After":"1"}
{"X-RateLimit-Limit":"2","X-RateLimit-Remaining":"0","RateLimit-Policy":"\"default\";q=2;w=60","RateLimit":"\"default\";r=0;t=2","Retry-After":"2"}
{"X-RateLimit-Limit":"2","X-RateLimit-Remaining":"0","RateLimit-Policy":"\"default\";q=2;w=60","RateLimit":"\"default\";r=0;t=2"}
"trending";q=2;w=60
"";q=2;w=60
"a \"b\\\"";q=2;w=60
"a b";q=2;w=60
"p";r=0;t=2
RateLimit\Verdict::headers(): Argument #1 ($policy) must contain printable ASCII characters only (RFC 8941, 3.3.3)
RateLimit\Verdict::headers(): Argument #1 ($policy) must contain printable ASCII characters only (RFC 8941, 3.3.3)
RateLimit\Verdict::headers(): Argument #1 ($policy) must contain printable ASCII characters only (RFC 8941, 3.3.3)
RateLimit\Verdict::headers(): Argument #1 ($policy) must contain printable ASCII characters only (RFC 8941, 3.3.3)
