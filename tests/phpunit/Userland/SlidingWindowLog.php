<?php

declare(strict_types=1);

namespace RateLimit\Tests\Userland;

/** The log as an application had it before the extension: a script on phpredis, its Lua in a string. */
final class SlidingWindowLog
{
    private const string SCRIPT = <<<'LUA'
        local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
        local used = redis.call('ZCARD', KEYS[1])
        local allowed = 0
        if used < limit then
            redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
            used = used + 1
            allowed = 1
        end
        redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000))
        return {allowed, limit - used}
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
        [$allowed, $remaining] = $this->redis->eval(
            self::SCRIPT,
            ["rl:log:$identity", (string) $now, $this->windowSeconds * 1_000_000, $this->limit, "$now:" . bin2hex(random_bytes(4))],
            1,
        );
        return ['allowed' => $allowed === 1, 'remaining' => max(0, $remaining)];
    }
}
