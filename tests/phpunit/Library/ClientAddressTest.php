<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\ClientAddress;
use RateLimit\InvalidRules;
use RateLimit\Networks;

final class ClientAddressTest extends TestCase
{
    private const array PROXIES = ['10.0.0.0/8', '2001:db8:ff::/48'];

    #[DataProvider('headers')]
    public function test_one_header_from_a_trusted_peer_names_the_client(
        string $expected,
        string $header,
        string $value,
        string $peer = '10.0.0.1',
    ): void {
        $resolver = new ClientAddress($header, self::PROXIES);
        $server = ['REMOTE_ADDR' => $peer, 'HTTP_' . strtoupper(strtr($header, '-', '_')) => $value];
        self::assertSame($expected, $resolver->resolve($server));
    }

    public static function headers(): iterable
    {
        yield 'an address' => ['192.0.2.7', 'CF-Connecting-IP', '192.0.2.7'];
        yield 'IPv6' => ['2001:db8::7', 'CF-Connecting-IP', '2001:db8::7'];
        yield 'spaces' => ['192.0.2.7', 'CF-Connecting-IP', " 192.0.2.7\t"];
        yield 'a port' => ['192.0.2.7', 'X-Real-IP', '192.0.2.7:4711'];
        yield 'brackets' => ['2001:db8::7', 'X-Real-IP', '[2001:db8::7]'];
        yield 'brackets and a port' => ['2001:db8::7', 'X-Real-IP', '[2001:db8::7]:4711'];
        yield 'a zone' => ['fe80::7', 'X-Real-IP', 'fe80::7%eth0'];
        yield 'IPv6 peer' => ['192.0.2.7', 'X-Real-IP', '192.0.2.7', '2001:db8:ff::1'];
        yield 'IPv4-mapped peer' => ['192.0.2.7', 'X-Real-IP', '192.0.2.7', '::ffff:10.0.0.1'];

        yield 'a peer that is not trusted' => ['192.0.2.9', 'CF-Connecting-IP', '192.0.2.7', '192.0.2.9'];
        yield 'several values' => ['10.0.0.1', 'CF-Connecting-IP', '192.0.2.7, 192.0.2.8'];
        yield 'empty' => ['10.0.0.1', 'CF-Connecting-IP', ''];
        yield 'garbage' => ['10.0.0.1', 'CF-Connecting-IP', 'unknown'];
        yield 'a number' => ['10.0.0.1', 'CF-Connecting-IP', '3221225991'];
        yield 'octal' => ['10.0.0.1', 'CF-Connecting-IP', '192.0.02.7'];
        yield 'NUL' => ['10.0.0.1', 'CF-Connecting-IP', "192.0.2.7\0"];
        yield 'a newline' => ['10.0.0.1', 'CF-Connecting-IP', "192.0.2.7\n"];
        yield 'brackets around IPv4 with text' => ['10.0.0.1', 'CF-Connecting-IP', '[192.0.2.7]x'];

        yield 'list of one' => ['192.0.2.7', 'X-Forwarded-For', '192.0.2.7'];
        yield 'proxies on the right are skipped' => ['192.0.2.7', 'X-Forwarded-For', '192.0.2.7, 10.0.0.2, 2001:db8:ff::2'];
        yield 'what the client wrote on the left is not read' => ['192.0.2.7', 'X-Forwarded-For', '198.51.100.1, 192.0.2.7'];
        yield 'garbage on the left is not read' => ['192.0.2.7', 'X-Forwarded-For', '<script>, 192.0.2.7, 10.0.0.2'];
        yield 'ports in a list' => ['192.0.2.7', 'X-Forwarded-For', '192.0.2.7:80,[2001:db8:ff::2]:443'];
        yield 'proxies alone' => ['10.0.0.3', 'X-Forwarded-For', '10.0.0.3, 10.0.0.2'];
        yield 'garbage behind the proxies' => ['10.0.0.1', 'X-Forwarded-For', '192.0.2.7, unknown, 10.0.0.2'];
        yield 'a comma at the end' => ['10.0.0.1', 'X-Forwarded-For', '192.0.2.7,'];
        yield 'a list from nobody' => ['192.0.2.9', 'X-Forwarded-For', '192.0.2.7', '192.0.2.9'];
    }

