<?php

/** For Prometheus; see docs/operations.md. One per pool: each counts its own namespace. */

declare(strict_types=1);

require __DIR__ . '/vendor/autoload.php';

RateLimit\Bearer::require('RATE_LIMIT_METRICS_TOKEN');

header('Content-Type: text/plain; version=0.0.4; charset=utf-8');
header('Cache-Control: no-store');
echo rate_limit_metrics();
