<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

/** nginx and php-fpm, with one pool. */
final class Fpm extends WebServer
{
    private readonly Origin $origin;

    /** @param array<string, string> $ini settings, as php.ini would have them */
    public function __construct(array $ini)
    {
        $options = ['-n'];
        foreach ($ini as $name => $value) {
            array_push($options, '-d', "$name=$value");
        }
        $this->origin = new Origin(['www' => []], $options);
    }

    public function url(): string
    {
        return $this->origin->url('www');
    }

    public function reload(): void
    {
        $this->origin->reload();
    }

    public function restart(): void
    {
        $this->origin->restart();
    }

    public function log(): string
    {
        return $this->origin->log();
    }
}
