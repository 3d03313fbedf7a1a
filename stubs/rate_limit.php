<?php

/**
 * What the extension `rate_limit` declares, for PhpStorm, PHPStan and Psalm. Not to be loaded: PHP
 * has these already where the extension is enabled.
 *
 * A test compares this file with the loaded extension.
 */

namespace {
    use RateLimit\Limiter;
    use RateLimit\OnFailure;
    use RateLimit\Verdict;

    /** A sliding window, exact: remembers the time of each admitted unit. */
    final class SlidingWindowLog implements Limiter
    {
        /**
         * @param Redis|RedisCluster|Relay\Relay|Predis\ClientInterface|string|null $redis a client object,
         *     a DSN (`redis://`, `rediss://`, `redis+unix://`, `redis-cluster://`, `redis-sentinel://`),
         *     `memory://`, or null for the setting `rate_limit.store`
         * @param int<0, 2147483647> $limit units in any window; 0 denies everything
         * @param int<1, 31536000> $windowSeconds
         * @param OnFailure|null $onFailure when the store cannot answer; null: the setting
         *     `rate_limit.on_failure`
         *     `rate_limit.dry_run`
         *
         * @throws ValueError for a limit or a window outside its range
         * @throws RateLimit\ConfigException for a store that cannot be used
         */
        public function __construct(
            #[SensitiveParameter] Redis|RedisCluster|Relay\Relay|Predis\ClientInterface|string|null $redis,
            int $limit,
            int $windowSeconds,
            ?OnFailure $onFailure = null,
        ) {
        }

        /**
         * Takes one unit, if it is left.
         *
         * @return array{allowed: bool, remaining: int<0, max>}
         *
         * @throws RateLimit\StoreException when the store cannot answer and the policy is `throw`
         */
        public function check(string $identity): array
        {
        }

        /**
         * Takes `$cost` units, or none.
         *
         * @param int<1, 1000> $cost
         *
         * @throws ValueError for a cost outside its range
         * @throws RateLimit\StoreException when the store cannot answer and the policy is `throw`
         */
        public function attempt(string $identity, int $cost = 1): Verdict
        {
        }

        /**
         * Decides as `attempt()` would, and takes nothing.
         *
         * @param int<1, 1000> $cost
         *
         * @throws ValueError for a cost outside its range
         * @throws RateLimit\StoreException when the store cannot answer and the policy is `throw`
         */
        public function peek(string $identity, int $cost = 1): Verdict
        {
        }

        /**
         * Forgets what this identity has used.
         *
         * @throws RateLimit\StoreException when the store cannot answer, whatever the policy
         */
        public function reset(string $identity): void
        {
        }
    }

    /** A sliding window of two numbers an identity: an estimate, at the same cost for any limit. */
    final class SlidingWindowCounter implements Limiter
    {
        /**
         * @param Redis|RedisCluster|Relay\Relay|Predis\ClientInterface|string|null $redis a client object,
         *     a DSN (`redis://`, `rediss://`, `redis+unix://`, `redis-cluster://`, `redis-sentinel://`),
         *     `memory://`, or null for the setting `rate_limit.store`
         * @param int<0, 2147483647> $limit units in any window; 0 denies everything
         * @param int<1, 31536000> $windowSeconds
         * @param OnFailure|null $onFailure when the store cannot answer; null: the setting
         *     `rate_limit.on_failure`
         *     `rate_limit.dry_run`
         *
         * @throws ValueError for a limit or a window outside its range
         * @throws RateLimit\ConfigException for a store that cannot be used
         */
        public function __construct(
            #[SensitiveParameter] Redis|RedisCluster|Relay\Relay|Predis\ClientInterface|string|null $redis,
            int $limit,
            int $windowSeconds,
            ?OnFailure $onFailure = null,
        ) {
        }

        /**
         * Takes one unit, if it is left.
         *
         * @return array{allowed: bool, remaining: int<0, max>}
         *
         * @throws RateLimit\StoreException when the store cannot answer and the policy is `throw`
         */
        public function check(string $identity): array
        {
        }

        /**
         * Takes `$cost` units, or none.
         *
         * @param positive-int $cost
         *
         * @throws ValueError for a cost below 1
         * @throws RateLimit\StoreException when the store cannot answer and the policy is `throw`
         */
        public function attempt(string $identity, int $cost = 1): Verdict
        {
        }

