<?php

declare(strict_types=1);

/* Symfony's rate limiter as its documentation sets it up. */

namespace Bench;

use Symfony\Component\Cache\Adapter\AdapterInterface;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

require 'Symfony/Component/Cache/autoload.php';
require 'Symfony/Component/Lock/autoload.php';
require 'Symfony/Component/RateLimiter/autoload.php';

/** A sliding window of a minute that admits every call. */
function symfony(AdapterInterface $cache, ?LockFactory $locks = null): RateLimiterFactory
{
    $policy = ['id' => 'bench', 'policy' => 'sliding_window', 'limit' => NEVER_REACHED, 'interval' => '60 seconds'];
    return new RateLimiterFactory($policy, new CacheStorage($cache), $locks);
}
