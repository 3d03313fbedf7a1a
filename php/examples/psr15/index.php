<?php

declare(strict_types=1);

use Nyholm\Psr7\Factory\Psr17Factory;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;
use RateLimit\Guard;
use RateLimit\Psr15\RateLimitMiddleware;

require __DIR__ . '/vendor/autoload.php';

$psr17 = new Psr17Factory();
$limits = new RateLimitMiddleware(Guard::fromFile(__DIR__ . '/rate-limit.php'), $psr17, $psr17);

$application = new class ($psr17) implements RequestHandlerInterface {
    public function __construct(private readonly Psr17Factory $psr17)
    {
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        return $this->psr17->createResponse()
            ->withHeader('Content-Type', 'application/json')
            ->withHeader('Access-Control-Expose-Headers', 'ETag')
            ->withBody($this->psr17->createStream('{"trending":["rust","php","redis"]}'));
    }
};

$request = $psr17->createServerRequest(
    $_SERVER['REQUEST_METHOD'],
    "http://{$_SERVER['HTTP_HOST']}{$_SERVER['REQUEST_URI']}",
    ['REMOTE_ADDR' => $_SERVER['REMOTE_ADDR']],
);
foreach (getallheaders() as $name => $value) {
    $request = $request->withHeader($name, $value);
}
$response = $limits->process($request, $application);

http_response_code($response->getStatusCode());
foreach ($response->getHeaders() as $name => $values) {
    foreach ($values as $value) {
        header("$name: $value", replace: false);
    }
}
echo $response->getBody();
