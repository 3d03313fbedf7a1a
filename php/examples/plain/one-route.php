<?php

declare(strict_types=1);

require __DIR__ . '/vendor/autoload.php';

RateLimit\Guard::limit(5, 60, 'one-route');

echo "Hello\n";
