<?php

declare(strict_types=1);

namespace RateLimit\Psr15;

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;
use RateLimit\Answer;
use RateLimit\Guard;
use RateLimit\Request;

/**
 * Limits requests in a PSR-15 stack; the first middleware, so that a denied request costs nothing else. The handlers
 * behind it find the answer in the request's attribute `RateLimit\Answer`.
 */
final readonly class RateLimitMiddleware implements MiddlewareInterface
{
    public function __construct(
        private Guard $guard,
        private ResponseFactoryInterface $responses,
        private StreamFactoryInterface $streams,
    ) {
    }

    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        $answer = $this->guard->answer(self::read($request));
        $response = $answer->denies()
            ? $this->responses->createResponse($answer->status)->withBody($this->streams->createStream($answer->body))
            : $handler->handle($request->withAttribute(Answer::class, $answer));
        foreach ($answer->headers as $name => $value) {
            $response = $name === Answer::EXPOSE
                ? $response->withAddedHeader($name, $value)
                : $response->withHeader($name, $value);
        }
        return $response;
    }

    /**
     * Headers come from the message: not every server puts them into the server parameters. X_Real_IP would there be
     * taken for X-Real-IP, and a proxy that sets the one lets the other through, so such names are left out.
     */
    private static function read(ServerRequestInterface $request): Request
    {
        $server = $request->getServerParams();
        foreach (array_keys($request->getHeaders()) as $name) {
            if (!str_contains((string) $name, '_')) {
                $server['HTTP_' . strtoupper(strtr((string) $name, '-', '_'))] = $request->getHeaderLine((string) $name);
            }
        }
        return new Request($request->getMethod(), $request->getUri()->getPath() ?: '/', $server);
    }
}
