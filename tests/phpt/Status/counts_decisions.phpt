--TEST--
Every decision is counted by class, source and outcome, a verdict under its policy's name once, a peek not at all
--INI--
error_log=/dev/null
--FILE--
<?php
$log = new SlidingWindowLog('memory://', 600, 31_536_000);
for ($i = 0; $i < 1000; ++$i) $log->check('one');
$counter = new SlidingWindowCounter('redis://127.0.0.1:1', 2, 31_536_000, RateLimit\OnFailure::Open);
$verdict = $counter->attempt('one');
$verdict->headers('api "v1"');
$verdict->headers('another');
$counter->attempt('one')->headers();
$log->peek('one')->headers('api "v1"');
rate_limit_dry_run($watched = new SlidingWindowLog('memory://', 0, 60));
$watched->attempt('two')->headers('watched');
$status = rate_limit_status();
foreach ($status['decisions'] as $class => $sources) {
    foreach ($sources as $source => $outcomes) {
        if (array_sum($outcomes)) echo "$class $source ", json_encode($outcomes), "\n";
    }
}
ksort($status['policies']);
echo json_encode($status['policies']), "\n";
var_dump(abs($status['since'] - microtime(true)) < 60);
[$name, $endpoint] = [key($status['servers']), current($status['servers'])];
echo "$name $endpoint[state] $endpoint[failures_in_a_row] $endpoint[failures] $endpoint[outages] $endpoint[answers]\n";
echo str_contains($endpoint['last_error'], 'refused') ? 'the error' : $endpoint['last_error'], "\n";
// 1000 calls, of which about one in 16 is looked at.
$busiest = $status['busy'][array_key_first($status['busy'])];
echo $busiest['limit'], ' ', $busiest['calls'] > 500 && $busiest['calls'] < 2000 ? 'about 1000' : $busiest['calls'], "\n";
for ($i = 0; $i < 70; ++$i) $log->attempt("$i")->headers("policy $i");
$policies = rate_limit_status()['policies'];
echo count($policies), ' ', $policies['(other)']['allowed'] + $policies['(other)']['denied'], "\n";
?>
--EXPECT--
log memory {"allowed":600,"denied":400,"would_deny":1}
counter fail-open {"allowed":2,"denied":0,"would_deny":0}
{"api \"v1\"":{"allowed":1,"denied":1,"would_deny":0},"watched":{"allowed":0,"denied":0,"would_deny":1}}
bool(true)
redis://127.0.0.1:1 failing 2 2 1 0
the error
600 about 1000
65 8
