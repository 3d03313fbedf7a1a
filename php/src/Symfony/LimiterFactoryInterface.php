<?php

declare(strict_types=1);

namespace RateLimit\Symfony;

use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;

if (interface_exists(RateLimiterFactoryInterface::class)) {
    /** Symfony's own interface, where it has one (7.3 and newer). */
    interface LimiterFactoryInterface extends RateLimiterFactoryInterface
    {
    }
} else {
    /** What Symfony 7.3 calls RateLimiterFactoryInterface. */
    interface LimiterFactoryInterface
    {
        /** @param ?string $key whose limiter: an address, a user; null: one for all */
        public function create(?string $key = null): LimiterInterface;
    }
}
