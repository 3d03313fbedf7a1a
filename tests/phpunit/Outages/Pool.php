<?php

declare(strict_types=1);

namespace RateLimit\Tests\Outages;

use RateLimit\Tests\Library\FpmPool;

/** A php-fpm pool whose workers make attempts on a store. */
final readonly class Pool
{
    private FpmPool $pool;
    private string $script;

    /** @param array<string, string> $ini */
    public function __construct(private string $store, int $workers, array $ini = [])
    {
        $this->script = file_get_contents(__DIR__ . '/attempt.php');
        $this->pool = new FpmPool(['attempt.php' => $this->script], ["pm.max_children = $workers", 'catch_workers_output = no'], $ini);
    }

    /**
     * @param array<string, string> $query see attempt.php
     * @return array{}|array{source: ?string, allowed: ?bool, remaining: ?int, seconds: float, ended: float, worker: int}
     *     empty where the worker died
     */
    public function attempt(array $query = []): array
    {
        $response = $this->pool->get('/attempt.php', ['QUERY_STRING' => http_build_query(['store' => $this->store, ...$query])]);
        return $response->body === '' ? [] : json_decode($response->body, true, flags: JSON_THROW_ON_ERROR);
    }

    /** The worker that began the latest attempt. */
    public function latestWorker(): int
    {
        return (int) file_get_contents("{$this->pool->folder}/pid");
    }

    public function log(): string
    {
        return $this->pool->log();
    }

    /** Bytes that no other process shares, as the heap of a worker is. */
    public static function privateMemory(int $process): int
    {
        preg_match('~^Private_Dirty: +(\d+) kB~m', file_get_contents("/proc/$process/smaps_rollup"), $match);
        return (int) $match[1] * 1024;
    }
}
