<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

/** A server process of a test's own, ready when the constructor returns, ended with the object. */
final class Server
{
    /** @var ?resource null: ended */
    private $process;

    /**
     * @param list<string> $command
     * @param \Closure(): bool $ready kept for a restart, so a static one: else who holds this never ends
     * @param array<string, string> $environment beside that of the tests
     */
    public function __construct(
        private readonly array $command,
        private readonly \Closure $ready,
        private readonly array $environment = [],
    ) {
        $this->start();
    }

    public function __destruct()
    {
        $this->end();
    }

    public function pid(): int
    {
        return proc_get_status($this->process)['pid'];
    }

    public function signal(int $signal): void
    {
        proc_terminate($this->process, $signal);
    }

    /** Ends it, if it has not; its exit status. */
    public function end(): int
    {
        if ($this->process === null) {
            return 0;
        }
        $this->signal(SIGTERM);
        $status = proc_close($this->process);
        $this->process = null;
        return $status;
    }

    public function restart(): void
    {
        $this->end();
        $this->start();
    }

    /** Sends a signal upon which it replaces its children, and waits until all are new ones. */
    public function replaceWorkers(int $signal): void
    {
        $old = $this->workers();
        $this->signal($signal);
        self::wait(fn (): bool => $this->workers() !== [] && array_intersect($old, $this->workers()) === []);
    }

    /** @return list<string> the ids of its children */
    public function workers(): array
    {
        $pid = $this->pid();
        return preg_split('~ ~', file_get_contents("/proc/$pid/task/$pid/children"), flags: PREG_SPLIT_NO_EMPTY);
    }

    /** Asks `$done` until it says yes, for at most ten seconds. @param \Closure(): bool $done */
    public static function wait(\Closure $done): void
    {
        $deadline = hrtime(true) + 10_000_000_000;
        while (!$done()) {
            if (hrtime(true) > $deadline) {
                throw new \RuntimeException('waited for ten seconds in vain');
            }
            usleep(10_000);
        }
    }

    private function start(): void
    {
        $output = tmpfile();
        $this->process = proc_open($this->command, [1 => $output, 2 => $output], $pipes, null, $this->environment + getenv());
        try {
            self::wait(fn (): bool => ($this->ready)() || !proc_get_status($this->process)['running']);
            if (!proc_get_status($this->process)['running']) {
                throw new \RuntimeException('it ended');
            }
        } catch (\RuntimeException $e) {
            rewind($output);
            throw new \RuntimeException("{$this->command[0]} did not start: " . stream_get_contents($output), previous: $e);
        }
    }

    /**
     * A Redis server on a unix socket in `$folder`, open to every user of this machine.
     *
     * @param list<string> $options
     */
    public static function redis(string $folder, array $options = [], ?string $program = null): self
    {
        $socket = "$folder/redis.sock";
        $program ??= getenv('RATE_LIMIT_TEST_SERVER') ?: 'redis-server';
        return new self(
            [$program, '--port', '0', '--unixsocket', $socket, '--unixsocketperm', '777', '--save', '', '--dir', $folder, ...$options],
            fn (): bool => (bool) @stream_socket_client("unix://$socket"),
        );
    }

    /** A new folder that workers of other users can enter. */
    public static function folder(): string
    {
        $folder = sys_get_temp_dir() . '/rate_limit-' . bin2hex(random_bytes(6));
        mkdir($folder, 0711);
        return $folder;
    }

    /** One with copies of the scripts in www/ and of the demo's. */
    public static function folderOfScripts(): string
    {
        $folder = self::folder();
        foreach ([...glob(__DIR__ . '/www/*.php'), ...glob(dirname(__DIR__, 3) . '/php/demo/*.php')] as $script) {
            copy($script, "$folder/" . basename($script));
        }
        return $folder;
    }

    public static function remove(string $folder): void
    {
        foreach (new \FilesystemIterator($folder) as $file) {
            $file->isDir() && !$file->isLink() ? self::remove($file->getPathname()) : unlink($file->getPathname());
        }
        rmdir($folder);
    }
}
