<?php

declare(strict_types=1);

namespace RateLimit;

/** A set of networks: addresses, or prefixes such as 192.0.2.0/24 and 2001:db8::/32. */
final readonly class Networks
{
    /** @var list<array{string, string}> mask and network, as packed addresses */
    private array $networks;

    /**
     * @param list<string> $networks
     * @throws InvalidRules where one of them is not a network
     */
    public function __construct(array $networks)
    {
        $this->networks = array_map(self::parse(...), $networks);
    }

    public function contains(string $address): bool
    {
        $packed = self::pack($address);
        return $packed !== null
            && array_any($this->networks, static fn (array $network) => strlen($network[0]) === strlen($packed)
                && ($packed & $network[0]) === $network[1]);
    }

    /** @return ?string 4 or 16 bytes, an IPv4-mapped IPv6 address as the 4 of its IPv4 address; null: not an address */
    public static function pack(string $address): ?string
    {
        if (filter_var($address, FILTER_VALIDATE_IP) === false) {
            return null;
        }
        $packed = inet_pton($address);
        return str_starts_with($packed, "\0\0\0\0\0\0\0\0\0\0\xff\xff") ? substr($packed, 12) : $packed;
    }

    /** @return array{string, string} */
    private static function parse(string $network): array
    {
        [$address, $length] = explode('/', $network, 2) + [1 => null];
        $packed = self::pack($address);
        $bits = 8 * strlen($packed ?? '');
        $prefix = $length === null ? $bits : filter_var($length, FILTER_VALIDATE_INT);
        if ($packed === null || $prefix === false || $prefix < 0 || $prefix > $bits) {
            throw new InvalidRules(Section::show($network)
                . ': must be an address or a network such as 192.0.2.0/24 or 2001:db8::/32');
        }
        $ones = str_pad(str_repeat('1', $prefix), $bits, '0');
        $mask = implode('', array_map(static fn (string $byte) => chr(bindec($byte)), str_split($ones, 8)));
        return [$mask, $packed & $mask];
    }
}
