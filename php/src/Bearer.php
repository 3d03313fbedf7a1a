<?php

declare(strict_types=1);

namespace RateLimit;

/** Keeps an operator's endpoint to those who know its token. */
final class Bearer
{
    /**
     * Ends the script with 403 unless the request has `Authorization: Bearer TOKEN` with the token that the environment
     * variable holds (php-fpm: `env[]` of the pool, or a fastcgi_param; Apache: SetEnv). Nobody passes without one.
     */
    public static function require(string $variable): void
    {
        $token = (string) getenv($variable);
        $headers = array_change_key_case(getallheaders());
        if ($token === '' || !hash_equals("Bearer $token", $headers['authorization'] ?? '')) {
            if ($token === '') {
                error_log("rate_limit: {$_SERVER['SCRIPT_NAME']} answers nobody until the environment has $variable");
            }
            http_response_code(403);
            exit;
        }
    }
}
