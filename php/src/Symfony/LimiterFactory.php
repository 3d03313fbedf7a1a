<?php

declare(strict_types=1);

namespace RateLimit\Symfony;

use RateLimit\Algorithm;
use RateLimit\Charge;
use RateLimit\InvalidRules;
use RateLimit\Meter;
use RateLimit\OnFailure;
use RateLimit\Policy;
use RateLimit\Section;
use Symfony\Component\RateLimiter\LimiterInterface;

/** Makes limiters from the array that Symfony's own RateLimiterFactory takes. */
final readonly class LimiterFactory implements LimiterFactoryInterface
{
    /** Symfony's `sliding_window` is an approximation in two numbers; so is the counter. The log is exact. */
    private const array POLICIES = ['sliding_window' => Algorithm::Counter, 'sliding_window_log' => Algorithm::Log];

    private Policy $policy;

    private Meter $meter;

    /**
     * @param array{id: string, policy: 'sliding_window'|'sliding_window_log', limit: int, interval: string} $config
     * @param object|string|null $store a client object or a DSN; null: the setting rate_limit.store
     * @throws InvalidRules
     */
    public function __construct(
        array $config,
        #[\SensitiveParameter] object|string|null $store = null,
        OnFailure $onFailure = OnFailure::Memory,
    ) {
        $section = new Section('limiter', $config);
        $section->only('id', 'policy', 'limit', 'interval');
        $arguments = [
            'name' => $section->text('id', ''),
            'limit' => $section->integer('limit'),
            'window' => self::seconds($section),
            'algorithm' => self::POLICIES[$section->oneOf('policy', ...array_keys(self::POLICIES))],
        ];
        $this->policy = $section->in(null, static fn () => new Policy(...$arguments));
        $this->meter = new Meter($store, $onFailure);
    }

    public function create(?string $key = null): LimiterInterface
    {
        $name = $this->policy->name;
        return new Limiter(
            $this->meter->limiter($this->policy),
            $key === null ? Charge::shared($name) : rate_limit_identity($key, $name),
            $this->policy->limit,
        );
    }

    /** The length of an interval such as "15 minutes", read as Symfony reads it. */
    private static function seconds(Section $section): int
    {
        $start = new \DateTimeImmutable('@0');
        try {
            return $start->modify('+' . $section->text('interval', ''))->getTimestamp();
        } catch (\DateMalformedStringException) {
            $section->reject('interval', "an interval such as '15 minutes'");
        }
    }
}
