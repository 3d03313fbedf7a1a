<?php

declare(strict_types=1);

namespace RateLimit\Tests\Extension;

use RateLimit\Tests\Http\Server;

/** A redis-server of a test's own, on a unix socket and a TCP port, ended with the object. */
final class RedisServer
{
    public readonly string $socket;
    public readonly int $port;
    private readonly string $folder;
    private ?Server $server;

    public function __construct()
    {
        $this->folder = Server::folder();
        $this->socket = "$this->folder/redis.sock";
        $this->server = Server::redis($this->folder);
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        $this->port = (int) substr(strrchr(stream_socket_get_name($listener, false), ':'), 1);
        fclose($listener);
        $this->client()->config('SET', 'port', (string) $this->port);
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
