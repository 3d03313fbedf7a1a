<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** The library without a framework, over HTTP. */
final class PlainTest extends TestCase
{
    private const string SECRET = '0123456789abcdef0123456789abcdef';

    public function test_an_admitted_response_tells_what_is_left(): void
    {
        $response = new Application('plain')->request('/api/v1/trending');
        self::assertSame(200, $response->status);
        self::assertSame('{"trending":["rust","php","redis"]}', trim($response->body));
        self::assertSame('100', $response->headers['x-ratelimit-limit']);
        self::assertSame('99', $response->headers['x-ratelimit-remaining']);
        self::assertSame([['trending', ['q' => 100, 'w' => 60]]], StructuredField::parseList($response->headers['ratelimit-policy']));
        [[$name, $left]] = StructuredField::parseList($response->headers['ratelimit']);
        self::assertSame('trending', $name);
        self::assertSame(99, $left['r']);
        self::assertThat($left['t'], self::logicalAnd(self::greaterThan(0), self::lessThanOrEqual(120)));
        self::assertArrayNotHasKey('retry-after', $response->headers);
        self::assertArrayNotHasKey('cache-control', $response->headers);
    }

    public function test_a_denied_request_gets_the_whole_response_and_the_script_does_not_run(): void
    {
        $application = new Application('plain');
        self::assertSame(array_fill(0, 10, 200), $application->statuses(10, '/api/v1/search'));
        $response = $application->request('/api/v1/search');
        self::assertSame(429, $response->status);
        self::assertSame('{"error":"rate_limited","scope":"origin"}', $response->body);
        self::assertSame('application/json', $response->headers['content-type']);
        self::assertSame('no-store', $response->headers['cache-control']);
        self::assertSame('*', $response->headers['access-control-allow-origin']);
        self::assertSame(
            'X-RateLimit-Limit, X-RateLimit-Remaining, RateLimit-Policy, RateLimit, Retry-After',
            $response->headers['access-control-expose-headers'],
        );
        self::assertSame([['search', ['q' => 10, 'w' => 60]]], StructuredField::parseList($response->headers['ratelimit-policy']));
        [[, $left]] = StructuredField::parseList($response->headers['ratelimit']);
        self::assertSame(0, $left['r']);
        self::assertThat((int) $response->headers['retry-after'], self::logicalAnd(
            self::greaterThanOrEqual($left['t']),
            self::lessThanOrEqual(60),
        ));
    }

    public function test_the_body_can_be_a_problem_with_the_drafts_type(): void
    {
        $application = $this->application(['default' => ['name' => 'all', 'limit' => 0, 'window' => 60], 'response' => ['format' => 'problem']]);
        $response = $application->request('/');
        self::assertSame('application/problem+json', $response->headers['content-type']);
        self::assertSame([
            'type' => 'https://iana.org/assignments/http-problem-types#quota-exceeded',
            'title' => 'Request cannot be satisfied as assigned quota has been exceeded',
            'status' => 429,
            'violated-policies' => ['all'],
        ], json_decode($response->body, true));
    }

    public function test_one_line_limits_a_script(): void
    {
        $application = new Application('plain', router: 'one-route.php');
        self::assertSame([200, 200, 200, 200, 200, 429], $application->statuses(6, '/whatever'));
    }

    public function test_all_spellings_of_a_route_share_its_budget(): void
    {
        $application = new Application('plain');
        $spellings = [
            '/api/v1/search', '/api/v1/search/', '//api/v1///search', '/api/v1/%73earch', '/api%2fv1%2Fsearch',
            '/api/v1/./x/../search', '/api/v1/%2e%2e/v1/search', '/index.php/api/v1/search', '/api/v1/search?q=1', '/api/v1/search#top',
        ];
        foreach ($spellings as $target) {
            self::assertSame('10', $application->request($target)->headers['x-ratelimit-limit'], $target);
        }
        self::assertSame(429, $application->request('/api/v1/search')->status);
    }

    #[DataProvider('unmatched')]
    public function test_what_matches_nothing_gets_the_default_limit(string $target, string $method = 'GET'): void
    {
        $application = $this->application(['default' => ['limit' => 2, 'window' => 60], 'exempt' => ['routes' => ['/health']]]);
        self::assertSame([200, 200, 429], $application->statuses(3, $target, [], $method));
    }

    public static function unmatched(): iterable
    {
        return [['/'], ['/other'], ['/%zz'], ['/a%00b'], ['/%ff'], ['*', 'OPTIONS'], ['/x', 'PATCH'], ['/%68ealth'], ['/x/../health']];
    }

