<?php

declare(strict_types=1);

namespace RateLimit\Tests\Userland;

/** The counter as an application had it before the extension: a script on phpredis, its Lua in a string. */
final class SlidingWindowCounter
{
    private const string SCRIPT = <<<'LUA'
        local curr = tonumber(redis.call('GET', KEYS[1]) or '0')
        local prev = tonumber(redis.call('GET', KEYS[2]) or '0')
        local window, elapsed, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
        local estimate = curr + math.floor(prev * (window - elapsed) / window)
        if estimate >= limit then
            return {0, 0}
        end
        redis.call('INCR', KEYS[1])
        redis.call('PEXPIRE', KEYS[1], math.ceil(2 * window / 1000))
        return {1, limit - estimate - 1}
        LUA;

    public function __construct(
        private readonly \Redis $redis,
        private readonly int $limit,
        private readonly int $windowSeconds,
    ) {
    }

    /** @return array{allowed: bool, remaining: int} */
    public function check(string $identity): array
    {
        $now = (int) (microtime(true) * 1_000_000);
        $window = $this->windowSeconds * 1_000_000;
        $index = intdiv($now, $window);
        [$allowed, $remaining] = $this->redis->eval(
            self::SCRIPT,
            ["rl:cnt:$identity:$index", "rl:cnt:$identity:" . ($index - 1), $window, $now % $window, $this->limit],
            2,
        );
        return ['allowed' => $allowed === 1, 'remaining' => $remaining];
    }
}
