<?php

/** Frees a client that is locked out: POST address=192.0.2.7; see docs/operations.md. */

declare(strict_types=1);

require __DIR__ . '/vendor/autoload.php';

RateLimit\Bearer::require('RATE_LIMIT_RESET_TOKEN');

if ($_SERVER['REQUEST_METHOD'] !== 'POST' || !is_string($_POST['address'] ?? null)) {
    http_response_code(400);
    exit("POST address=ADDRESS\n");
}
$budgets = RateLimit\Guard::fromFile(__DIR__ . '/rate-limit.php')->free($_POST['address']);
echo "$budgets budgets freed\n";
