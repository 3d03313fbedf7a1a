<?php

declare(strict_types=1);

namespace RateLimit;

/** What the limiter has to say about one request, ready to be copied into any framework's response. */
final readonly class Answer
{
    /** Response headers that a script in a browser may read; without this list it sees none of them. */
    public const string EXPOSE = 'Access-Control-Expose-Headers';

    /** Marks the response to a request that a dry run would have denied. */
    public const string DRY_RUN = 'X-RateLimit-Dry-Run';

    private const string QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

    /**
     * @param int $status 0: the request goes on, and the headers belong into whatever it is answered with; otherwise
     *     this is the whole response
     * @param array<string, string> $headers
     * @param ?Verdict $verdict the most restrictive one; null: nothing was asked (exempt, or no extension)
     * @param bool $wouldDeny whether a dry run has let through what it would have denied
     */
    private function __construct(
        public int $status = 0,
        public array $headers = [],
        public string $body = '',
        public ?Verdict $verdict = null,
        public bool $wouldDeny = false,
    ) {
    }

    public function denies(): bool
    {
        return $this->status !== 0;
    }

    /** Nothing to say: the request goes on. */
    public static function pass(): self
    {
        return new self();
    }

    /** The request goes on, and the client learns what it has left. */
    public static function allow(Verdict $verdict, string $policy): self
    {
        return new self(headers: self::limits($verdict, $policy), verdict: $verdict);
    }

    /** The request goes on, and nothing that would make a client hold back is sent. */
    public static function observe(Verdict $verdict, string $policy): self
    {
        $verdict->headers($policy); // counts the verdict under the policy's name
        $headers = $verdict->wouldDeny ? [self::DRY_RUN => 'would-deny'] : [];
        return new self(headers: $headers, verdict: $verdict, wouldDeny: $verdict->wouldDeny);
    }

    /**
     * 429 Too Many Requests.
     *
     * @param bool $problem whether the body is application/problem+json (RFC 9457) with the type that
     *     draft-ietf-httpapi-ratelimit-headers registers
     * @param array<string, string> $headers more headers
     */
    public static function deny(Verdict $verdict, string $policy, bool $problem, array $headers): self
    {
        $body = $problem
            ? [
                'type' => self::QUOTA_EXCEEDED,
                'title' => 'Request cannot be satisfied as assigned quota has been exceeded',
                'status' => 429,
                'violated-policies' => [$policy],
            ]
            : ['error' => 'rate_limited', 'scope' => 'origin'];
        $headers += self::limits($verdict, $policy);
        return self::refuse(429, $problem ? 'application/problem+json' : 'application/json', $body, $headers, $verdict);
    }

    /** 503 Service Unavailable: there is no limiter, and nothing passes without one. */
    public static function unavailable(): self
    {
        return self::refuse(503, 'application/json', ['error' => 'rate_limiter_missing', 'scope' => 'origin'], []);
    }

    /**
     * @param array<string, mixed> $body
     * @param array<string, string> $headers
     */
    private static function refuse(
        int $status,
        string $type,
        array $body,
        array $headers,
        ?Verdict $verdict = null,
    ): self {
        $headers += ['Content-Type' => $type, 'Cache-Control' => 'no-store'];
        return new self($status, $headers, json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES), $verdict);
    }

    /** @return array<string, string> */
    private static function limits(Verdict $verdict, string $policy): array
    {
        $headers = $verdict->headers($policy);
        return $headers + [self::EXPOSE => implode(', ', array_keys($headers))];
    }
}
