<?php

declare(strict_types=1);

namespace App;

use RateLimit\Symfony\LimiterFactoryInterface;
use RateLimit\Symfony\RateLimitBundle;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Exception\TooManyRequestsHttpException;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

require __DIR__ . '/vendor/autoload.php';

final class ApiController
{
    /** Limited by rate-limit.php, before this code is reached. */
    public function trending(): Response
    {
        $headers = ['Access-Control-Expose-Headers' => 'ETag'];
        return new JsonResponse(['trending' => ['rust', 'php', 'redis']], headers: $headers);
    }

    /** Limited here, as with a limiter of framework.rate_limiter. */
    public function login(Request $request, LimiterFactoryInterface $loginLimiter): Response
    {
        $limit = $loginLimiter->create($request->getClientIp())->consume();
        if (!$limit->isAccepted()) {
            throw new TooManyRequestsHttpException($limit->getRetryAfter()->getTimestamp() - time());
        }
        return new JsonResponse(['remaining' => $limit->getRemainingTokens()]);
    }
}

final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle(), new RateLimitBundle()];
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => 'an example',
            'http_method_override' => false,
            'handle_all_throwables' => true,
            'php_errors' => ['log' => true],
            'trusted_proxies' => '127.0.0.1',
            'trusted_headers' => ['x-forwarded-for'],
        ]);
        $container->extension('rate_limit', [
            'rules' => '%kernel.project_dir%/rate-limit.php',
            'limiters' => ['login' => ['policy' => 'sliding_window_log', 'limit' => 3, 'interval' => '15 minutes']],
        ]);
        $container->services()->set(ApiController::class)->autowire()->tag('controller.service_arguments');
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('trending', '/api/v1/trending')->controller([ApiController::class, 'trending']);
        $routes->add('login', '/login')->controller([ApiController::class, 'login']);
    }

    public function getProjectDir(): string
    {
        return __DIR__;
    }
}

$kernel = new Kernel('prod', false);
$request = Request::createFromGlobals();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
