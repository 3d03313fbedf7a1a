<?php

declare(strict_types=1);

namespace RateLimit\Tests\Outages;

use RateLimit\Tests\Http\Requests;
use RateLimit\Tests\Http\Server;

/**
 * A server that is stopped, paused, cut off, flushed and started again at random. Each of its lives begins empty, and
 * is logged whole: nobody reaches its port before the log has begun.
 */
final class UnreliableServer
{
    public readonly int $port;
    private ?Server $server = null;
    private ?Server $monitor = null;
    /** @var list<array{log: string, from: float, to: float}> when it lived, and what it was told; see hrtime() */
    private array $lives = [];

    /** @param string $folder for the logs and the server's socket */
    public function __construct(private readonly string $folder, private readonly string $program)
    {
        $this->port = Requests::freePort();
    }

    /** @return list<array{log: string, from: float, to: float}> */
    public function run(float $end): array
    {
        $this->start();
        while (hrtime(true) / 1e9 < $end) {
            usleep(random_int(300_000, 1_500_000));
            match (random_int(0, 6)) {
                0 => $this->stop(),
                1, 2 => $this->pause(),
                3 => $this->tell('FLUSHALL'),
                4 => $this->tell('SCRIPT', 'FLUSH'),
                5 => $this->tell('CLIENT', 'KILL', 'LADDR', "127.0.0.1:$this->port"),
                6 => usleep(2_000_000),
            };
        }
        usleep(1_000_000);
        $this->end();
        return $this->lives;
    }

    private function stop(): void
    {
        $this->end();
        usleep(random_int(0, 1_500_000));
        $this->start();
    }

    private function pause(): void
    {
        $this->server->signal(SIGSTOP);
        usleep(random_int(20_000, 1_500_000));
        $this->server->signal(SIGCONT);
    }

    private function start(): void
    {
        $log = "$this->folder/life-" . count($this->lives) . '.log';
        $socket = "$this->folder/redis.sock";
        @unlink($socket);
        $this->server = Server::redis($this->folder, ['--loglevel', 'warning'], $this->program);
        $this->monitor = new Server(
            ['sh', '-c', 'exec redis-cli -s "$0" monitor >"$1"', $socket, $log],
            static fn (): bool => is_file($log) && str_starts_with(file_get_contents($log), 'OK'),
        );
        $this->tell('CONFIG', 'SET', 'port', (string) $this->port);
        $this->lives[] = ['log' => $log, 'from' => hrtime(true) / 1e9, 'to' => INF];
    }

    private function end(): void
    {
        $this->lives[array_key_last($this->lives)]['to'] = hrtime(true) / 1e9;
        $this->server->end(SIGKILL);
        $this->monitor->end();
    }

    private function tell(string ...$command): void
    {
        $client = new \Redis();
        $client->connect("$this->folder/redis.sock");
        $client->rawCommand(...$command);
    }
}
