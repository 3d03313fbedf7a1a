<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\InvalidRules;
use RateLimit\Request;
use RateLimit\Rules;

final class RulesTest extends TestCase
{
    private const array LIMIT = ['limit' => 100, 'window' => 60];

    #[DataProvider('requests')]
    public function test_the_first_route_that_matches_is_the_one(?string $expected, string $method, string $target, string $script = '/index.php'): void
    {
        $rules = Rules::fromArray(['default' => self::LIMIT, 'routes' => [
            '/api/v1/trending' => self::LIMIT,
            'POST|PUT /api/v1/users/{id}' => self::LIMIT,
            'GET /api/v1/users/{id}/posts/{post}' => self::LIMIT,
            '/api/*' => self::LIMIT,
            '/a.b' => self::LIMIT,
            '/report.php' => self::LIMIT,
        ]]);
        self::assertSame($expected, $rules->route(new Request($method, $target, ['SCRIPT_NAME' => $script]))?->template);
    }

    public static function requests(): iterable
    {
        yield ['/api/v1/trending', 'GET', '/api/v1/trending'];
        yield ['/api/v1/trending', 'DELETE', '/api/v1/%74rending/?x'];
        yield ['POST|PUT /api/v1/users/{id}', 'PUT', '/api/v1/users/7'];
        yield ['POST|PUT /api/v1/users/{id}', 'put', '/api/v1/users/7'];
        yield ['/api/*', 'GET', '/api/v1/users/7'];
        yield ['/api/*', 'POST', '/api/v1/users/7/8'];
        yield ['/api/*', 'POST', '/api/v1/users/'];
        yield ['GET /api/v1/users/{id}/posts/{post}', 'GET', '/api/v1/users/7/posts/8'];
        yield 'HEAD is answered by the code of GET' => ['GET /api/v1/users/{id}/posts/{post}', 'HEAD', '/api/v1/users/7/posts/8'];
        yield ['/api/*', 'GET', '/api'];
        yield [null, 'GET', '/apis'];
        yield ['/a.b', 'GET', '/a.b'];
        yield [null, 'GET', '/aXb'];
        yield [null, 'GET', '/'];
        yield [null, 'GET', '/api/%zz'];
        yield [null, 'GET', '/API/v1/trending'];
        yield [null, 'OPTIONS', '*'];
        yield 'a script behind a rewritten path' => ['/report.php', 'GET', '/reports', '/report.php'];
        yield 'a script and a path that cannot be decoded' => ['/report.php', 'GET', '/report.php/%ff', '/report.php'];
    }

    #[DataProvider('frontControllers')]
    public function test_a_front_controller_is_not_the_route_of_what_it_does_not_know(string $script): void
    {
        $rules = Rules::fromArray(['default' => self::LIMIT, 'routes' => ['/' => self::LIMIT, '/{page}' => self::LIMIT]]);
        foreach (['/a/b', '/%zz', '*'] as $target) {
            self::assertNull($rules->route(new Request('GET', $target, ['SCRIPT_NAME' => $script])), $target);
        }
    }

    public static function frontControllers(): iterable
    {
        return [['/index.php'], [''], ['/blog/index.php']];
    }

    public function test_a_policy_is_called_after_its_route(): void
    {
        $rules = Rules::fromArray(['default' => self::LIMIT, 'routes' => [
            '/api/v1/trending' => self::LIMIT,
            'GET /users/{id}' => self::LIMIT,
            '/api/*' => self::LIMIT,
            '/named' => [['name' => 'per client', ...self::LIMIT], ['name' => 'all', 'by' => 'endpoint', ...self::LIMIT]],
            '/{any}' => self::LIMIT,
        ]]);
        $names = array_map(static fn ($route) => array_column($route->policies, 'name'), $rules->routes);
        self::assertSame([['trending'], ['users'], ['api'], ['per client', 'all'], ['default']], $names);
    }

