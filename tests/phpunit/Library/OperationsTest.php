<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Http\Server;

/** The operator's endpoints of php/examples/operations, and what Prometheus makes of them. */
final class OperationsTest extends TestCase
{
    private const array TOKENS = ['RATE_LIMIT_METRICS_TOKEN' => 'm-secret', 'RATE_LIMIT_RESET_TOKEN' => 'r-secret'];
    private const array METRICS = ['Authorization' => 'Bearer m-secret'];
    private const array SEARCH = ['search.php' => '<?php require "vendor/autoload.php"; RateLimit\Guard::fromFile("rate-limit.php")->protect();'];
    private const string MONITORING = __DIR__ . '/../../../php/monitoring';

    public function test_an_endpoint_answers_those_who_know_its_token_and_nobody_without_one(): void
    {
        $application = self::application();
        self::assertSame(200, $application->request('/metrics.php', self::METRICS)->status);
        foreach ([[], ['Authorization' => 'Bearer r-secret'], ['Authorization' => 'Bearer '], ['Authorization' => 'm-secret']] as $headers) {
            $refused = $application->request('/metrics.php', $headers);
            self::assertSame([403, ''], [$refused->status, $refused->body]);
        }
        $unset = self::application([]);
        self::assertSame(403, $unset->request('/metrics.php', ['Authorization' => 'Bearer '])->status);
        self::assertStringContainsString('until the environment has RATE_LIMIT_METRICS_TOKEN', $unset->log());
    }

    public function test_a_client_that_is_locked_out_is_freed(): void
    {
        $application = self::application();
        self::assertSame([200, 429], $application->statuses(2, '/search.php'));
        $token = ['Authorization' => 'Bearer r-secret'];
        self::assertSame("2 budgets freed\n", $application->request('/reset.php', $token, 'POST', 'address=127.0.0.2')->body);
        self::assertSame([429], $application->statuses(1, '/search.php'), 'another was freed');
        self::assertSame("2 budgets freed\n", $application->request('/reset.php', $token, 'POST', 'address=127.0.0.1')->body);
        self::assertSame([200, 429], $application->statuses(2, '/search.php'));
        self::assertSame(400, $application->request('/reset.php', $token)->status);
        self::assertSame(403, $application->request('/reset.php', self::METRICS, 'POST', 'address=127.0.0.1')->status);
    }

    public function test_prometheus_finds_nothing_wrong_with_the_metrics_nor_with_the_alerts(): void
    {
        self::require('promtool');
        $application = self::application();
        $application->statuses(3, '/search.php');
        file_put_contents("$application->folder/metrics.txt", $application->request('/metrics.php', self::METRICS)->body);
        foreach (["promtool check metrics <$application->folder/metrics.txt", 'promtool check rules ' . self::MONITORING . '/alerts.yml'] as $command) {
            exec("$command 2>&1", $output, $status);
            self::assertSame(0, $status, implode("\n", $output));
        }
    }

    public function test_a_prometheus_scrapes_what_was_decided(): void
    {
        self::require('prometheus');
        $application = self::application();
        $application->statuses(3, '/search.php');
        file_put_contents("$application->folder/token", 'm-secret');
        file_put_contents("$application->folder/prometheus.yml", strtr((string) file_get_contents(self::MONITORING . '/prometheus.yml'), [
            'scrape_configs:' => "global: { scrape_interval: 200ms }\nscrape_configs:",
            '/operations/metrics.php' => '/metrics.php',
            '/etc/prometheus/rate-limit-token' => "$application->folder/token",
            "'origin-1.example.org:80', 'origin-2.example.org:80'" => "'$application->address'",
        ]));
        $address = stream_socket_get_name(stream_socket_server('tcp://127.0.0.1:0'), false);
        $query = static function (string $query) use ($address): array {
            $answer = @file_get_contents("http://$address/api/v1/query?query=" . urlencode($query));
            return $answer === false ? [] : array_column(json_decode($answer, true)['data']['result'], 'value');
        };
        $prometheus = new Server(
            ['prometheus', "--config.file=$application->folder/prometheus.yml", "--storage.tsdb.path=$application->folder/data", "--web.listen-address=$address"],
            static fn (): bool => $query('up == 1') !== [],
        );
        self::assertSame('2', $query('rate_limit_decisions_total{class="log",source="memory",outcome="denied"}')[0][1]);
        self::assertSame('1', $query('rate_limit_policy_verdicts_total{policy="search",outcome="allowed"}')[0][1]);
        $prometheus->end();
    }

    /** @return list<array{string}> */
    public static function expressions(): array
    {
        $dashboard = json_decode((string) file_get_contents(self::MONITORING . '/grafana.json'), true, flags: JSON_THROW_ON_ERROR);
        $targets = array_merge(...array_column($dashboard['panels'], 'targets'));
        return array_map(static fn (array $target): array => [$target['expr']], $targets);
    }

    #[DataProvider('expressions')]
    public function test_the_dashboard_asks_for_metrics_that_there_are(string $expression): void
    {
        $metrics = rate_limit_metrics();
        preg_match_all('~rate_limit_\w+~', $expression, $names);
        foreach ($names[0] as $name) {
            self::assertStringContainsString('# TYPE ' . preg_replace('~_bucket$~', '', $name) . ' ', $metrics);
        }
    }

    private static function application(array $environment = self::TOKENS): Application
    {
        return new Application('operations', self::SEARCH, environment: $environment, router: null);
    }

    private static function require(string $program): void
    {
        if (exec("command -v $program") === '') {
            self::markTestSkipped("$program is not installed");
        }
    }
}
