<?php

declare(strict_types=1);

namespace RateLimit\Tests\Outages;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Extension\Forks;
use RateLimit\Tests\Http\Server;

/**
 * Mixed traffic through php-fpm on a server that fails at random, for 20 seconds or RATE_LIMIT_SOAK_SECONDS.
 *
 * Each answer that the server gave is one that the model owes by the server's own command log. The reverse need not
 * be: a call whose answer never came may have counted or not. Answers in the last moments before the server was killed
 * are left out, since it took its last words of the log with it.
 */
#[Group('heavy')]
final class SoakTest extends TestCase
{
    private const int WORKERS = 8;
    private const float TIMEOUT = 0.1;
    private const float LAST_WORDS = 0.3;

    private string $folder;

    protected function setUp(): void
    {
        $this->folder = Server::folder();
    }

    protected function tearDown(): void
    {
        Server::remove($this->folder);
    }

    public function test_no_verdict_is_wrong_and_no_worker_dies_leaks_or_hangs(): void
    {
        $end = hrtime(true) / 1e9 + (float) (getenv('RATE_LIMIT_SOAK_SECONDS') ?: 20);
        $server = new UnreliableServer($this->folder, getenv('RATE_LIMIT_TEST_SERVER') ?: 'redis-server');
        $pool = new Pool("redis://127.0.0.1:$server->port", self::WORKERS, [
            'rate_limit.timeout' => (string) self::TIMEOUT, 'rate_limit.retry_interval' => '0.2', 'rate_limit.deny_cache' => '0',
        ]);
        $results = Forks::run(self::WORKERS / 2 + 1, fn (int $number): array => $number === 0
            ? $server->run($end)
            : $this->traffic($pool, $end, "$this->folder/traffic-$number"));
        foreach ($results as $result) {
            self::assertIsArray($result, (string) json_encode($result));
        }
        $lives = array_shift($results);
        $workers = [];
        foreach ($results as $seen) {
            foreach ($seen as $worker => $memory) {
                $workers[$worker] = [min($memory[0], $workers[$worker][0] ?? INF), max($memory[1], $workers[$worker][1] ?? 0)];
            }
        }

        self::assertLessThanOrEqual(self::WORKERS, count($workers), 'a worker died');
        foreach ($workers as [$first, $last]) {
            self::assertLessThan($first + 512 * 1024, $last, 'a worker leaks');
        }
        $compared = 0;
        foreach ($lives as ['log' => $log, 'from' => $from, 'to' => $to]) {
            $due = (new CommandLog())->answers(new \SplFileObject($log));
            foreach ($this->given($from, $to - self::LAST_WORDS) as $answer => $times) {
                self::assertGreaterThanOrEqual($times, $due[$answer] ?? 0, "$answer, in $log");
                $compared += $times;
            }
        }
        self::assertGreaterThan(100 * count($lives), $compared);
    }

    /**
     * Random calls until `$end`; writes the answers to `$file`.
     *
     * @return array<int, array{int, int}> a worker's memory after its first calls, and in the end
     */
    private function traffic(Pool $pool, float $end, string $file): array
    {
        $memory = $calls = [];
        $out = fopen($file, 'w');
        for ($i = 0; hrtime(true) / 1e9 < $end; $i++) {
            $query = [
                'class' => random_int(0, 1) === 0 ? 'SlidingWindowLog' : 'SlidingWindowCounter',
                'call' => ['attempt', 'attempt', 'attempt', 'attempt', 'peek', 'reset'][random_int(0, 49) === 0 ? 5 : random_int(0, 4)],
                'identity' => 'client' . random_int(1, 6), 'limit' => (string) random_int(10, 60), 'window' => '2',
                'cost' => (string) random_int(1, 3), 'policy' => ['open', 'closed', 'memory', 'throw'][random_int(0, 3)],
            ];
            $answer = $pool->attempt($query);
            if ($answer === [] || $answer['seconds'] > 10 * self::TIMEOUT) {
                throw new \RuntimeException('a worker died or hung: ' . json_encode([$query, $answer]));
            }
            if ($answer['source'] === 'redis') {
                fwrite($out, json_encode([$answer['ended'] - $answer['seconds'], $answer['ended'], CommandLog::key(
                    $query['class'], $query['call'], $query['identity'], (int) $query['cost'], (int) $query['limit'],
                    $answer['allowed'], $answer['remaining'],
                )]) . "\n");
            }
            $worker = $answer['worker'];
            $calls[$worker] = ($calls[$worker] ?? 0) + 1;
            if ($calls[$worker] === 20 || $calls[$worker] % 100 === 0) {
                $bytes = Pool::privateMemory($worker);
                $memory[$worker] = [$memory[$worker][0] ?? $bytes, $bytes];
            }
        }
        return $memory;
    }

    /** @return array<string, int> how often each answer was given, wholly within this time */
    private function given(float $from, float $to): array
    {
        $given = [];
        foreach (glob("$this->folder/traffic-*") as $file) {
            foreach (new \SplFileObject($file) as $line) {
                if ($line === '') {
                    continue;
                }
                [$began, $ended, $answer] = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
                if ($began > $from && $ended < $to) {
                    $given[$answer] = ($given[$answer] ?? 0) + 1;
                }
            }
        }
        return $given;
    }
}
