<?php

declare(strict_types=1);

namespace RateLimit\Tests\Outages;

/**
 * What a server was told, by its own MONITOR, replayed through a limiter too simple to be wrong: what each call must
 * have been answered. Begins with an empty server.
 */
final class CommandLog
{
    /** @var array<string, list<int>> times of units, by key */
    private array $logs = [];
    /** @var array<string, int> units, by key */
    private array $counters = [];
    /** @var array<string, true> scripts that the server knows, by digest */
    private array $loaded = [];
    /** @var array<string, string> name of a script, by digest */
    private readonly array $scripts;

    public function __construct()
    {
        $names = [];
        foreach (glob(dirname(__DIR__, 3) . '/src/store/redis/*.lua') as $file) {
            $names[sha1_file($file)] = basename($file, '.lua');
        }
        $this->scripts = $names;
    }

    /**
     * @param iterable<string> $lines as redis-cli prints them
     * @return array<string, int> how often each answer was due, by "class call identity cost limit allowed remaining"
     */
    public function answers(iterable $lines): array
    {
        $answers = [];
        foreach ($lines as $line) {
            if (preg_match('~^(\d+)\.(\d{6}) \[\d+ ([^\]]*)\] (.*)$~', $line, $match) !== 1 || $match[3] === 'lua') {
                continue;
            }
            preg_match_all('~"((?:[^"\\\\]|\\\\.)*)"~', $match[4], $words);
            $answer = $this->command((int) "$match[1]$match[2]", ...array_map(stripcslashes(...), $words[1]));
            if ($answer !== null) {
                $answers[$answer] = ($answers[$answer] ?? 0) + 1;
            }
        }
        return $answers;
    }

    private function command(int $time, string $command, string ...$words): ?string
    {
        switch (strtoupper("$command " . ($words[0] ?? ''))) {
            case 'SCRIPT LOAD':
                $this->loaded[sha1($words[1])] = true;
                return null;
            case 'SCRIPT FLUSH':
                $this->loaded = [];
                return null;
            case 'FLUSHALL ':
                $this->logs = $this->counters = [];
                return null;
        }
        if ($command === 'DEL') {
            $this->logs = array_diff_key($this->logs, array_flip($words));
            $this->counters = array_diff_key($this->counters, array_flip($words));
        }
        if ($command !== 'EVALSHA' || !isset($this->loaded[$words[0]])) {
            return null; // also one that was answered with NOSCRIPT
        }
        $keys = array_slice($words, 2, (int) $words[1]);
        $arguments = array_map(intval(...), array_slice($words, 2 + count($keys)));
        return match ($this->scripts[$words[0]]) {
            'counter' => $this->counter($keys, ...$arguments),
            'counter_add' => $this->addToCounter($keys, $arguments),
            'log_sorted_set' => $this->log($time, $keys[0], ...$arguments),
            'log_sorted_set_add' => $this->addToLog($keys[0], array_slice($arguments, 1)),
        };
    }

    private function log(int $time, string $key, int $now, int $horizon, int $limit, int $ttl, int $cost = 1, int $record = 1): string
    {
        $times = $this->logs[$key] ?? [];
        $used = count(array_filter($times, fn (int $t): bool => $t > $horizon));
        $allowed = $used + $cost <= $limit;
        if ($allowed && $record === 1) {
            if ($used < count($times)) {
                $bound = min($now, $time) - ($now - $horizon);
                $times = array_filter($times, fn (int $t): bool => $t > $bound);
            }
            $this->logs[$key] = [...$times, ...array_fill(0, $cost, $now)];
        }
        return self::answer('SlidingWindowLog', $record, substr($key, strlen('rl:log:')), $cost, $limit, $used, $allowed);
    }

    /** @param list<int> $pairs times and units */
    private function addToLog(string $key, array $pairs): null
    {
        foreach (array_chunk($pairs, 2) as [$time, $units]) {
            $this->logs[$key] = [...$this->logs[$key] ?? [], ...array_fill(0, $units, $time)];
        }
        return null;
    }

    /** @param list<string> $keys */
    private function counter(array $keys, int $window, int $limit, int $elapsed, int $cost = 1, int $record = 1): string
    {
        [$before, $here] = $keys;
        if (isset($keys[2], $this->counters[$keys[2]])) {
            [$before, $here, $elapsed] = [$here, $keys[2], 0];
        }
        $used = ($this->counters[$here] ?? 0) + intdiv(($this->counters[$before] ?? 0) * ($window - $elapsed), $window);
        $allowed = $used + $cost <= $limit;
        if ($allowed && $record === 1) {
            $this->counters[$here] = ($this->counters[$here] ?? 0) + $cost;
        }
        $identity = preg_replace('~^rl:cnt:(.*):\d+$~', '$1', $here);
        return self::answer('SlidingWindowCounter', $record, $identity, $cost, $limit, $used, $allowed);
    }

    /**
     * @param list<string> $keys
     * @param list<int> $pairs units and times to live
     */
    private function addToCounter(array $keys, array $pairs): null
    {
        foreach (array_chunk($pairs, 2) as $i => [$units, $lives]) {
            if ($units > 0 && $lives > 0) {
                $this->counters[$keys[$i]] = ($this->counters[$keys[$i]] ?? 0) + $units;
            }
        }
        return null;
    }

    private static function answer(string $class, int $record, string $identity, int $cost, int $limit, int $used, bool $allowed): string
    {
        $remaining = max(0, $limit - $used - ($allowed && $record === 1 ? $cost : 0));
        return self::key($class, $record === 1 ? 'attempt' : 'peek', $identity, $cost, $limit, $allowed, $remaining);
    }

    public static function key(string $class, string $call, string $identity, int $cost, int $limit, bool $allowed, int $remaining): string
    {
        return "$class $call $identity $cost $limit " . ($allowed ? 'allowed' : 'denied') . " $remaining";
    }
}
