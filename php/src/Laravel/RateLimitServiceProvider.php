<?php

declare(strict_types=1);

namespace RateLimit\Laravel;

use Illuminate\Cache\RateLimiter;
use Illuminate\Contracts\Foundation\Application;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use Illuminate\Routing\Router;
use Illuminate\Support\ServiceProvider;
use RateLimit\Algorithm;
use RateLimit\Meter;
use RateLimit\OnFailure;

/**
 * Puts the extension behind `throttle`. Composer's package discovery finds it; nothing else is to be done. Settings,
 * each optional, in config/rate_limit.php:
 *
 *     return [
 *         'store' => env('RATE_LIMIT_STORE'),   // a DSN; null: the setting rate_limit.store
 *         'algorithm' => 'counter',             // or 'log'
 *         'on_failure' => 'memory',             // or 'throw', 'open', 'closed'
 *         'dry_run' => false,                   // true: deny nobody, and mark what would have been denied
 *     ];
 */
class RateLimitServiceProvider extends ServiceProvider
{
    public function register(): void
    {
        // Under Laravel's own class name as well: the alias in an application's kernel, throttleApi() and
        // ThrottleRequests::using() all lead there.
        $this->app->bind(LaravelThrottleRequests::class, ThrottleRequests::class);
        $this->app->bind(ThrottleRequests::class, static function (Application $app): ThrottleRequests {
            $config = $app->make('config');
            $setting = static fn (string $key, mixed $default) => $config->get("rate_limit.$key", $default);
            $onFailure = OnFailure::from($setting('on_failure', 'memory'));
            return new ThrottleRequests(
                $app->make(RateLimiter::class),
                new Meter($setting('store', null), $onFailure, $setting('dry_run', false)),
                Algorithm::from($setting('algorithm', 'counter')),
            );
        });
    }

    public function boot(Router $router): void
    {
        $router->aliasMiddleware('throttle', ThrottleRequests::class);
    }
}
