<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

/** Equal requests over connections of their own. */
final class Requests
{
    /**
     * `$times` GETs, `$atOnce` at once.
     *
     * @param string $url `http://127.0.0.1:` and a port
     * @param string $from the client's address
     * @return list<Response>
     */
    public static function get(string $url, string $target, int $times = 1, int $atOnce = 1, string $from = '127.0.0.1'): array
    {
        $request = "GET $target HTTP/1.0\r\nHost: example.org\r\n\r\n";
        return self::send('tcp' . substr($url, 4), $request, $times, $atOnce, ['bindto' => "$from:0"]);
    }

    /**
     * Sends `$request`, as it goes over the wire, `$times` times, `$atOnce` at once.
     *
     * @param string $address as stream_socket_client() takes it
     * @param array<string, string> $socket options of its context
     * @return list<Response>
     */
    public static function send(string $address, string $request, int $times = 1, int $atOnce = 1, array $socket = []): array
    {
        $context = stream_context_create(['socket' => $socket]);
        $responses = [];
        while (($left = $times - count($responses)) > 0) {
            $sockets = [];
            for ($i = 0; $i < min($left, $atOnce); $i++) {
                $sockets[] = $opened = stream_socket_client($address, timeout: 5, context: $context);
                fwrite($opened, $request);
            }
            foreach ($sockets as $opened) {
                $responses[] = Response::parse(stream_get_contents($opened));
            }
        }
        return $responses;
    }

    public static function freePort(): int
    {
        $address = stream_socket_get_name(stream_socket_server('tcp://127.0.0.1:0'), false);
        return (int) substr(strrchr($address, ':'), 1);
    }
}
