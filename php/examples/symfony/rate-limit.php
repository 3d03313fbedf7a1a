<?php

declare(strict_types=1);

return [
    'default' => ['limit' => 300, 'window' => 60],
    'routes' => [
        '/api/v1/trending' => ['limit' => 5, 'window' => 60],
    ],
];
