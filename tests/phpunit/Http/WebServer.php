<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

/** A web server of a test's own, with several workers of PHP. It serves the scripts in www/ and the demo. */
abstract class WebServer
{
    public const int WORKERS = 4;

    /** `http://` and where it listens. */
    abstract public function url(): string;

    /** What PHP and the server have logged so far. */
    abstract public function log(): string;

    /**
     * `$times` equal GETs, as many at once as there are workers.
     *
     * @return list<Response>
     */
    public function get(string $target, int $times = 1, string $from = '127.0.0.1'): array
    {
        return Requests::get($this->url(), $target, $times, self::WORKERS, $from);
    }
}