    public function test_litespeed_has_found_the_client_itself(): void
    {
        $resolver = new ClientAddress('CF-Connecting-IP', self::PROXIES);
        $server = ['REMOTE_ADDR' => '10.9.9.9', 'HTTP_CF_CONNECTING_IP' => '192.0.2.7'];
        self::assertSame('10.9.9.9', $resolver->resolve($server + ['PROXY_REMOTE_ADDR' => '10.0.0.1']));
        self::assertSame('192.0.2.7', $resolver->resolve($server + ['HTTP_PROXY_REMOTE_ADDR' => '10.0.0.1']));
    }

    public function test_a_peer_without_an_address_is_trusted_only_by_name(): void
    {
        $server = ['REMOTE_ADDR' => 'unix:', 'HTTP_X_REAL_IP' => '192.0.2.7'];
        self::assertNull(new ClientAddress('X-Real-IP', self::PROXIES)->resolve($server));
        self::assertSame('192.0.2.7', new ClientAddress('X-Real-IP', ['unix:'])->resolve($server));
        self::assertSame('192.0.2.7', new ClientAddress('X-Real-IP', ['unix:'])->resolve(['HTTP_X_REAL_IP' => '192.0.2.7']));
        self::assertNull(new ClientAddress('X-Real-IP', ['unix:'])->resolve([]));
    }

    #[DataProvider('badSettings')]
    public function test_bad_settings_name_the_value(string $message, string $header, array $trusted): void
    {
        $this->expectException(InvalidRules::class);
        $this->expectExceptionMessage($message);
        new ClientAddress($header, $trusted);
    }

    public static function badSettings(): iterable
    {
        yield ["header is 'Forwarded'", 'Forwarded', ['10.0.0.0/8']];
        yield ["header is 'X Real'", 'X Real', ['10.0.0.0/8']];
        yield ["header is ''", '', ['10.0.0.0/8']];
        yield ['trusted is empty', 'X-Real-IP', []];
        yield ["'10.0.0.0/33'", 'X-Real-IP', ['10.0.0.0/33']];
        yield ["'10.0.0.0/'", 'X-Real-IP', ['10.0.0.0/']];
        yield ["'10.0.0/8'", 'X-Real-IP', ['10.0.0/8']];
        yield ["'proxy.example'", 'X-Real-IP', ['proxy.example']];
    }

    #[DataProvider('memberships')]
    public function test_networks_contain_what_their_prefix_says(bool $expected, string $network, string $address): void
    {
        self::assertSame($expected, new Networks([$network])->contains($address));
    }

    public static function memberships(): iterable
    {
        yield [true, '192.0.2.0/24', '192.0.2.255'];
        yield [false, '192.0.2.0/24', '192.0.3.0'];
        yield [true, '192.0.2.128/25', '192.0.2.128'];
        yield [false, '192.0.2.128/25', '192.0.2.127'];
        yield [true, '192.0.2.77/24', '192.0.2.1'];
        yield [true, '192.0.2.1', '192.0.2.1'];
        yield [false, '192.0.2.1', '192.0.2.2'];
        yield [true, '0.0.0.0/0', '255.255.255.255'];
        yield [false, '0.0.0.0/0', '2001:db8::1'];
        yield [true, '2001:db8::/33', '2001:db8:7fff::1'];
        yield [false, '2001:db8::/33', '2001:db8:8000::1'];
        yield [true, '192.0.2.0/24', '::ffff:192.0.2.9'];
        yield [false, '192.0.2.0/24', 'not an address'];
    }
}
