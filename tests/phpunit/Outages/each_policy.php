<?php

declare(strict_types=1);

// Four checks on the store in the first argument, one under each policy; what they gave, as JSON.
$results = [];
foreach (RateLimit\OnFailure::cases() as $policy) {
    $limiter = new SlidingWindowLog($argv[1], 10, 60, $policy);
    $began = hrtime(true);
    try {
        $verdict = $limiter->attempt($argv[2]);
        $answer = [$verdict->allowed, $verdict->remaining, $verdict->source->value];
    } catch (RateLimit\StoreException $exception) {
        $answer = (string) $exception;
    }
    $results[$policy->value] = ['answer' => $answer, 'seconds' => (hrtime(true) - $began) / 1e9];
}
$results['status'] = rate_limit_status();
echo json_encode($results);
