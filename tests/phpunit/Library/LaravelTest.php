<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Laravel's own `throttle`, decided by the extension, in an application that was not written for it. */
#[Group('frameworks')]
final class LaravelTest extends TestCase
{
    #[DataProvider('routesOfOneLimiter')]
    public function test_a_named_limiter_limits_under_its_alias_and_under_laravels_class(string $target): void
    {
        $application = self::application();
        $responses = array_map(static fn () => $application->request($target, ['Accept' => 'application/json']), range(1, 6));
        self::assertSame([200, 200, 200, 200, 200, 429], array_column($responses, 'status'), self::log($application));
        self::assertSame(['4', '"api";q=5;w=60'], [$responses[0]->headers['x-ratelimit-remaining'], $responses[0]->headers['ratelimit-policy']]);
        self::assertSame('Too Many Attempts.', json_decode($responses[5]->body, true)['message']);
        self::assertThat((int) $responses[5]->headers['retry-after'], self::logicalAnd(self::greaterThan(0), self::lessThanOrEqual(120)));
        self::assertStringContainsString('no-store', $responses[5]->headers['cache-control']);
    }

    public static function routesOfOneLimiter(): iterable
    {
        return [['/api/v1/trending'], ['/using']];
    }

    public function test_routes_of_one_inline_limit_share_a_budget_as_in_laravel(): void
    {
        $application = self::application();
        $statuses = array_map(static fn (int $id) => $application->request("/inline/$id")->status, [1, 2, 3]);
        self::assertSame([200, 200, 429], $statuses, self::log($application));
    }

    public function test_the_alias_needs_no_line_in_the_kernel(): void
    {
        $example = file_get_contents(dirname(__DIR__, 3) . '/php/examples/laravel/index.php');
        $application = self::application(['index.php' => str_replace("['throttle' => ThrottleRequests::class]", '[]', $example)]);
        self::assertSame([200, 200, 429], $application->statuses(3, '/inline/1', ['Accept' => 'application/json']), self::log($application));
    }

    public function test_a_limit_may_respond_itself(): void
    {
        $application = self::application();
        self::assertSame(200, $application->request('/custom')->status);
        $denied = $application->request('/custom');
        self::assertSame([429, 'slow down'], [$denied->status, $denied->body]);
        self::assertArrayHasKey('retry-after', $denied->headers);
    }

    public function test_a_dry_run_denies_nobody(): void
    {
        $application = self::application(['config/rate_limit.php' => "<?php return ['dry_run' => true, 'algorithm' => 'log'];"]);
        $responses = array_map(static fn () => $application->request('/inline/1'), range(1, 3));
        self::assertSame([200, 200, 200], array_column($responses, 'status'), self::log($application));
        self::assertArrayNotHasKey('x-ratelimit-dry-run', $responses[1]->headers);
        self::assertSame('would-deny', $responses[2]->headers['x-ratelimit-dry-run']);
    }

    public function test_no_limit_is_no_limit(): void
    {
        $response = self::application()->request('/free');
        self::assertSame(200, $response->status);
        self::assertArrayNotHasKey('x-ratelimit-limit', $response->headers);
    }

    public function test_a_limit_that_counts_by_the_response_counts_only_then(): void
    {
        $limit = 'new class("", 1) extends Limit { public $decaySeconds = 60; public $afterCallback; }';
        $example = file_get_contents(dirname(__DIR__, 3) . '/php/examples/laravel/index.php');
        $application = self::application(['index.php' => str_replace('Limit::none()', <<<PHP
            tap($limit, static function (\$limit): void {
                \$limit->afterCallback = static fn (\$response) => \$response->headers->has('X-Counts');
            })
            PHP, str_replace("Route::get('/free', \$trending)", "Route::get('/free', static fn () => new Response('', 200, request()->query()))", $example))]);
        $statuses = array_map(static fn (string $query) => $application->request("/free$query")->status, ['', '', '?X-Counts=1', '', '?X-Counts=1']);
        self::assertSame([200, 200, 200, 429, 429], $statuses, self::log($application));
    }

    public function test_a_denial_by_one_of_two_limits_takes_from_neither(): void
    {
        $example = file_get_contents(dirname(__DIR__, 3) . '/php/examples/laravel/index.php');
        $application = self::application(['index.php' => str_replace('Limit::none()', '[
            Limit::perMinute(10)->by("wide"),
            ...(request()->has("narrow") ? [Limit::perMinute(1)->by("narrow")] : []),
        ]', $example)]);
        self::assertSame([200, 429, 429], $application->statuses(3, '/free?narrow'), self::log($application));
        self::assertSame('8', $application->request('/free')->headers['x-ratelimit-remaining']);
    }

    /** @param array<string, string> $files */
    private static function application(array $files = []): Application
    {
        return new Application('laravel', $files, Application::extensions());
    }

    private static function log(Application $application): string
    {
        return $application->log() . @file_get_contents("$application->folder/storage/logs/laravel.log");
    }
}
