<?php

declare(strict_types=1);

return [
    'default' => ['limit' => 300, 'window' => 60],
    'routes' => [
        '/search.php' => ['limit' => 5, 'window' => 60],
    ],
    'missing' => 'pass',
];
