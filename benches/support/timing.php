<?php

declare(strict_types=1);

/*
 * How everything here is timed.
 *
 * Contenders take turns in one process, many short turns each, so that whatever else the machine does
 * hits all of them alike. A figure is the median over the rounds of the ratio within a round. Client
 * and server share one core (scripts/bench.sh pins them), which takes the waking of idle processors out
 * of the figures and leaves what a decision costs.
 *
 * Time is the processor's, of this process and of the Redis server together. On one core that nobody
 * else uses it is what a clock on the wall shows; on a busy machine it leaves out when others ran.
 */

namespace Bench;

/** Nanoseconds that one iteration took, in each round. */
final readonly class Times
{
    /** @param non-empty-list<float> $rounds */
    public function __construct(public array $rounds) {}

    public function median(): float
    {
        return median($this->rounds);
    }

    /** How many times as long as that of $other one iteration takes. */
    public function over(self $other): float
    {
        return median(array_map(fn(float $a, float $b) => $a / $b, $this->rounds, $other->rounds));
    }

    public function plus(self $other): self
    {
        return new self(array_map(fn(float $a, float $b) => $a + $b, $this->rounds, $other->rounds));
    }

    /** What is left when $other's share is taken away, round by round. */
    public function less(self $other): self
    {
        return new self(array_map(fn(float $a, float $b) => $a - $b, $this->rounds, $other->rounds));
    }
}

/**
 * Runs contenders in turns. Each is given a number of iterations, all the same one or each its own, and
 * runs its own loop of so many. An empty loop, `for ($i = 0; $i < $n; ++$i) {}`, runs right after it and
 * is subtracted together with the cost of looking at the clock: what remains is the loop's statement.
 *
 * @param array<string, \Closure(int): void> $contenders
 * @param int|array<string, int> $iterations
 * @return array<string, Times>
 */
function race(array $contenders, int|array $iterations, int $rounds = 31): array
{
    $empty = function (int $n): void {
        for ($i = 0; $i < $n; ++$i) {
        }
    };
    $of = fn(string $name): int => is_int($iterations) ? $iterations : $iterations[$name];
    foreach ($contenders as $name => $run) {
        $run(max(1, intdiv($of($name), 10))); // connections, caches and scripts are warm
    }
    $taken = [];
    for ($round = 0; $round < $rounds; ++$round) {
        foreach ($contenders as $name => $run) {
            $taken[$name][] = (elapsed($run, $of($name)) - elapsed($empty, $of($name))) / $of($name);
        }
    }
    return array_map(fn(array $rounds) => new Times($rounds), $taken);
}

/** Nanoseconds of one turn. */
function elapsed(\Closure $run, int $iterations): float
{
    $before = spent();
    $run($iterations);
    return spent() - $before;
}

/** Nanoseconds of processor time so far, of this process, the children it waited for, and the server. */
function spent(): float
{
    [$server] = explode(' ', file_get_contents('/proc/' . setting('BENCH_REDIS_PID') . '/schedstat'));
    $ns = (float) $server;
    foreach ([0, 1] as $whose) {
        $usage = getrusage($whose);
        foreach (['ru_utime', 'ru_stime'] as $field) {
            $ns += 1e9 * $usage["$field.tv_sec"] + 1e3 * $usage["$field.tv_usec"];
        }
    }
    return $ns;
}

/** @param non-empty-list<float> $numbers */
function median(array $numbers): float
{
    sort($numbers);
    $middle = intdiv(count($numbers), 2);
    return count($numbers) % 2 === 1 ? $numbers[$middle] : ($numbers[$middle - 1] + $numbers[$middle]) / 2;
}
