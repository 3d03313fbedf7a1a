<?php

declare(strict_types=1);

namespace RateLimit\Symfony;

use RateLimit\Limiter as Decider;
use RateLimit\Verdict;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimit;
use Symfony\Component\RateLimiter\Reservation;

/** One client's limiter, as Symfony knows them. */
final readonly class Limiter implements LimiterInterface
{
    public function __construct(private Decider $limiter, private string $identity, private int $limit)
    {
    }

    /**
     * A reservation would let a call pass that no window has room for yet.
     *
     * @throws ReserveNotSupportedException always
     */
    public function reserve(int $tokens = 1, ?float $maxTime = null): Reservation
    {
        throw new ReserveNotSupportedException(self::class);
    }

    /**
     * @param int $tokens 0 asks and takes nothing
     * @throws \InvalidArgumentException where they are more than the limit, so that waiting would be in vain
     */
    public function consume(int $tokens = 1): RateLimit
    {
        if ($tokens > $this->limit) {
            throw new \InvalidArgumentException("Cannot consume $tokens tokens of a limiter of $this->limit");
        }
        if ($tokens === 0) {
            $verdict = $this->limiter->peek($this->identity);
            return new RateLimit($verdict->remaining, self::retryAt($verdict), true, $this->limit);
        }
        $verdict = $this->limiter->attempt($this->identity, $tokens);
        return new RateLimit($verdict->remaining, self::retryAt($verdict), $verdict->allowed, $this->limit);
    }

    public function reset(): void
    {
        $this->limiter->reset($this->identity);
    }

    /** Now, or the second in which the call could be admitted, rounded up as Symfony's own limiters do. */
    private static function retryAt(Verdict $verdict): \DateTimeImmutable
    {
        $wait = $verdict->retryAfter ?? $verdict->resetAfter;
        return new \DateTimeImmutable('@' . ($wait > 0.0 ? (int) ceil(microtime(true) + $wait) : time()));
    }
}
