<?php

declare(strict_types=1);

require_once __DIR__ . '/../../../php/autoload.php';

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'RateLimit\\Tests\\')) {
        $file = dirname(__DIR__) . '/' . strtr(substr($class, 16), '\\', '/') . '.php';
        if (is_file($file)) {
            require_once $file;
        }
    }
});
