--TEST--
check(), which has a short way, decides as attempt() does: also over midnight, and in windows of all lengths
--SKIPIF--
<?php if (!function_exists('rate_limit_freeze')) die('skip needs a module whose clock can be stopped'); ?>
--ENV--
RL_DAILY_SALT=a salt of at least sixteen bytes
--FILE--
<?php
mt_srand(1);
$day = 86_400_000_000;
$differ = $denied = 0;
foreach ([1, 60, 3600, 86400, 172800, 172801, 31536000] as $n => $window) {
    $limiters = array_map(
        fn (int $limit) => [new SlidingWindowCounter('memory://', $limit, $window), new SlidingWindowCounter('memory://', $limit, $window)],
        [0, 1, 12, 30, 2147483647],
    );
    $midnight = (20_900 + 10 * $n) * $day;
    $now = $midnight - $window * 500_000;
    for ($i = 0; $i < 300; ++$i) {
        $step = mt_rand(0, 9);
        $now = match (true) {
            $step === 0 && $now < $midnight => $midnight + mt_rand(-1, 1),
            $step === 1 => $now - mt_rand(0, 2_000), // a clock that is set back
            default => $now + mt_rand(0, $window * 125_000),
        };
        rate_limit_freeze($now);
        [$one, $other] = $step < 7
            ? [rate_limit_identity("10.0.0.$n", 'r'), rate_limit_identity("10.0.1.$n", 'r')]
            : ["one $n", "other $n"];
        [$checking, $attempting] = $limiters[mt_rand(0, 4)];
        $verdict = $attempting->attempt($other);
        $differ += $checking->check($one) !== ['allowed' => $verdict->allowed, 'remaining' => $verdict->remaining];
        $denied += !$verdict->allowed;
        if (mt_rand(0, 40) === 0) {
            $checking->reset($one);
            $attempting->reset($other);
        }
    }
}
var_dump($differ, $denied > 300);
?>
--EXPECT--
int(0)
bool(true)