        /**
         * Decides as `attempt()` would, and takes nothing.
         *
         * @param positive-int $cost
         *
         * @throws ValueError for a cost below 1
         * @throws RateLimit\StoreException when the store cannot answer and the policy is `throw`
         */
        public function peek(string $identity, int $cost = 1): Verdict
        {
        }

        /**
         * Forgets what this identity has used.
         *
         * @throws RateLimit\StoreException when the store cannot answer, whatever the policy
         */
        public function reset(string $identity): void
        {
        }
    }

    /**
     * Who a client is, without saying it: a keyed hash of the address and the UTC day, a colon, and
     * `$endpoint`. The key is a random one of that day with `rate_limit.salt = "managed"`, else
     * `RL_DAILY_SALT` in the environment, else the file in `rate_limit.salt_file`.
     *
     * Tomorrow's string is another one, and the limiters know in the same request that it is the same
     * client. So hand it on as it is; a string that is made of it is a client of its own.
     *
     * @param string $ip any spelling of an address; what is none is used as it is
     * @param string $endpoint the route's name, never the path that was asked for
     *
     * @return non-falsy-string
     *
     * @throws RateLimit\ConfigException where `rate_limit.salt_file` cannot be read, or a managed key
     *     has no place
     * @throws RateLimit\StoreException where the store does not give the day's key, this host has no
     *     copy, and `rate_limit.on_failure` is `throw`
     */
    function rate_limit_identity(string $ip, string $endpoint): string
    {
    }

    /**
     * The same under the name that the userland function had.
     *
     * @return non-falsy-string
     *
     * @throws RateLimit\ConfigException where `rate_limit.salt_file` cannot be read, or a managed key
     *     has no place
     * @throws RateLimit\StoreException where the store does not give the day's key, this host has no
     *     copy, and `rate_limit.on_failure` is `throw`
     */
    function rateLimitIdentity(string $ip, string $endpoint): string
    {
    }

    /**
     * From now on this limiter decides and records as ever, and lets everything pass; its verdicts say `wouldDeny`.
     * `rate_limit.dry_run` does the same for all.
     */
    function rate_limit_dry_run(SlidingWindowLog|SlidingWindowCounter $limiter): void
    {
    }

    /**
     * What is in force, in use and happening, for an operator. Times are in seconds, instants since the
     * Unix epoch, sizes in bytes. Counts begin at `since`. Decisions, policies, servers and busy
     * identities are those of this namespace; decisions are the answers of check() and attempt(), and
     * policies the verdicts that headers() was called on with a name. `busy` is an estimate of the last
     * minute from one call in 16; `rate-limit reset` knows an identity by the same key.
     *
     * @phpstan-type Outcomes array{allowed: int, denied: int, would_deny: int}
     * @phpstan-type BySource array{
     *     redis: Outcomes, memory: Outcomes, deny-cache: Outcomes, fail-open: Outcomes,
     *     fail-closed: Outcomes, disabled: Outcomes,
     * }
     *
     * @return array{
     *     version: string,
     *     store: string,
     *     memory: array{mapped: false, error: string}|array{
     *         mapped: true,
     *         shared: bool,
     *         size: int,
     *         used: int,
     *         counters: array{used: int, of: int},
     *         logs: array{used: int, of: int},
     *         log_lines: array{used: int, of: int},
     *         evicted_expired: int,
     *         evicted_live: int,
     *     },
     *     since: float|null,
     *     decisions: array{log: BySource, counter: BySource},
     *     policies: array<string, Outcomes>,
     *     servers: array<string, array{
     *         state: 'up'|'failing'|'left-alone',
     *         deadline: string,
     *         failures_in_a_row: int,
     *         next_try: float|null,
     *         failures: int,
     *         outages: int,
     *         last_error: string|null,
     *         last_error_at: float|null,
     *         answers: int,
     *         p50: float|null,
     *         p99: float|null,
     *         clock: array{source: string, ahead: float|null},
     *     }>,
     *     busy: array<string, array{limit: int, window: int, calls: int, denied: int}>,
     *     settings: array{
     *         on_failure: 'throw'|'open'|'closed'|'memory',
     *         timeout: float,
     *         breaker: int,
     *         retry_interval: float,
     *         memory_size: int,
     *         memory_file: string,
     *         namespace: string,
     *         salt: ''|'managed',
     *         salt_file: string,
     *         ipv6_prefix: int<1, 128>,
     *         deny_cache: bool,
     *         log_layout: 'sorted-set'|'list',
     *         clock: 'server'|'host',
     *         enabled: bool,
     *         dry_run: bool,
     *     },
     * }
     */
    function rate_limit_status(): array
    {
    }

