<?php

declare(strict_types=1);

namespace RateLimit;

/**
 * The origin's side of the Cloudflare Worker in edge/: both know a secret that never travels.
 *
 *     request   RateLimit-Edge: SECONDS:HMAC("request|SECONDS|ADDRESS")    it came through the worker, from ADDRESS
 *     response  RateLimit-Edge: HMAC("verdict|" and the request's value)   this 429 holds for that address
 *
 * HMAC is HMAC-SHA256 in lower-case hex, ADDRESS the value of CF-Connecting-IP, SECONDS Unix time. docs/cloudflare.md
 * defines both sides.
 */
final readonly class Edge
{
    public const string HEADER = 'RateLimit-Edge';

    /** Shortest secret, in bytes. */
    private const int SHORTEST = 32;

    /** How far the two clocks and the way between them may lie apart, seconds. */
    private const int TOLERANCE = 60;

    /** @throws InvalidRules */
    public function __construct(#[\SensitiveParameter] private string $secret)
    {
        if (strlen($secret) < self::SHORTEST) {
            throw new InvalidRules('secret has ' . strlen($secret) . ' bytes: must have at least ' . self::SHORTEST);
        }
    }

    /** @return ?string the client's address by the worker's word; null where the request did not come through it */
    public function client(Request $request): ?string
    {
        $address = $request->header('CF-Connecting-IP');
        [$seconds, $proof] = explode(':', $request->header(self::HEADER) ?? '', 2) + [1 => ''];
        $fresh = preg_match('/^\d{1,12}$/D', $seconds) === 1 && abs(time() - (int) $seconds) <= self::TOLERANCE;
        return $fresh
            && $address !== null
            && Networks::pack($address) !== null
            && hash_equals($this->hmac("request|$seconds|$address"), $proof) ? $address : null;
    }

    /**
     * What the worker takes for the word that a request was denied for its client's address. It holds a denial for
     * the whole /64 of an IPv6 address, so there is none where smaller networks have budgets of their own.
     *
     * @param string $client as client() has given it
     * @return array<string, string> the header, or none
     */
    public function mark(Request $request, string $client): array
    {
        $setting = 'rate_limit.ipv6_prefix'; // in a variable: opcache would keep the first request's value of a literal
        return strlen(Networks::pack($client)) === 16 && (int) ini_get($setting) > 64
            ? []
            : [self::HEADER => $this->hmac('verdict|' . $request->header(self::HEADER))];
    }

    private function hmac(string $message): string
    {
        return hash_hmac('sha256', $message, $this->secret);
    }
}
