--TEST--
Both classes on memory:// decide as tests/vectors/decisions.json says
--SKIPIF--
<?php if (!function_exists('rate_limit_freeze')) die('skip needs a module whose clock can be stopped'); ?>
--FILE--
<?php
$classes = ['log' => SlidingWindowLog::class, 'counter' => SlidingWindowCounter::class];
$cases = json_decode(file_get_contents(__DIR__ . '/../../vectors/decisions.json'))->cases;
$steps = $wrong = 0;
foreach ($cases as $number => $case) {
    foreach ($case->steps as $step) {
        rate_limit_freeze($step->at_us);
        $limiter = new $classes[$case->algorithm]('memory://', $step->limit, $case->window_seconds);
        ++$steps;
        if ($step->op === 'reset') {
            $limiter->reset("case $number");
            continue;
        }
        $verdict = $limiter->{$step->op}("case $number", $step->cost);
        $seen = [
            $verdict->allowed, $verdict->limit, $verdict->remaining, $verdict->retryAfter,
            $verdict->replenishAfter, $verdict->resetAfter, $verdict->source,
        ];
        $expect = $step->expect;
        $expected = [
            $expect->allowed, $step->limit, $expect->remaining,
            $expect->retry_after_us === null ? null : $expect->retry_after_us / 1e6,
            $expect->replenish_after_us / 1e6, $expect->reset_after_us / 1e6, RateLimit\Source::Memory,
        ];
        // PHP divides exact multiples to an int.
        $expected = array_map(fn ($value) => is_int($value) ? (float) $value : $value, $expected);
        $seen = array_map(fn ($value) => is_int($value) ? (float) $value : $value, $seen);
        if ($seen !== $expected) {
            ++$wrong;
            echo "$case->why, at $step->at_us:\n", json_encode($seen), "\n", json_encode($expected), "\n";
        }
    }
}
var_dump(count($cases) > 10, $steps > 100, $wrong);
?>
--EXPECT--
bool(true)
bool(true)
int(0)
