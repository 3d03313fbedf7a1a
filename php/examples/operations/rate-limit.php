<?php

/** The application's own rules stand here. */

declare(strict_types=1);

return [
    'default' => ['name' => 'default', 'limit' => 2, 'window' => 3600],
    'routes' => ['/search.php' => ['name' => 'search', 'limit' => 1, 'window' => 3600, 'algorithm' => 'log']],
];
