<?php

declare(strict_types=1);

namespace RateLimit\Tests\Extension;

use RateLimit\Tests\Http\Server;

/** A redis-server of a test's own, on a unix socket and a TCP port, ended with the object. */
final class RedisServer
{
    public readonly string $socket;
    public readonly int $port;
    public readonly string $folder;
    private ?Server $server;

    /** @param list<string> $options */
    public function __construct(private readonly array $options = [])
    {
        $this->folder = Server::folder();
        $this->socket = "$this->folder/redis.sock";
        $this->port = self::freePort();
        $this->start();
    }

    public function signal(int $signal): void
    {
        $this->server->signal($signal);
    }

    /** Kills it and starts it again, with more options. */
    public function restart(string ...$options): void
    {
        $this->server->end(SIGKILL);
        $this->start(...$options);
    }

    private function start(string ...$options): void
    {
        $this->server = Server::redis($this->folder, ['--port', (string) $this->port, ...$this->options, ...$options]);
    }

    /** Opens a port under TLS, with a certificate that nobody has signed. */
    public function tlsPort(): int
    {
        $key = openssl_pkey_new();
        $request = openssl_csr_new(['commonName' => '127.0.0.1'], $key);
        openssl_x509_export_to_file(openssl_csr_sign($request, null, $key, 1), "$this->folder/cert.pem");
        openssl_pkey_export_to_file($key, "$this->folder/key.pem");
        $port = self::freePort();
        $this->client()->rawCommand(
            'CONFIG', 'SET', 'tls-cert-file', "$this->folder/cert.pem", 'tls-key-file', "$this->folder/key.pem",
            'tls-ca-cert-file', "$this->folder/cert.pem", 'tls-auth-clients', 'no', 'tls-port', (string) $port,
        );
        return $port;
    }

    private static function freePort(): int
    {
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        return (int) substr(strrchr(stream_socket_get_name($listener, false), ':'), 1);
    }

    /**
     * A Cluster of two masters.
     *
     * @return array{self, self}
     */
    public static function cluster(): array
    {
        $nodes = $bus = [];
        foreach (['0 8191', '8192 16383'] as $slots) {
            $bus[] = $port = (string) self::freePort();
            $nodes[] = $node = new self(['--cluster-enabled', 'yes', '--cluster-port', $port]);
            $node->client()->rawCommand('CLUSTER', 'ADDSLOTSRANGE', ...explode(' ', $slots));
        }
        $nodes[0]->client()->rawCommand('CLUSTER', 'MEET', '127.0.0.1', (string) $nodes[1]->port, $bus[1]);
        foreach ($nodes as $node) {
            while (!str_contains($node->client()->rawCommand('CLUSTER', 'INFO'), 'cluster_state:ok')) {
                usleep(50_000);
            }
        }
        return $nodes;
    }

    public function __destruct()
    {
        $this->server = null;
        Server::remove($this->folder);
    }

    /** A new phpredis connection over the unix socket. */
    public function client(): \Redis
    {
        return $this->connect(new \Redis());
    }

    /**
     * @template T of \Redis
     * @param T $client
     * @return T
     */
    public function connect(\Redis $client): \Redis
    {
        $client->connect($this->socket);
        return $client;
    }

    public function dsn(string $query = ''): string
    {
        return "redis+unix://$this->socket" . ($query === '' ? '' : "?$query");
    }
}
