<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** The PSR-15 middleware in an application on nyholm/psr7. */
#[Group('frameworks')]
final class Psr15Test extends TestCase
{
    public function test_the_middleware_limits_and_answers(): void
    {
        $application = self::application();
        $responses = array_map(static fn () => $application->request('/api/v1/trending'), range(1, 6));
        self::assertSame([200, 200, 200, 200, 200, 429], array_column($responses, 'status'), $application->log());
        self::assertSame('{"trending":["rust","php","redis"]}', $responses[0]->body);
        self::assertSame('4', $responses[0]->headers['x-ratelimit-remaining']);
        self::assertStringStartsWith('ETag, X-RateLimit-Limit', $responses[0]->headers['access-control-expose-headers'], 'the application has its own');
        self::assertSame('application/problem+json', $responses[5]->headers['content-type']);
        self::assertSame(['trending'], json_decode($responses[5]->body, true)['violated-policies']);
        self::assertSame('no-store', $responses[5]->headers['cache-control']);
        self::assertGreaterThan(0, (int) $responses[5]->headers['retry-after']);
    }

    public function test_the_client_is_read_from_the_messages_headers(): void
    {
        $application = self::application();
        $status = static fn (string $client) => $application->request('/api/v1/trending', ['X-Forwarded-For' => $client])->status;
        self::assertSame([200, 200, 200, 200, 200, 429], array_map($status, array_fill(0, 6, '192.0.2.1')));
        self::assertSame(200, $status('192.0.2.2'));
    }

    public function test_all_spellings_of_a_route_share_its_budget(): void
    {
        $application = self::application();
        foreach (['/api/v1/trending', '/api/v1/%74rending/', '//api/v1//trending', '/api/x/..%2fv1/trending'] as $target) {
            self::assertSame('5', $application->request($target)->headers['x-ratelimit-limit'], $target);
        }
        self::assertSame('300', $application->request('/')->headers['x-ratelimit-limit']);
    }

    private static function application(): Application
    {
        return new Application('psr15', options: ['-d', 'extension=' . Application::psr()]);
    }
}
