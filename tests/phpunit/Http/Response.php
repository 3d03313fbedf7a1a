<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

/** An HTTP response as it came over the wire. */
final readonly class Response
{
    /** @param array<string, string> $headers by lower-case name; repeated ones as one list */
    public function __construct(public int $status, public array $headers, public string $body) {}

    public static function parse(string $raw): self
    {
        [$head, $body] = explode("\r\n\r\n", $raw, 2);
        $lines = explode("\r\n", $head);
        $status = (int) explode(' ', array_shift($lines))[1];
        $headers = [];
        foreach ($lines as $line) {
            [$name, $value] = explode(':', $line, 2);
            $name = strtolower($name);
            $headers[$name] = isset($headers[$name]) ? "$headers[$name], " . trim($value) : trim($value);
        }
        return new self($status, $headers, $body);
    }
}
