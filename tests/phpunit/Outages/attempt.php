<?php

declare(strict_types=1);

// One attempt, as JSON: who decided, whether it was allowed, how long it took, when it ended and in which worker.
// ?store=...&policy=...&class=...&identity=...&limit=...&window=...; the worker's id also goes to the file `pid`.
$query = $_GET + [
    'policy' => 'open', 'class' => 'SlidingWindowLog', 'identity' => 'one', 'limit' => '1000000', 'window' => '3600',
];
file_put_contents(__DIR__ . '/pid', (string) getmypid());
$limiter = new $query['class'](
    $query['store'], (int) $query['limit'], (int) $query['window'], RateLimit\OnFailure::from($query['policy']),
);
$began = hrtime(true);
$verdict = $limiter->attempt($query['identity']);
$ended = hrtime(true);
echo json_encode([
    'source' => $verdict->source->value, 'allowed' => $verdict->allowed, 'remaining' => $verdict->remaining,
    'seconds' => ($ended - $began) / 1e9, 'ended' => $ended / 1e9, 'worker' => getmypid(),
    'memory' => memory_get_usage(),
]);