    public function test_paths_that_match_nothing_share_one_budget(): void
    {
        $application = $this->application(['default' => ['limit' => 2, 'window' => 60]]);
        $statuses = array_map(static fn ($path) => $application->request($path)->status, ['/a', '/b', '/c']);
        self::assertSame([200, 200, 429], $statuses);
    }

    public function test_what_is_exempt_is_not_counted(): void
    {
        $application = $this->application([
            'default' => ['limit' => 0, 'window' => 60],
            'exempt' => ['routes' => ['/health'], 'methods' => ['OPTIONS'], 'networks' => ['192.0.2.0/24']],
            'client' => ['header' => 'X-Real-IP', 'trusted' => ['127.0.0.1']],
        ]);
        self::assertSame(200, $application->request('/health')->status);
        self::assertSame(200, $application->request('/x', method: 'OPTIONS')->status);
        self::assertSame(200, $application->request('/x', ['X-Real-IP' => '192.0.2.9'])->status);
        self::assertSame(429, $application->request('/x', ['X-Real-IP' => '198.51.100.9'])->status);
    }

    public function test_each_client_behind_a_trusted_proxy_has_its_budget_and_cannot_choose_another(): void
    {
        $application = $this->application([
            'default' => ['limit' => 2, 'window' => 60],
            'client' => ['header' => 'X-Forwarded-For', 'trusted' => ['127.0.0.1', '10.0.0.0/8']],
        ]);
        $status = static fn (string $forwarded) => $application->request('/', ['X-Forwarded-For' => $forwarded])->status;
        self::assertSame([200, 200, 429], array_map($status, ['192.0.2.1', '6.6.6.6, 192.0.2.1, 10.0.0.1', '7.7.7.7, 192.0.2.1']));
        self::assertSame(200, $status('192.0.2.2'));
        self::assertSame([200, 200, 429], array_map($status, ['unknown', '192.0.2.3, ', '']), 'the peer has these');
    }

    public function test_a_peer_that_is_not_trusted_cannot_choose_its_address(): void
    {
        $application = $this->application([
            'default' => ['limit' => 2, 'window' => 60],
            'client' => ['header' => 'CF-Connecting-IP', 'trusted' => ['192.0.2.0/24']],
        ]);
        $status = static fn (string $claimed) => $application->request('/', ['CF-Connecting-IP' => $claimed])->status;
        self::assertSame([200, 200, 429], array_map($status, ['192.0.2.1', '192.0.2.2', '192.0.2.3']));
    }

