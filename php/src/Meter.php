<?php

declare(strict_types=1);

namespace RateLimit;

/** Takes what a request costs from several budgets: from all of them or, as far as that can be promised, from none. */
final readonly class Meter
{
    /**
     * @param object|string|null $store as the first argument of the limiters: a client object, a DSN, or null for
     *     the setting rate_limit.store
     * @param bool $dryRun decide and count, and deny nobody; false: as the setting rate_limit.dry_run says
     */
    public function __construct(
        #[\SensitiveParameter] private object|string|null $store = null,
        private OnFailure $onFailure = OnFailure::Memory,
        public bool $dryRun = false,
    ) {
    }

    /**
     * Asks all budgets before it takes from any. One that denies at that point leaves all of them untouched. Where
     * another request takes the last unit between the question and the taking, the budgets before it in the list have
     * paid for a request that is denied; none ever admits more than its limit.
     *
     * @param non-empty-list<Charge> $charges
     * @return array{Charge, Verdict} the most restrictive: the denial with the longest wait, else the least that
     *     remains
     * @throws StoreException where the store cannot answer and nothing may answer in its place
     */
    public function decide(array $charges): array
    {
        if (count($charges) > 1) {
            $asked = array_map(fn (Charge $charge) => [$charge, $this->peek($charge)], $charges);
            $worst = self::worst($asked);
            if (self::denies($worst[1])) {
                return $worst;
            }
        }
        $taken = [];
        foreach ($charges as $charge) {
            $verdict = $this->limiter($charge->policy)->attempt($charge->identity, $charge->policy->cost);
            $taken[] = [$charge, $verdict];
            if (self::denies($verdict)) {
                break;
            }
        }
        return self::worst($taken);
    }

    /** What decide() would say to this charge alone; takes nothing. */
    public function peek(Charge $charge): Verdict
    {
        return $this->limiter($charge->policy)->peek($charge->identity, $charge->policy->cost);
    }

    public function limiter(Policy $policy): Limiter
    {
        $class = $policy->algorithm === Algorithm::Log ? \SlidingWindowLog::class : \SlidingWindowCounter::class;
        $limiter = new $class($this->store, $policy->limit, $policy->window, $this->onFailure);
        if ($this->dryRun) {
            rate_limit_dry_run($limiter);
        }
        return $limiter;
    }

    /**
     * @param non-empty-list<array{Charge, Verdict}> $decided
     * @return array{Charge, Verdict}
     */
    private static function worst(array $decided): array
    {
        usort($decided, static fn (array $a, array $b) => self::rank($a[1]) <=> self::rank($b[1]));
        return $decided[0];
    }

    /** @return array{bool, float} smaller is more restrictive */
    private static function rank(Verdict $verdict): array
    {
        return [!self::denies($verdict), $verdict->allowed ? (float) $verdict->remaining : -($verdict->retryAfter ?? INF)];
    }

    /** Whether nothing more is taken: a dry run goes the way that it would go in earnest. */
    private static function denies(Verdict $verdict): bool
    {
        return !$verdict->allowed || $verdict->wouldDeny;
    }
}
