<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** The bundle in a Symfony application: rules for all requests, and a limiter that a controller is given. */
#[Group('frameworks')]
final class SymfonyTest extends TestCase
{
    public function test_the_rules_limit_before_the_controller(): void
    {
        $application = self::application();
        $responses = array_map(static fn () => $application->request('/api/v1/trending'), range(1, 6));
        self::assertSame([200, 200, 200, 200, 200, 429], array_column($responses, 'status'), $application->log());
        self::assertSame('4', $responses[0]->headers['x-ratelimit-remaining']);
        self::assertStringStartsWith('ETag, X-RateLimit-Limit', $responses[0]->headers['access-control-expose-headers'], 'the application has its own');
        self::assertSame('{"error":"rate_limited","scope":"origin"}', $responses[5]->body);
        self::assertSame('application/json', $responses[5]->headers['content-type']);
        self::assertStringContainsString('no-store', $responses[5]->headers['cache-control']);
        self::assertGreaterThan(0, (int) $responses[5]->headers['retry-after']);
    }

    public function test_all_spellings_that_symfony_routes_alike_share_a_budget(): void
    {
        $application = self::application();
        foreach (['/api/v1/trending', '/api/v1/%74rending', '/index.php/api/v1/trending', '/%69ndex.php/api/v1/trending', '/api%2Fv1/trending'] as $target) {
            $response = $application->request($target);
            self::assertSame(200, $response->status, "$target {$application->log()}");
            self::assertSame('5', $response->headers['x-ratelimit-limit'], $target);
        }
        self::assertSame(429, $application->request('/api/v1/trending')->status);
    }

    public function test_the_client_is_the_one_of_symfonys_trusted_proxies(): void
    {
        $application = self::application();
        $status = static fn (string $client) => $application->request('/api/v1/trending', ['X-Forwarded-For' => $client])->status;
        self::assertSame([200, 200, 200, 200, 200, 429], array_map($status, array_fill(0, 6, '192.0.2.1')));
        self::assertSame(200, $status('192.0.2.2'));
    }

    public function test_a_controller_is_given_a_limiter_as_by_framework_rate_limiter(): void
    {
        $application = self::application();
        $responses = array_map(static fn () => $application->request('/login'), range(1, 4));
        self::assertSame([200, 200, 200, 429], array_column($responses, 'status'), $application->log());
        self::assertSame('{"remaining":2}', $responses[0]->body);
        $wait = (int) $responses[3]->headers['retry-after'];
        self::assertThat($wait, self::logicalAnd(self::greaterThan(890), self::lessThanOrEqual(901)));
    }

    public function test_from_symfony_7_3_the_limiter_is_a_rate_limiter_factory_interface(): void
    {
        $example = file_get_contents(dirname(__DIR__, 3) . '/php/examples/symfony/index.php');
        $application = self::application(
            ['index.php' => str_replace('RateLimit\Symfony\LimiterFactoryInterface;', 'Symfony\Component\RateLimiter\RateLimiterFactoryInterface as LimiterFactoryInterface;', $example)],
            ['-d', 'auto_prepend_file=' . __DIR__ . '/symfony-7.3.php'],
        );
        self::assertSame('{"remaining":2}', $application->request('/login')->body, $application->log());
    }

    public function test_a_limiter_keeps_what_symfony_promises(): void
    {
        $script = <<<'PHP'
            <?php
            require __DIR__ . '/vendor/autoload.php';
            $factory = new RateLimit\Symfony\LimiterFactory(['id' => 'x', 'policy' => 'sliding_window', 'limit' => 3, 'interval' => '1 minute']);
            $limiter = $factory->create('192.0.2.1');
            $tell = static fn ($limit) => [$limit->isAccepted(), $limit->getRemainingTokens(), $limit->getLimit(), $limit->getRetryAfter()->getTimestamp() > time()];
            $refused = static function (callable $call): string {
                try {
                    return (string) $call();
                } catch (Throwable $error) {
                    return $error::class;
                }
            };
            echo json_encode([
                $tell($limiter->consume(0)),
                $tell($limiter->consume(2)),
                $tell($limiter->consume(2)),
                $tell($limiter->consume()),
                $tell($limiter->consume(0)),
                $tell($factory->create('192.0.2.2')->consume()),
                $tell($factory->create()->consume()),
                $refused(static fn () => $limiter->consume(4)),
                $refused(static fn () => $limiter->reserve()),
                $refused(static fn () => $limiter->reset()),
                $tell($limiter->consume(0)),
                $refused(static fn () => new RateLimit\Symfony\LimiterFactory(['id' => 'x', 'policy' => 'token_bucket', 'limit' => 3, 'interval' => '1 minute'])),
                $refused(static fn () => new RateLimit\Symfony\LimiterFactory(['id' => 'x', 'policy' => 'sliding_window', 'limit' => 3, 'interval' => 'soon'])),
            ]);
            PHP;
        $response = self::application(['index.php' => $script])->request('/');
        self::assertSame([
            [true, 3, 3, false],
            [true, 1, 3, false],
            [false, 1, 3, true],
            [true, 0, 3, false],
            [true, 0, 3, true],
            [true, 2, 3, false],
            [true, 2, 3, false],
            'InvalidArgumentException',
            'Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException',
            '',
            [true, 3, 3, false],
            'RateLimit\InvalidRules',
            'RateLimit\InvalidRules',
        ], json_decode($response->body, true), $response->body);
    }

    /**
     * @param array<string, string> $files
     * @param list<string> $options
     */
    private static function application(array $files = [], array $options = []): Application
    {
        return new Application('symfony', $files, [...Application::extensions(), ...$options]);
    }
}
