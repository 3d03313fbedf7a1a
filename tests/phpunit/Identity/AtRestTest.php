<?php

declare(strict_types=1);

namespace RateLimit\Tests\Identity;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Extension\RedisServer;

/** Every byte that is left behind after traffic from known addresses. */
final class AtRestTest extends TestCase
{
    private const array ADDRESSES = ['203.0.113.77', '198.51.100.23', '2001:db8:77:1::2a', '::ffff:192.0.2.99'];
    private const string SALT = 'a salt of more than sixteen bytes';

    /** @return array<string, array{bool}> */
    public static function salts(): array
    {
        return ['static salt' => [false], 'managed salt' => [true]];
    }

    #[DataProvider('salts')]
    public function test_no_address_salt_or_key_is_found_where_it_does_not_belong(bool $managed): void
    {
        $server = new RedisServer();
        $settings = [
            'rate_limit.store' => $server->dsn(), 'rate_limit.timeout' => '5', 'rate_limit.memory_size' => '1M',
            'rate_limit.salt' => $managed ? 'managed' : '',
        ];
        $run = Script::run('at_rest.php', $settings, [$server->dsn('prefix=app:'), ...self::ADDRESSES], $managed ? null : self::SALT);
        $left = array_map(base64_decode(...), json_decode($run['output'], true)) + ['log' => $run['log']];
        self::assertStringContainsString('rlimit', $left['memory'], 'the region was read');
        self::assertGreaterThan(1 << 20, strlen($left['memory']), 'all of it was read');
        self::assertStringContainsString('nowhere', $left['log'], 'failures were logged');
        self::assertStringContainsString('evicted_live', $left['shown']);

        $redis = $server->client();
        $keys = [];
        foreach ($redis->keys('*') as $name) {
            $left["the key $name"] = "$name\n" . $redis->dump($name);
            if (str_contains($name, 'rl:salt:')) {
                $keys[$name] = $redis->get($name);
            }
        }
        $states = count(self::ADDRESSES) * 2 * 2; // addresses, classes, prefixes
        self::assertCount($states + count($keys), $redis->keys('*'));
        self::assertSame($managed, $keys !== []);

        foreach ($left as $place => $bytes) {
            foreach (self::needles() as $what => $needle) {
                self::assertFalse(stripos($bytes, $needle), "$what stands in $place");
            }
            foreach ($keys as $name => $key) {
                $its = $place === "the key $name";
                self::assertSame($its, str_contains($bytes, $key), "$name in $place");
                self::assertFalse(str_contains($bytes, strrev($key)) || stripos($bytes, bin2hex($key)) || str_contains($bytes, base64_encode($key)), "$name in $place");
                $its || self::assertFalse(str_contains($bytes, substr($key, 0, 8)) || str_contains($bytes, substr($key, -8)), "a part of $name in $place");
            }
        }
    }

    /** @return iterable<string, string> */
    private static function needles(): iterable
    {
        yield 'the salt' => self::SALT;
        yield 'the salt in hex' => bin2hex(self::SALT);
        foreach (self::ADDRESSES as $address) {
            $binary = inet_pton($address);
            yield "$address as text" => $address;
            yield "$address in hex" => bin2hex($binary);
            // Four bytes alone may stand anywhere by chance, once in thousands of runs.
            yield "$address in binary" => $binary;
            yield "$address in binary, low byte first" => strrev($binary);
        }
        yield 'the network as text' => '2001:db8:77:1::/64';
        yield 'the network in binary' => substr(inet_pton('2001:db8:77:1::'), 0, 8);
        yield 'the mapped address as text' => '192.0.2.99';
        yield 'the mapped address in binary' => inet_pton('192.0.2.99');
    }
}