    #[DataProvider('exemptions')]
    public function test_exempt_is_what_was_sent_as_it_will_be_read(bool $expected, string $target, string $method = 'GET', ?string $client = '192.0.2.1', string $script = '/index.php'): void
    {
        $rules = Rules::fromArray(['default' => self::LIMIT, 'exempt' => [
            'routes' => ['/health', '/assets/*'],
            'methods' => ['options'],
            'networks' => ['10.0.0.0/8', '2001:db8::/32'],
        ]]);
        self::assertSame($expected, $rules->exempts(new Request($method, $target, ['SCRIPT_NAME' => $script]), $client));
    }

    public function test_a_trusted_proxy_is_not_exempt_as_the_client_that_it_did_not_name(): void
    {
        $rules = Rules::fromArray([
            'default' => self::LIMIT,
            'exempt' => ['networks' => ['10.0.0.0/8', '192.0.2.0/24']],
            'client' => ['header' => 'X-Forwarded-For', 'trusted' => ['10.0.0.0/24']],
        ]);
        $request = new Request('GET', '/api', []);
        self::assertFalse($rules->exempts($request, '10.0.0.1'));
        self::assertTrue($rules->exempts($request, '10.0.1.1'));
        self::assertTrue($rules->exempts($request, '192.0.2.1'));
    }

    public static function exemptions(): iterable
    {
        yield [true, '/health'];
        yield [true, '/health?deep=1'];
        yield [true, '/assets/a/b.css'];
        yield [false, '/api'];
        yield [true, '/api', 'OPTIONS'];
        yield [true, '/api', 'GET', '10.1.2.3'];
        yield [true, '/api', 'GET', '::ffff:10.1.2.3'];
        yield [true, '/api', 'GET', '2001:db8::1'];
        yield [false, '/api', 'GET', null];
        yield [false, '/assets/../api'];
        yield [false, '/assets/%2e%2e/api'];
        yield [false, '/api/..%2fhealth'];
        yield [false, '/%68ealth'];
        yield [false, '//health'];
        yield [false, '/index.php/health'];
        yield [false, '/health/%zz'];
        yield [false, '/trending.php/health', 'GET', '192.0.2.1', '/trending.php'];
    }

    #[DataProvider('mistakes')]
    public function test_a_mistake_is_named_with_its_place_value_and_rule(string $message, array $rules): void
    {
        $this->expectException(InvalidRules::class);
        $this->expectExceptionMessage($message);
        Rules::fromArray($rules + ['default' => self::LIMIT], 'rules');
    }

