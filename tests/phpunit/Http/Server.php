<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

/** A server process of a test's own, ready when the constructor returns, ended with the object. */
final class Server
{
    /** @var resource */
    private $process;

    /**
     * @param list<string> $command
     * @param \Closure(): bool $ready
     */
    public function __construct(array $command, \Closure $ready)
    {
        $output = tmpfile();
        $this->process = proc_open($command, [1 => $output, 2 => $output], $pipes);
        $deadline = hrtime(true) + 10_000_000_000;
        while (!$ready()) {
            if (!proc_get_status($this->process)['running'] || hrtime(true) > $deadline) {
                rewind($output);
                throw new \RuntimeException("$command[0] did not start: " . stream_get_contents($output));
            }
            usleep(10_000);
        }
    }

    public function __destruct()
    {
        proc_terminate($this->process);
        proc_close($this->process);
    }

    /**
     * A Redis server on a unix socket in `$folder`, open to every user of this machine.
     *
     * @param list<string> $options
     */
    public static function redis(string $folder, array $options = []): self
    {
        $socket = "$folder/redis.sock";
        return new self(
            ['redis-server', '--port', '0', '--unixsocket', $socket, '--unixsocketperm', '777', '--save', '', '--dir', $folder, ...$options],
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

    public static function remove(string $folder): void
    {
        foreach (new \FilesystemIterator($folder) as $file) {
            $file->isDir() && !$file->isLink() ? self::remove($file->getPathname()) : unlink($file->getPathname());
        }
        rmdir($folder);
    }
}
