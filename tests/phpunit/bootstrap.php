<?php

declare(strict_types=1);

require __DIR__ . '/../../php/autoload.php';

spl_autoload_register(static function (string $class): void {
    $prefix = 'RateLimit\\Tests\\';
    if (str_starts_with($class, $prefix)) {
        $file = __DIR__ . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
        if (is_file($file)) {
            require $file;
        }
    }
});
