<?php

declare(strict_types=1);

require __DIR__ . '/vendor/autoload.php';

RateLimit\Guard::fromFile(__DIR__ . '/rate-limit.php')->protect();

header('Content-Type: application/json');
echo json_encode(['trending' => ['rust', 'php', 'redis']]), "\n";
