<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

/** Reads a structured field (RFC 8941) that is a list of strings with integer parameters; anything else is an error. */
final class StructuredField
{
    private function __construct(private string $rest)
    {
    }

    /** @return list<array{string, array<string, int>}> */
    public static function parseList(string $field): array
    {
        $parser = new self(trim($field, ' '));
        $members = [];
        do {
            $members[] = [$parser->string(), $parser->parameters()];
        } while ($parser->accept('/^[ \t]*,[ \t]*/'));
        if ($parser->rest !== '') {
            throw new \UnexpectedValueException("left over: $parser->rest");
        }
        return $members;
    }

    private function string(): string
    {
        $quoted = $this->expect('/^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\\\["\\\\])*)"/');
        return preg_replace('/\\\\(["\\\\])/', '$1', $quoted);
    }

    /** @return array<string, int> */
    private function parameters(): array
    {
        $parameters = [];
        while ($this->accept('/^; */')) {
            $key = $this->expect('/^([a-z*][a-z0-9_.*-]*)=/');
            $parameters[$key] = (int) $this->expect('/^(-?\d{1,15})(?![\d.])/');
        }
        return $parameters;
    }

    private function expect(string $pattern): string
    {
        return $this->accept($pattern) ?? throw new \UnexpectedValueException("not as it should be: $this->rest");
    }

    /** The group of the pattern, or what it matched, which is then gone. */
    private function accept(string $pattern): ?string
    {
        if (preg_match($pattern, $this->rest, $match) !== 1) {
            return null;
        }
        $this->rest = substr($this->rest, strlen($match[0]));
        return $match[1] ?? $match[0];
    }
}
