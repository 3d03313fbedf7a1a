<?php

/**
 * Limits every request of an application that knows nothing of it:
 *
 *     auto_prepend_file = /path/to/prepend.php
 *     rate_limit.rules  = /path/to/rules.php
 *
 * The rules are named by, in this order: `rate_limit.rules` in php.ini; the environment's RATE_LIMIT_RULES (php-fpm:
 * `env[]` of the pool, or a fastcgi_param); `rules.php` beside this file. Nothing happens on the command line.
 * docs/middleware.md says where to set this so that no .user.ini undoes it.
 */

declare(strict_types=1);

if (!in_array(PHP_SAPI, ['cli', 'phpdbg', 'embed'], true)) {
    (static function (): void {
        require_once __DIR__ . '/autoload.php';
        try {
            RateLimit\Guard::fromFile(
                get_cfg_var('rate_limit.rules') ?: getenv('RATE_LIMIT_RULES') ?: __DIR__ . '/rules.php',
            )->protect();
        } catch (Throwable $error) {
            http_response_code(500); // PHP itself leaves 200 where display_errors is on
            throw $error;
        }
    })();
}
