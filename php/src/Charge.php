<?php

declare(strict_types=1);

namespace RateLimit;

/** What one request asks of one budget. */
final readonly class Charge
{
    /**
     * @param string $identity whose budget, as the limiter knows it
     * @param ?string $client the address, where the identity depends on it and on nothing else that the client sends
     */
    public function __construct(public Policy $policy, public string $identity, public ?string $client = null)
    {
    }

    /**
     * The identity of a budget that belongs to nobody in particular. It holds nothing personal, so it is not hashed;
     * a hashed one begins with 24 hex digits and can never be equal to it.
     */
    public static function shared(string $endpoint): string
    {
        return "*:$endpoint";
    }
}
