<?php

declare(strict_types=1);

namespace RateLimit;

/** One array of the rules, read key by key; what is wrong is reported with its place. A null counts as absent. */
final readonly class Section
{
    /**
     * @param string $place what messages call this array
     * @param array<array-key, mixed> $values
     */
    public function __construct(private string $place, private array $values)
    {
    }

    /** @throws InvalidRules where a key is none of these */
    public function only(string ...$keys): void
    {
        foreach (array_diff(array_keys($this->values), $keys) as $key) {
            $this->fail((string) $key, 'is unknown: the keys here are ' . implode(', ', $keys));
        }
    }

    /** @return list<string> */
    public function keys(): array
    {
        return array_map(strval(...), array_keys($this->values));
    }

    public function has(string $key): bool
    {
        return isset($this->values[$key]);
    }

    public function value(string $key, mixed $default = null): mixed
    {
        return $this->values[$key] ?? $default;
    }

    public function integer(string $key, ?int $default = null): int
    {
        $value = $this->value($key, $default);
        return is_int($value) ? $value : $this->reject($key, 'an integer');
    }

    public function boolean(string $key, bool $default): bool
    {
        $value = $this->value($key, $default);
        return is_bool($value) ? $value : $this->reject($key, 'true or false');
    }

    public function text(string $key, ?string $default = null): ?string
    {
        $value = $this->value($key, $default);
        return is_string($value) || $value === null ? $value : $this->reject($key, 'a string');
    }

    public function oneOf(string $key, string $default, string ...$others): string
    {
        $value = $this->value($key, $default);
        $allowed = [$default, ...$others];
        return in_array($value, $allowed, true)
            ? $value
            : $this->reject($key, "one of '" . implode("', '", $allowed) . "'");
    }

    /** @return list<string> */
    public function texts(string $key): array
    {
        $value = $this->table($key);
        return array_is_list($value) && array_filter($value, is_string(...)) === $value
            ? $value
            : $this->reject($key, 'a list of strings');
    }

    /** @return array<string, string> header names and values */
    public function headers(string $key): array
    {
        foreach ($this->table($key) as $name => $value) {
            if (preg_match('/^[!#$%&\'*+.^_`|~0-9A-Za-z-]+$/D', (string) $name) !== 1 || !is_string($value)
                || preg_match('/[\r\n\0]/', $value) === 1) {
                $this->section($key)->reject((string) $name, 'a header: a name and a value on one line');
            }
        }
        return $this->table($key);
    }

    /** @return array<array-key, mixed> */
    public function table(string $key): array
    {
        $value = $this->value($key, []);
        return is_array($value) ? $value : $this->reject($key, 'an array');
    }

    public function section(string $key): self
    {
        return new self($this->at($key), $this->table($key));
    }

    /**
     * Runs what makes something of values that were read here, so that what it finds wrong is reported with its
     * place.
     *
     * @template T
     * @param ?string $key whose value it is made of; null: of several
     * @param callable(): T $make
     * @return T
     */
    public function in(?string $key, callable $make): mixed
    {
        try {
            return $make();
        } catch (InvalidRules $error) {
            $place = $key === null ? $this->place : $this->at($key);
            throw new InvalidRules("$place: {$error->getMessage()}", previous: $error);
        }
    }

    /** @throws InvalidRules always: the value of `$key` is not allowed */
    public function reject(string $key, string $rule): never
    {
        $this->fail($key, $this->has($key)
            ? 'is ' . self::show($this->values[$key]) . ": must be $rule"
            : "is missing: must be $rule");
    }

    /** @throws InvalidRules always */
    public function fail(string $key, string $what): never
    {
        throw new InvalidRules($this->at($key) . " $what");
    }

    /** What messages call the value of `$key`. */
    public function at(string $key): string
    {
        return $this->place . "['$key']";
    }

    /** A value as a message shows it. */
    public static function show(mixed $value): string
    {
        return is_scalar($value) || $value === null ? var_export($value, true) : get_debug_type($value);
    }
}
