<?php

declare(strict_types=1);

/* What bare_socket.c needs: an open socket, and the very bytes that the extension sends. */

namespace Bench;

/** A socket to the private server over which one command goes again and again. */
final readonly class BareSocket
{
    private function __construct(private \FFI $c, private int $fd, private bool $poll, private string $command) {}

    public static function to(string $transport, string $command): self
    {
        $c = \FFI::cdef(
            'int exchange(int, int, const char *, long, long);
             int socket(int, int, int); int connect(int, const char *, unsigned);
             int setsockopt(int, int, int, const int *, unsigned);',
            setting('BENCH_BARE_SOCKET'),
        );
        $unix = $transport === 'unix';
        $fd = $c->socket($unix ? 1 : 2, 1, 0); // AF_UNIX or AF_INET, SOCK_STREAM
        $address = $unix
            ? pack('va*x', 1, setting('BENCH_REDIS_SOCKET'))
            : pack('vnNx8', 2, (int) setting('BENCH_REDIS_PORT'), 0x7f000001);
        if ($c->connect($fd, $address, strlen($address)) !== 0) {
            throw new \RuntimeException("no connection over $transport");
        }
        if (!$unix) {
            $on = $c->new('int[1]');
            $on[0] = 1;
            $c->setsockopt($fd, 6, 1, $on, 4); // IPPROTO_TCP, TCP_NODELAY
        }
        return new self($c, $fd, $unix, $command);
    }

    public function repeat(int $times): void
    {
        if ($this->c->exchange($this->fd, (int) $this->poll, $this->command, strlen($this->command), $times) !== 1) {
            throw new \RuntimeException('the bare socket got no answer');
        }
    }
}

/**
 * The EVALSHA that a limiter sends for a check(), read by a server that refuses it.
 *
 * @param \Closure(string): \RateLimit\Limiter $make makes the limiter, given a DSN
 */
function sent_by(\Closure $make): string
{
    $path = setting('BENCH_SCRATCH') . '/recorder' . hrtime(true); // a new one each time, as it fails
    $server = stream_socket_server("unix://$path");
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $child = pcntl_fork();
    if ($child === 0) {
        $client = stream_socket_accept($server);
        while (($command = fread($client, 65536)) !== '' && $command !== false) {
            if (str_contains($command, 'EVALSHA')) {
                fwrite($theirs, $command);
                fwrite($client, "-ERR recorded\r\n");
                break;
            }
            $seconds = (string) time();
            $answer = "*2\r\n\$" . strlen($seconds) . "\r\n$seconds\r\n\$6\r\n000000\r\n";
            fwrite($client, str_contains($command, 'TIME') ? $answer : "+OK\r\n");
        }
        posix_kill(posix_getpid(), SIGKILL); // no shutdown of what the parent owns
    }
    fclose($theirs);
    try {
        $make("redis+unix://$path")->check(IDENTITY . '2');
    } catch (\RateLimit\StoreException) {
    }
    pcntl_waitpid($child, $status);
    return stream_get_contents($ours) ?: throw new \RuntimeException('no command was recorded');
}
