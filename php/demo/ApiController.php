<?php

declare(strict_types=1);

/**
 * Three read endpoints, each with its own limit for each client.
 *
 * `null` as a limiter's first argument means the setting rate_limit.store, so this code is the same
 * on one host (memory://) and on many (a Redis or Valkey).
 */
final class ApiController
{
    public function trending(): void
    {
        if ($this->admits(new SlidingWindowCounter(null, limit: 100, windowSeconds: 60), 'trending')) {
            $this->json(200, ['trending' => ['rust', 'php', 'redis']]);
        }
    }

    public function feed(): void
    {
        if ($this->admits(new SlidingWindowCounter(null, limit: 30, windowSeconds: 60), 'feed')) {
            $this->json(200, ['feed' => [['id' => 1, 'title' => 'Hello']]]);
        }
    }

    /** The dearest query and the smallest limit: the log is exact where the counter estimates. */
    public function search(): void
    {
        if ($this->admits(new SlidingWindowLog(null, limit: 10, windowSeconds: 60), 'search')) {
            $this->json(200, ['results' => []]);
        }
    }

    /** Answers 429 itself when the limit denies. Nothing else has been done for the request yet. */
    private function admits(RateLimit\Limiter $limiter, string $endpoint): bool
    {
        $verdict = $limiter->attempt(rateLimitIdentity($_SERVER['REMOTE_ADDR'], $endpoint));
        foreach ($verdict->headers($endpoint) as $name => $value) {
            header("$name: $value");
        }
        if (!$verdict->allowed) {
            header('Cache-Control: no-store');
            $this->json(429, ['error' => 'rate_limited', 'scope' => 'origin']);
        }
        return $verdict->allowed;
    }

    /** @param array<string, mixed> $body */
    private function json(int $status, array $body): void
    {
        http_response_code($status);
        header('Content-Type: application/json');
        echo json_encode($body, JSON_THROW_ON_ERROR), "\n";
    }
}
