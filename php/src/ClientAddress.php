<?php

declare(strict_types=1);

namespace RateLimit;

/**
 * Who sent a request.
 *
 * By default the peer of the connection. Behind a proxy every peer is the proxy, so one header may name the client,
 * and is believed from configured peers only: anybody can send a header. Where the header is missing, unreadable or
 * has several values, the peer is the client; a request can lose its own budget that way and never win another's.
 *
 * LiteSpeed may have put the client into REMOTE_ADDR itself; then the peer stands in PROXY_REMOTE_ADDR, which no
 * client can set, and REMOTE_ADDR is taken as it is.
 */
final readonly class ClientAddress
{
    /** The entry in the trusted networks that means: a peer without an address, on a unix socket. */
    public const string UNIX_SOCKET = 'unix:';

    private Networks $trusted;

    private bool $trustsUnixSocket;

    private string $key;

    private bool $isList;

    /**
     * @param string $header its name, such as CF-Connecting-IP; X-Forwarded-For is read as the list that it is
     * @param list<string> $trusted the peers that it is believed from: networks, and UNIX_SOCKET
     * @throws InvalidRules
     */
    public function __construct(string $header, array $trusted)
    {
        $this->key = 'HTTP_' . strtoupper(strtr($header, '-', '_'));
        if (preg_match('/^HTTP_[A-Z0-9_]+$/D', $this->key) !== 1 || $this->key === 'HTTP_FORWARDED') {
            throw new InvalidRules('header is ' . Section::show($header)
                . ': must be a header with one address, or X-Forwarded-For (Forwarded is not supported)');
        }
        if ($trusted === []) {
            throw new InvalidRules('trusted is empty: must name the networks of the proxies that set the header');
        }
        $this->isList = $this->key === 'HTTP_X_FORWARDED_FOR';
        $this->trustsUnixSocket = in_array(self::UNIX_SOCKET, $trusted, true);
        $this->trusted = new Networks(array_values(array_diff($trusted, [self::UNIX_SOCKET])));
    }

    /**
     * @param array<string, mixed> $server as $_SERVER
     * @return ?string an address; null where neither the header nor the peer gives one (a unix socket)
     */
    public function resolve(array $server): ?string
    {
        $peer = self::peer($server);
        $header = $server[$this->key] ?? null;
        if (isset($server['PROXY_REMOTE_ADDR']) || !is_string($header) || !$this->trusts($peer)) {
            return $peer;
        }
        return ($this->isList ? $this->last($header) : self::read($header)) ?? $peer;
    }

    /**
     * @param array<string, mixed> $server as $_SERVER
     * @return ?string the address at the other end of the connection; null where it has none
     */
    public static function peer(array $server): ?string
    {
        return self::read((string) ($server['REMOTE_ADDR'] ?? ''));
    }

    /** Whether a peer with this address (null: none, a unix socket) is believed. */
    public function trusts(?string $address): bool
    {
        return $address === null ? $this->trustsUnixSocket : $this->trusted->contains($address);
    }

    /**
     * Each proxy appends the peer that it saw, so the list is true from the right up to the first address that is not
     * one of ours; what stands further left is what that one claims.
     */
    private function last(string $list): ?string
    {
        $address = null;
        foreach (array_reverse(explode(',', $list)) as $value) {
            $address = self::read($value);
            if ($address === null || !$this->trusted->contains($address)) {
                break;
            }
        }
        return $address;
    }

    /** An address as proxies write it: spaces around, a port, brackets, a zone; null where it is not one. */
    private static function read(string $value): ?string
    {
        $value = trim($value, " \t");
        if (preg_match('/^\[([^\]]*)\](?::\d+)?$/D', $value, $match) === 1) {
            $value = $match[1];
        } elseif (preg_match('/^([\d.]+):\d+$/D', $value, $match) === 1) {
            $value = $match[1];
        }
        if (str_contains($value, ':')) {
            $value = preg_replace('/%[^%]+$/D', '', $value);
        }
        return Networks::pack($value) === null ? null : $value;
    }
}
