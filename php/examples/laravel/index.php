<?php

declare(strict_types=1);

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Http\Kernel as HttpKernel;
use Illuminate\Foundation\Application;
use Illuminate\Foundation\Exceptions\Handler;
use Illuminate\Foundation\Http\Kernel;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Routing\Middleware\ThrottleRequests;
use Illuminate\Support\Facades\RateLimiter;
use Illuminate\Support\Facades\Route;
use Illuminate\Support\ServiceProvider;

require __DIR__ . '/vendor/autoload.php';

/** As an application has it: nothing here knows of the extension. */
final class AppKernel extends Kernel
{
    protected $middlewareAliases = ['throttle' => ThrottleRequests::class];
}

final class AppServiceProvider extends ServiceProvider
{
    public function boot(): void
    {
        RateLimiter::for('api', static fn (Request $request) => [
            Limit::perMinute(5)->by($request->ip()),
            Limit::perHour(1000)->by($request->ip()),
        ]);
        RateLimiter::for('custom', static fn () => Limit::perMinute(1)->response(
            static fn (Request $request, array $headers) => new Response('slow down', 429, $headers),
        ));
        RateLimiter::for('free', static fn () => Limit::none());
        $trending = static fn () => ['trending' => ['rust', 'php', 'redis']];
        Route::get('/api/v1/trending', $trending)->middleware('throttle:api');
        Route::get('/inline/{id}', $trending)->middleware('throttle:2,1');
        Route::get('/custom', $trending)->middleware('throttle:custom');
        Route::get('/free', $trending)->middleware('throttle:free');
        Route::get('/using', $trending)->middleware(ThrottleRequests::using('api'));
    }
}

$application = new Application(__DIR__);
$application->singleton(HttpKernel::class, AppKernel::class);
$application->singleton(ExceptionHandler::class, Handler::class);

$kernel = $application->make(HttpKernel::class);
$request = Request::capture();
$response = $kernel->handle($request)->send();
$kernel->terminate($request, $response);
