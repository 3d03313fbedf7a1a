<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Library\Module;

/** The demo under each server, with clocks that stand still 30 s into a minute: the same answers to the letter. */
#[Group('servers')]
final class DemoTest extends TestCase
{
    /** @return array<string, array{class-string<WebServer>}> */
    public static function servers(): array
    {
        return ['nginx and php-fpm' => [Fpm::class], 'Apache and mod_php' => [Apache::class], 'php -S' => [BuiltIn::class]];
    }

    /** @param class-string<WebServer> $server */
    #[DataProvider('servers')]
    public function test_all_workers_admit_a_hundred_and_then_deny_with_exact_headers(string $server): void
    {
        $server = self::start($server);
        $responses = $server->get('/api/v1/trending', 150);
        $allowed = array_filter($responses, fn (Response $response): bool => $response->status === 200);
        $denied = array_filter($responses, fn (Response $response): bool => $response->status === 429);

        self::assertCount(100, $allowed, $server->log());
        self::assertCount(50, $denied, $server->log());
        $remaining = array_map(fn (Response $response): int => (int) $response->headers['x-ratelimit-remaining'], $allowed);
        sort($remaining);
        self::assertSame(range(0, 99), $remaining);
        foreach ($allowed as $response) {
            $r = $response->headers['x-ratelimit-remaining'];
            // One unit is free again a microsecond after the end of the next minute's first instant: 30.000001 s.
            self::assertSame(self::limits($r, "\"trending\";r=$r;t=31"), self::limitsOf($response));
        }
        foreach ($denied as $response) {
            $expected = self::limits('0', '"trending";r=0;t=31', '31');
            self::assertSame($expected, self::limitsOf($response));
            self::assertSame('no-store', $response->headers['cache-control']);
            self::assertSame('{"error":"rate_limited","scope":"origin"}' . "\n", $response->body);
        }
        $workers = array_unique(array_map(fn (Response $response): string => $response->headers['x-worker'], $responses));
        self::assertGreaterThan(1, count($workers), 'one worker answered everything');
    }

    /** @param class-string<WebServer> $server */
    #[DataProvider('servers')]
    public function test_each_client_and_each_endpoint_has_a_budget_of_its_own(string $server): void
    {
        $server = self::start($server);
        $statuses = fn (Response ...$responses): array => array_count_values(array_column($responses, 'status'));

        self::assertSame([200 => 10, 429 => 5], $statuses(...$server->get('/api/v1/search', 15)), $server->log());
        [$other] = $server->get('/api/v1/search', from: '127.0.0.2');
        self::assertSame('9', $other->headers['x-ratelimit-remaining']);
        self::assertSame([200 => 30], $statuses(...$server->get('/api/v1/feed', 30)), $server->log());
    }

    /** @param class-string<WebServer> $server */
    private static function start(string $server): WebServer
    {
        return new $server(['extension' => Module::path(), 'auto_prepend_file' => __DIR__ . '/www/freeze.php']);
    }

    /** @return array<string, ?string> */
    private static function limits(string $remaining, string $rateLimit, ?string $retryAfter = null): array
    {
        return [
            'x-ratelimit-limit' => '100',
            'x-ratelimit-remaining' => $remaining,
            'ratelimit-policy' => '"trending";q=100;w=60',
            'ratelimit' => $rateLimit,
            'retry-after' => $retryAfter,
        ];
    }

    /** @return array<string, ?string> */
    private static function limitsOf(Response $response): array
    {
        $names = array_keys(self::limits('', ''));
        return array_combine($names, array_map(fn (string $name): ?string => $response->headers[$name] ?? null, $names));
    }
}