    public function test_a_policy_can_count_by_key_by_endpoint_and_by_cost(): void
    {
        $application = $this->application(['default' => ['limit' => 100, 'window' => 60], 'routes' => [
            '/key' => ['limit' => 1, 'window' => 60, 'by' => 'header:X-Api-Key'],
            '/all' => ['limit' => 3, 'window' => 60, 'by' => 'endpoint'],
            '/cost' => ['limit' => 10, 'window' => 60, 'cost' => 4],
        ], 'client' => ['header' => 'X-Real-IP', 'trusted' => ['127.0.0.1']]]);
        $key = static fn (?string $key) => $application->request('/key', $key === null ? [] : ['X-Api-Key' => $key])->status;
        self::assertSame([200, 200, 429, 200, 429], array_map($key, ['a', 'b', 'a', null, null]));
        $all = static fn (string $client) => $application->request('/all', ['X-Real-IP' => $client])->status;
        self::assertSame([200, 200, 200, 429], array_map($all, ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']));
        self::assertSame([200, 200, 429], $application->statuses(3, '/cost'));
    }

    public function test_a_dry_run_denies_nobody_and_marks_what_it_would_have_denied(): void
    {
        $application = $this->application(['default' => ['limit' => 1, 'window' => 60], 'dry_run' => true]);
        $within = $application->request('/');
        $beyond = $application->request('/');
        self::assertSame([200, 200], [$within->status, $beyond->status]);
        self::assertArrayNotHasKey('x-ratelimit-dry-run', $within->headers);
        self::assertSame('would-deny', $beyond->headers['x-ratelimit-dry-run']);
        self::assertArrayNotHasKey('ratelimit', $beyond->headers);
        self::assertArrayNotHasKey('retry-after', $beyond->headers);
    }

    public function test_the_setting_dry_run_denies_nobody_either(): void
    {
        $application = $this->application(
            ['default' => ['limit' => 1, 'window' => 60]],
            ['-d', 'rate_limit.dry_run=1'],
        );
        self::assertSame([200, 200], $application->statuses(2, '/'));
        self::assertSame('would-deny', $application->request('/')->headers['x-ratelimit-dry-run']);
    }

    public function test_a_429_that_is_keyed_by_address_is_marked_for_the_worker_and_no_other_is(): void
    {
        $application = $this->application(['default' => ['limit' => 1, 'window' => 60], 'routes' => [
            '/key' => ['limit' => 0, 'window' => 60, 'by' => 'header:X-Api-Key'],
            '/all' => ['limit' => 0, 'window' => 60, 'by' => 'endpoint'],
        ], 'edge' => ['secret' => self::SECRET]]);
        $headers = self::throughWorker('192.0.2.1');
        self::assertArrayNotHasKey('ratelimit-edge', $application->request('/', $headers)->headers, 'of a 200');
        $denied = $application->request('/', $headers);
        self::assertSame(429, $denied->status);
        self::assertSame(
            hash_hmac('sha256', "verdict|{$headers['RateLimit-Edge']}", self::SECRET),
            $denied->headers['ratelimit-edge'],
        );
        self::assertSame(200, $application->request('/', self::throughWorker('192.0.2.2'))->status, 'another client');

        $others = [
            ['/key', ['X-Api-Key' => 'k', ...$headers]],
            ['/key', $headers],
            ['/all', $headers],
            ['/', self::throughWorker('192.0.2.1', -120)],
            ['/', ['CF-Connecting-IP' => '192.0.2.3', ...array_slice($headers, 1)]],
            ['/', ['RateLimit-Edge' => '1:x']],
        ];
        $application->request('/');
        foreach ($others as [$target, $sent]) {
            $response = $application->request($target, $sent);
            self::assertSame(429, $response->status, json_encode([$target, $sent]));
            self::assertArrayNotHasKey('ratelimit-edge', $response->headers, json_encode([$target, $sent]));
        }
    }

    public function test_an_ipv6_denial_is_marked_unless_less_than_the_64_is_one_client(): void
    {
        foreach ([64 => true, 128 => false] as $prefix => $marked) {
            $application = $this->application(
                ['default' => ['limit' => 0, 'window' => 60], 'edge' => ['secret' => self::SECRET]],
                ['-d', "rate_limit.ipv6_prefix=$prefix"],
            );
            $headers = $application->request('/', self::throughWorker('2001:db8::1'))->headers;
            self::assertSame($marked, isset($headers['ratelimit-edge']), "/$prefix");
            self::assertArrayHasKey('ratelimit-edge', $application->request('/', self::throughWorker('192.0.2.1'))->headers);
        }
    }

    #[DataProvider('withoutExtension')]
    public function test_without_the_extension_the_setting_decides_and_the_log_says_so(string $missing, int $status): void
    {
        $application = new Application('plain', self::rules(['default' => ['limit' => 1, 'window' => 60], 'missing' => $missing]), withExtension: false);
        self::assertSame([$status, $status], $application->statuses(2, '/'));
        self::assertStringContainsString("the extension is not loaded, so nothing is limited; the rules say missing = '$missing'", $application->log());
    }

    public static function withoutExtension(): iterable
    {
        return [['pass', 200], ['deny', 503], ['error', 500]];
    }

    public function test_a_mistake_in_the_rules_is_a_500_and_a_line_in_the_log(): void
    {
        $application = new Application('plain', self::rules(['default' => ['limit' => 1, 'windwo' => 60]]));
        self::assertSame(500, $application->request('/')->status);
        self::assertStringContainsString("rate-limit.php['default']['windwo'] is unknown: the keys here are name, limit, window", $application->log());
    }

    /**
     * @param array<string, mixed> $rules
     * @param list<string> $options
     */
    private function application(array $rules, array $options = []): Application
    {
        return new Application('plain', self::rules($rules), $options);
    }

    /** @return array<string, string> */
    private static function rules(array $rules): array
    {
        return ['rate-limit.php' => '<?php return ' . var_export($rules, true) . ';'];
    }

    /** @return array<string, string> the headers of a request that came through the worker `$ago` seconds from now */
    private static function throughWorker(string $address, int $ago = 0): array
    {
        $seconds = time() + $ago;
        $proof = hash_hmac('sha256', "request|$seconds|$address", self::SECRET);
        return ['CF-Connecting-IP' => $address, 'RateLimit-Edge' => "$seconds:$proof"];
    }
}