    public static function mistakes(): iterable
    {
        $route = static fn (mixed $limit) => ['routes' => ['/api/x' => $limit]];
        yield ["rules['defualt'] is unknown: the keys here are default, routes,", ['defualt' => []]];
        yield ["rules['default'] is missing: must be a limit", ['default' => null]];
        yield ["rules['default'] is array: must be a limit", ['default' => []]];
        yield ["rules['routes']['/api/x']['limt'] is unknown", $route(['limt' => 1, 'limit' => 1, 'window' => 1])];
        yield ["rules['routes']['/api/x']['limit'] is missing: must be an integer", $route(['window' => 1])];
        yield ["rules['routes']['/api/x']['limit'] is '100': must be an integer", $route(['limit' => '100', 'window' => 1])];
        yield ["rules['routes']['/api/x']: limit is -5: must be an integer from 0", $route(['limit' => -5, 'window' => 1])];
        yield ["rules['routes']['/api/x']: window is 0: must be seconds from 1", $route(['limit' => 5, 'window' => 0])];
        yield ["rules['routes']['/api/x']: cost is 0", $route(['cost' => 0, ...self::LIMIT])];
        yield ["rules['routes']['/api/x']: cost is 1001", $route(['cost' => 1001, 'algorithm' => 'log', ...self::LIMIT])];
        yield ["rules['routes']['/api/x']: name is 'é'", $route(['name' => 'é', ...self::LIMIT])];
        yield ["rules['routes']['/api/x']: by is 'ip': must be 'client'", $route(['by' => 'ip', ...self::LIMIT])];
        yield ["['algorithm'] is 'fixed': must be one of 'counter', 'log'", $route(['algorithm' => 'fixed', ...self::LIMIT])];
        yield ["rules['routes']['/api/x']['1']['limit'] is missing", $route([self::LIMIT, ['name' => 'two', 'window' => 1]])];
        yield ["rules['routes']['/api/x'] has two limits called 'x'", $route([self::LIMIT, self::LIMIT])];
        yield ["rules['routes']['/api/x']['0'] is 7: must be an array", $route([7])];
        yield ["rules['routes']['api']: 'api': must be a path such as", ['routes' => ['api' => self::LIMIT]]];
        yield ["rules['routes']['/a*']: '/a*': must be a path", ['routes' => ['/a*' => self::LIMIT]]];
        yield ["rules['routes']['get /a']: 'get /a'", ['routes' => ['get /a' => self::LIMIT]]];
        yield ["rules['routes']['/api/v1/x'] is never reached: '/api/*' before it", ['routes' => ['/api/*' => self::LIMIT, '/api/v1/x' => self::LIMIT]]];
        yield ["rules['routes']['GET /a'] is never reached: 'GET|POST /{x}'", ['routes' => ['GET|POST /{x}' => self::LIMIT, 'GET /a' => self::LIMIT]]];
        yield ["rules['exempt']['networks']: '10.0.0.0/40': must be", ['exempt' => ['networks' => ['10.0.0.0/40']]]];
        yield ["rules['exempt']['routes'] is '/health': must be an array", ['exempt' => ['routes' => '/health']]];
        yield ["rules['exempt']['methods'] is array: must be a list of strings", ['exempt' => ['methods' => [1]]]];
        yield ["rules['client']['header'] is missing", ['client' => ['trusted' => ['10.0.0.0/8']]]];
        yield ["rules['client']: trusted is empty", ['client' => ['header' => 'X-Real-IP']]];
        yield ["rules['edge']: secret has 5 bytes: must have at least 32", ['edge' => ['secret' => 'short']]];
        yield ["rules['edge']['secret'] is false: must be a string", ['edge' => ['secret' => false]]];
        yield ["rules['on_failure'] is 'shrug': must be one of 'memory', 'throw', 'open', 'closed'", ['on_failure' => 'shrug']];
        yield ["rules['missing'] is 'ignore': must be one of 'error', 'pass', 'deny'", ['missing' => 'ignore']];
        yield ["rules['dry_run'] is 1: must be true or false", ['dry_run' => 1]];
        yield ["rules['response']['format'] is 'xml'", ['response' => ['format' => 'xml']]];
        yield ["rules['response']['headers']['X-A'] is", ['response' => ['headers' => ['X-A' => "a\r\nX-B: b"]]]];
    }

    public function test_a_secret_that_is_refused_is_not_shown(): void
    {
        try {
            Rules::fromArray(['default' => self::LIMIT, 'edge' => ['secret' => 'hunter2']]);
            self::fail('accepted');
        } catch (InvalidRules $error) {
            self::assertStringNotContainsString('hunter2', (string) $error);
        }
    }

    public function test_narrower_routes_before_wider_ones_are_not_hidden(): void
    {
        $rules = Rules::fromArray(['default' => self::LIMIT, 'routes' => [
            'GET /a' => self::LIMIT, '/a' => self::LIMIT, '/b/{x}' => self::LIMIT, '/b/*' => self::LIMIT, '/*' => self::LIMIT,
        ]]);
        self::assertCount(5, $rules->routes);
    }

    public function test_a_file_that_returns_nothing_is_named(): void
    {
        $file = tempnam(sys_get_temp_dir(), 'rules');
        file_put_contents($file, '<?php');
        try {
            $this->expectExceptionMessage("rate limit rules: $file returns int: must return an array");
            Rules::fromFile($file);
        } finally {
            unlink($file);
        }
    }

    public function test_a_file_that_is_not_there_is_named(): void
    {
        $this->expectExceptionMessage('rate limit rules: /nowhere/rules.php cannot be read');
        Rules::fromFile('/nowhere/rules.php');
    }
}