    /**
     * The same for Prometheus, in its text format 0.0.4
     * (`Content-Type: text/plain; version=0.0.4; charset=utf-8`), without `busy`.
     *
     * @return non-empty-string
     */
    function rate_limit_metrics(): string
    {
    }
}

namespace RateLimit {
    /** What both limiters have, for type declarations and test doubles. */
    interface Limiter
    {
        /** @return array{allowed: bool, remaining: int<0, max>} */
        public function check(string $identity): array;

        /** @param positive-int $cost */
        public function attempt(string $identity, int $cost = 1): Verdict;

        /** @param positive-int $cost */
        public function peek(string $identity, int $cost = 1): Verdict;

        public function reset(string $identity): void;
    }

    /** The answer to one call. */
    final class Verdict
    {
        public readonly bool $allowed;
        /** @var int<0, max> */
        public readonly int $limit;
        /** @var int<0, max> units left after this call */
        public readonly int $remaining;
        /**
         * Seconds until this cost could be admitted; 0.0 when allowed; null: never (the cost is above the limit).
         * A cost above the limit is denied under every policy: with the store down also under `throw` and `open`,
         * by `Source::FailClosed`.
         */
        public readonly ?float $retryAfter;
        /** Seconds until `remaining` would grow if nobody else is admitted; 0.0 when nothing is used. */
        public readonly float $replenishAfter;
        /** Seconds until nothing would be used any more. */
        public readonly float $resetAfter;
        /** Who decided. */
        public readonly Source $source;
        /** Whether this was a denial that a dry run lets pass. */
        public readonly bool $wouldDeny;
        /** @var positive-int */
        private readonly int $windowSeconds;
        private readonly bool $counted;

        private function __construct()
        {
        }

        /**
         * The fields of draft-ietf-httpapi-ratelimit-headers-10 and their older cousins. Spans are whole
         * seconds, rounded up; `Retry-After` is at least 1, and missing where the call was allowed or can
         * never pass.
         *
         * @param string $policy the policy's name: printable ASCII. The verdict is counted under it in
         *     `rate_limit_status()` and the metrics, once
         *
         * @return array{
         *     'X-RateLimit-Limit': numeric-string,
         *     'X-RateLimit-Remaining': numeric-string,
         *     'RateLimit-Policy': non-empty-string,
         *     'RateLimit': non-empty-string,
         *     'Retry-After'?: numeric-string,
         * }
         *
         * @throws \ValueError for a name that is not printable ASCII
         */
        public function headers(string $policy = "default"): array
        {
        }
    }

    /** What happens when the store cannot answer. */
    enum OnFailure: string
    {
        /** A `StoreException`. */
        case Throw = 'throw';
        /** Everything is allowed. */
        case Open = 'open';
        /** Everything is denied. */
        case Closed = 'closed';
        /** The same limit, decided in this host's shared memory. */
        case Memory = 'memory';
    }

    /** Who decided. */
    enum Source: string
    {
        case Redis = 'redis';
        case Memory = 'memory';
        /** A denial that this host remembers. */
        case DenyCache = 'deny-cache';
        /** The store could not answer, and the policy is `open`. */
        case FailOpen = 'fail-open';
        /** The store could not answer, and the policy is `closed`. */
        case FailClosed = 'fail-closed';
        /** Nobody: `rate_limit.enabled` is 0. */
        case Disabled = 'disabled';
    }

    /** Every exception of the extension. */
    interface Exception extends \Throwable
    {
    }

    /** The store cannot answer. Extends `\RedisException` where ext-redis was loaded before this extension. */
    class StoreException extends \RuntimeException implements Exception
    {
    }

    /** A setting, a DSN or a client object cannot be used. */
    class ConfigException extends \InvalidArgumentException implements Exception
    {
    }
}
