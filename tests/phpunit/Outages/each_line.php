<?php

declare(strict_types=1);

// For each line on standard input one attempt, as a line of JSON, with how far the server's clock is ahead.
// Arguments: class, store, limit, window.
$limiter = new $argv[1]($argv[2], (int) $argv[3], (int) $argv[4]);
while (fgets(STDIN) !== false) {
    $verdict = $limiter->attempt('one');
    $server = array_values(rate_limit_status()['servers'])[0] ?? [];
    echo json_encode([...(array) $verdict, 'source' => null, 'clock' => $server['clock'] ?? null]), "\n";
}
