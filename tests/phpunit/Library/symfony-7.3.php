<?php

/** The interface that Debian's Symfony 6.4 does not have yet, as Symfony 7.3 published it. */

declare(strict_types=1);

namespace Symfony\Component\RateLimiter;

interface RateLimiterFactoryInterface
{
    public function create(?string $key = null): LimiterInterface;
}
