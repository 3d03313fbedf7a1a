<?php

/** Every key with an example; docs/middleware.md says what each means and what its default is. */

declare(strict_types=1);

use RateLimit\Request;

return [
    'default' => ['limit' => 300, 'window' => 60],
    'routes' => [
        '/api/v1/trending' => ['limit' => 100, 'window' => 60],
        '/api/v1/search' => [
            ['name' => 'search', 'limit' => 10, 'window' => 60, 'algorithm' => 'log'],
            ['name' => 'search-all', 'limit' => 1000, 'window' => 60, 'by' => 'endpoint'],
        ],
        'POST /api/v1/users/{id}/messages' => [
            'limit' => 20,
            'window' => 3600,
            'by' => static fn (Request $request) => $request->header('X-Api-Key'),
        ],
        '/api/v1/export' => ['limit' => 100, 'window' => 3600, 'cost' => 25],
    ],
    'exempt' => [
        'routes' => ['/health'],
        'networks' => ['10.0.0.0/8'],
        'methods' => ['OPTIONS'],
    ],
    'client' => ['header' => 'X-Forwarded-For', 'trusted' => ['10.0.0.0/8', '127.0.0.1', '::1']],
    'store' => null,
    'on_failure' => 'memory',
    'dry_run' => false,
    'missing' => 'error',
    'response' => ['format' => 'json', 'headers' => ['Access-Control-Allow-Origin' => '*']],
];
