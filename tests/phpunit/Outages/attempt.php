<?php

declare(strict_types=1);

// One call, as JSON: who decided, what, how long it took, when it ended and in which worker.
// ?store=...&policy=...&class=...&call=...&identity=...&limit=...&window=...&cost=...; the worker's id also goes to
// the file `pid`.
$query = $_GET + [
    'policy' => 'open', 'class' => 'SlidingWindowLog', 'call' => 'attempt', 'identity' => 'one', 'limit' => '1000000',
    'window' => '3600', 'cost' => '1',
];
file_put_contents(__DIR__ . '/pid', (string) getmypid());
$limiter = new $query['class'](
    $query['store'], (int) $query['limit'], (int) $query['window'], RateLimit\OnFailure::from($query['policy']),
);
$began = hrtime(true);
try {
    $verdict = match ($query['call']) {
        'attempt' => $limiter->attempt($query['identity'], (int) $query['cost']),
        'peek' => $limiter->peek($query['identity'], (int) $query['cost']),
        'reset' => $limiter->reset($query['identity']),
    };
} catch (RateLimit\StoreException) {
    $verdict = null;
}
$ended = hrtime(true);
echo json_encode([
    'source' => $verdict?->source->value, 'allowed' => $verdict?->allowed, 'remaining' => $verdict?->remaining,
    'seconds' => ($ended - $began) / 1e9, 'ended' => $ended / 1e9, 'worker' => getmypid(),
]);
