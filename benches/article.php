<?php

declare(strict_types=1);

/*
 * The userland limiter that the extension replaces, as an application has it: two classes and a
 * function on phpredis, the Lua in strings, one SCRIPT LOAD in the constructor unless told not to.
 *
 * It is what the others are measured against, and measures nothing itself. Its keys and formulas are
 * those of the extension; of failures, clocks and the end of a script cache it knows nothing.
 */

namespace Article;

final class SlidingWindowLog
{
    private const LUA = <<<'LUA'
        local key = KEYS[1]
        local now = tonumber(ARGV[1])
        local window = tonumber(ARGV[2])
        local limit = tonumber(ARGV[3])
        redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
        local used = redis.call('ZCARD', key)
        if used >= limit then
            redis.call('PEXPIRE', key, math.ceil(window / 1000))
            return {0, 0}
        end
        redis.call('ZADD', key, now, ARGV[4])
        redis.call('PEXPIRE', key, math.ceil(window / 1000))
        return {1, limit - used - 1}
        LUA;

    private string $sha;

    public function __construct(
        private \Redis $redis,
        private int $limit,
        private int $windowSeconds,
        bool $load = true,
    ) {
        $this->sha = $load ? $redis->script('load', self::LUA) : sha1(self::LUA);
    }

    /** @return array{allowed: bool, remaining: int} */
    public function check(string $identity): array
    {
        $now = (int) (microtime(true) * 1_000_000);
        $member = $now . ':' . bin2hex(random_bytes(4));
        [$allowed, $remaining] = $this->redis->evalSha(
            $this->sha,
            ['rl:log:' . $identity, $now, $this->windowSeconds * 1_000_000, $this->limit, $member],
            1,
        );
        return ['allowed' => $allowed === 1, 'remaining' => $remaining];
    }
}

final class SlidingWindowCounter
{
    private const LUA = <<<'LUA'
        local limit = tonumber(ARGV[1])
        local window = tonumber(ARGV[2])
        local elapsed = tonumber(ARGV[3])
        local curr = tonumber(redis.call('GET', KEYS[1]) or '0')
        local prev = tonumber(redis.call('GET', KEYS[2]) or '0')
        local estimate = curr + math.floor(prev * (window - elapsed) / window)
        if estimate >= limit then
            return {0, 0}
        end
        redis.call('INCR', KEYS[1])
        redis.call('PEXPIRE', KEYS[1], math.ceil(2 * window / 1000))
        return {1, limit - estimate - 1}
        LUA;

    private string $sha;

    public function __construct(
        private \Redis $redis,
        private int $limit,
        private int $windowSeconds,
        bool $load = true,
    ) {
        $this->sha = $load ? $redis->script('load', self::LUA) : sha1(self::LUA);
    }

    /** @return array{allowed: bool, remaining: int} */
    public function check(string $identity): array
    {
        $now = (int) (microtime(true) * 1_000_000);
        $window = $this->windowSeconds * 1_000_000;
        $index = intdiv($now, $window);
        $key = 'rl:cnt:' . $identity . ':';
        [$allowed, $remaining] = $this->redis->evalSha(
            $this->sha,
            [$key . $index, $key . ($index - 1), $this->limit, $window, $now % $window],
            2,
        );
        return ['allowed' => $allowed === 1, 'remaining' => $remaining];
    }
}
