<?php

declare(strict_types=1);

namespace RateLimit;

/** What the limiter needs to know of a request, whichever framework it came through. */
final readonly class Request
{
    /** In capitals, since frameworks treat `get` as `GET`. */
    public string $method;

    /** The client's address where no rule says how to find it; null where it is not known. */
    public ?string $client;

    /**
     * @param string $target as it was sent, with or without query
     * @param array<string, mixed> $server as $_SERVER: REMOTE_ADDR, SCRIPT_NAME, and headers as HTTP_*
     * @param ?string $client the address that the framework found; null: the peer's
     */
    public function __construct(string $method, public string $target, public array $server, ?string $client = null)
    {
        $this->method = strtoupper($method);
        $this->client = $client ?? ClientAddress::peer($server);
    }

    /** The request that PHP is answering. */
    public static function current(): self
    {
        return new self($_SERVER['REQUEST_METHOD'] ?? 'GET', $_SERVER['REQUEST_URI'] ?? '', $_SERVER);
    }

    /** The value of a header; null where the request has none. */
    public function header(string $name): ?string
    {
        return $this->server['HTTP_' . strtoupper(strtr($name, '-', '_'))] ?? null;
    }

    /** SCRIPT_NAME, '' where there is none. */
    public function script(): string
    {
        return (string) ($this->server['SCRIPT_NAME'] ?? '');
    }
}
