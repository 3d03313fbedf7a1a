<?php

declare(strict_types=1);

namespace RateLimit\Tests\LiteSpeed;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Http\Response;
use RateLimit\Tests\Http\Server;

/** What lsphp does to an extension that no other server does, by its stand-in. */
#[Group('servers')]
final class LsphpTest extends TestCase
{
    private const string SALT = 'a salt of more than sixteen bytes';
    // A window of a year: none ends while a test runs.
    private const string CHECK = 'echo (new SlidingWindowLog("memory://", 100, 31_536_000))->check("one")["remaining"];';
    private const string SHARED = 'echo json_encode(rate_limit_status()["memory"]["shared"]);';

    public function test_children_of_one_parent_share_one_budget_and_the_status_says_so(): void
    {
        $lsphp = new Lsphp(children: 4);
        $responses = $lsphp->many(100, self::CHECK);
        self::assertEqualsCanonicalizing(range(0, 99), array_map(intval(...), array_column($responses, 'body')), $lsphp->log());
        self::assertGreaterThan(1, count(self::workers($responses)), 'one child answered everything');
        self::assertSame('true', $lsphp->run(self::SHARED)->body);
    }

    public function test_unrelated_processes_have_each_their_own_budget_and_the_status_says_so(): void
    {
        foreach ([new Lsphp(children: 0), new Lsphp(children: 1)] as $lsphp) {
            self::assertSame('99', $lsphp->run(self::CHECK)->body, $lsphp->log());
            self::assertSame('false', $lsphp->run(self::SHARED)->body);
        }
    }

    public function test_unrelated_processes_share_one_budget_by_a_file_and_the_status_says_so(): void
    {
        $folder = Server::folder();
        $processes = array_map(
            fn (): Lsphp => new Lsphp(children: 0, ini: ['rate_limit.memory_file' => "$folder/region"]),
            range(1, 3),
        );
        $remaining = array_map(fn (Lsphp $lsphp): string => $lsphp->run(self::CHECK)->body, [...$processes, ...$processes]);
        self::assertSame(['99', '98', '97', '96', '95', '94'], $remaining, $processes[0]->log());
        self::assertSame('true', $processes[0]->run(self::SHARED)->body);
        Server::remove($folder);
    }

    public function test_module_shutdown_in_each_child_takes_nothing_from_the_others(): void
    {
        $lsphp = new Lsphp(children: 2, environment: ['LSAPI_MAX_REQS' => '1']);
        $responses = $lsphp->many(10, self::CHECK);
        self::assertCount(10, self::workers($responses), 'a child served twice');
        self::assertEqualsCanonicalizing(range(90, 99), array_map(intval(...), array_column($responses, 'body')), $lsphp->log());
        self::assertSame(0, $lsphp->end(), 'the parent, which did not serve, ended badly');
    }

    /** @return array<string, array{string}> */
    public static function classes(): array
    {
        return ['log' => ['SlidingWindowLog'], 'counter' => ['SlidingWindowCounter']];
    }

    /** Ends thirty children in the middle of a check, each of which checks again while it shuts its request down. */
    #[DataProvider('classes')]
    public function test_request_shutdown_inside_a_signal_handler_neither_hangs_nor_keeps_anything(string $class): void
    {
        $lsphp = new Lsphp(children: 2, ini: ['rate_limit.memory_size' => '256M']);
        $check = "\$limiter = new $class('memory://', 5_000_000, 31_536_000);"; // never used up within a turn
        $answers = [];
        for ($i = 0; $i < 30; $i++) {
            $answer = "$lsphp->folder/answer-$i";
            $connection = $lsphp->begin(<<<PHP
                $check
                register_shutdown_function(function () use (\$limiter): void {
                    try {
                        \$answer = \$limiter->check('one')['allowed'] ? 'allowed' : 'denied';
                    } catch (RateLimit\\StoreException \$e) {
                        \$answer = \$e->getMessage();
                    }
                    file_put_contents('$answer', \$answer);
                });
                file_put_contents('$answer-pid', getmypid());
                while (true) {
                    \$limiter->check('one');
                }
                PHP);
            Server::wait(fn (): bool => (string) @file_get_contents("$answer-pid") !== '');
            $child = (int) file_get_contents("$answer-pid");
            usleep(random_int(0, 3_000));
            $killed = hrtime(true);
            posix_kill($child, SIGTERM);
            Server::wait(fn (): bool => !file_exists("/proc/$child"));
            self::assertLessThan(2e9, hrtime(true) - $killed, 'the child did not end at once');
            self::assertFileExists($answer, $lsphp->log());
            $answers[] = file_get_contents($answer);
            // Each check takes a unit, so whoever comes next sees what was used, and takes one more.
            $next = "$check echo \$limiter->peek('one')->remaining - \$limiter->check('one')['remaining']; \$limiter->reset('one');";
            self::assertSame('1', $lsphp->run($next)->body, $lsphp->log());
            fclose($connection);
        }
        $possible = ['allowed', 'memory://: in use by a call that a signal interrupted'];
        self::assertSame([], array_diff($answers, $possible), $lsphp->log());
        $class === 'SlidingWindowCounter' && self::assertSame(['allowed'], array_values(array_unique($answers)), 'a counter holds nothing');
    }

    public function test_a_connection_that_a_signal_interrupted_before_its_reply_is_not_used_again(): void
    {
        $folder = Server::folder();
        $redis = Server::redis($folder);
        $lsphp = new Lsphp(children: 2, ini: ['rate_limit.timeout' => '5']);
        $limiter = "new SlidingWindowLog('redis+unix://$folder/redis.sock', 1000, 31_536_000)";
        $lsphp->begin(<<<PHP
            \$limiter = $limiter;
            register_shutdown_function(function () use (\$limiter): void {
                try {
                    \$same = \$limiter->check('two');
                } catch (RateLimit\StoreException \$e) {
                    \$same = \$e->getMessage();
                }
                file_put_contents('$lsphp->folder/answer', json_encode([\$same, ($limiter)->check('two')['remaining']]));
            });
            \$limiter->check('one');
            file_put_contents('$lsphp->folder/pid', getmypid());
            while (true) {
                \$limiter->check('one');
            }
            PHP);
        Server::wait(fn (): bool => (string) @file_get_contents("$lsphp->folder/pid") !== '');
        $child = (int) file_get_contents("$lsphp->folder/pid");
        $redis->signal(SIGSTOP);
        usleep(50_000); // by now the child waits for a reply
        posix_kill($child, SIGTERM);
        usleep(50_000); // by now the shutdown function waits for another
        $redis->signal(SIGCONT);
        Server::wait(fn (): bool => !file_exists("/proc/$child"));
        $inUse = "redis+unix://$folder/redis.sock: in use by a call that a signal interrupted";
        // The same limiter follows its policy; another's connection is new and gets its own reply.
        self::assertSame([$inUse, 999], json_decode(file_get_contents("$lsphp->folder/answer")));
        Server::remove($folder);
    }

    public function test_settings_of_a_virtual_host_hold_for_its_requests_alone(): void
    {
        $lsphp = new Lsphp(children: 0, ini: ['rate_limit.timeout' => '0.2']);
        $code = self::CHECK . ' $settings = rate_limit_status()["settings"];'
            . 'echo " $settings[namespace] $settings[timeout] $settings[on_failure]";';
        $host = ['admin rate_limit.namespace=tenant', 'admin rate_limit.timeout=0.5', 'admin rate_limit.on_failure=closed'];

        self::assertSame('99  0.2 throw', $lsphp->run($code)->body);
        self::assertSame('99 tenant 0.5 closed', $lsphp->run($code, $host)->body);
        self::assertSame('98  0.2 throw', $lsphp->run($code)->body);
        self::assertSame('98 tenant 0.5 closed', $lsphp->run($code, $host)->body);
        self::assertSame('', $lsphp->log());
    }

    public function test_a_size_given_by_a_virtual_host_is_refused_and_changes_nothing(): void
    {
        $lsphp = new Lsphp(children: 0, ini: ['rate_limit.memory_size' => '8M']);
        $code = 'echo rate_limit_status()["memory"]["size"], " ", rate_limit_status()["settings"]["memory_size"];';
        self::assertSame('8388608 8388608', $lsphp->run($code, ['admin rate_limit.memory_size=2M'])->body);
        self::assertSame('8388608 8388608', $lsphp->run($code)->body);
        self::assertSame(1, substr_count($lsphp->log(), 'rate_limit.memory_size = "2M" can only be set in php.ini'), $lsphp->log());
        self::assertSame(1, substr_count($lsphp->log(), "\n"), $lsphp->log());
    }

    /** @return array<string, array{list<string>, array<string, string>}> */
    public static function salts(): array
    {
        return [
            'with the request' => [['variable RL_DAILY_SALT=' . self::SALT], []],
            'in the process environment, which sapi_getenv does not see' => [[], ['RL_DAILY_SALT' => self::SALT]],
            'both, where the request wins' => [['variable RL_DAILY_SALT=' . self::SALT], ['RL_DAILY_SALT' => 'another salt of enough bytes']],
        ];
    }

    /**
     * @param list<string> $lines
     * @param array<string, string> $environment
     */
    #[DataProvider('salts')]
    public function test_the_salt_is_found_as_getenv_finds_it(array $lines, array $environment): void
    {
        $lsphp = new Lsphp(children: 2, environment: $environment);
        $code = 'echo rate_limit_identity($_SERVER["HTTP_CF_CONNECTING_IP"], "trending"), json_encode(getenv("HTTP_CF_CONNECTING_IP"));';
        $lines = [...$lines, 'variable REMOTE_ADDR=192.0.2.1', 'header HTTP_CF_CONNECTING_IP=203.0.113.9'];
        $expected = fn (string $day): string
            => substr(hash_hmac('sha256', "203.0.113.9|$day", self::SALT), 0, 24) . ':trendingfalse';
        $body = $lsphp->run($code, $lines)->body;
        // Two days, in case midnight passes in between.
        self::assertContains($body, [$expected(gmdate('Y-m-d')), $expected(gmdate('Y-m-d', time() - 5))]);
        self::assertSame('', $lsphp->log());
    }

    public function test_the_library_limits_by_a_header_that_is_in_the_server_variables_alone(): void
    {
        $folder = Server::folder();
        file_put_contents("$folder/rules.php", <<<'PHP'
            <?php return [
                'default' => ['limit' => 2, 'window' => 31_536_000, 'algorithm' => 'log'],
                'client' => ['header' => 'CF-Connecting-IP', 'trusted' => ['192.0.2.0/24']],
            ];
            PHP);
        $lsphp = new Lsphp(children: 2, environment: ['RATE_LIMIT_RULES' => "$folder/rules.php"]);
        $prepend = 'admin auto_prepend_file=' . dirname(__DIR__, 3) . '/php/prepend.php';
        $status = fn (string ...$lines): int
            => $lsphp->run('', [$prepend, 'variable REQUEST_METHOD=GET', 'variable REQUEST_URI=/', ...$lines])->status;
        $edge = 'variable REMOTE_ADDR=192.0.2.1';

        self::assertSame(200, $status($edge, 'header HTTP_CF_CONNECTING_IP=203.0.113.9'), $lsphp->log());
        self::assertSame(200, $status($edge, 'header HTTP_CF_CONNECTING_IP=203.0.113.9'));
        self::assertSame(429, $status($edge, 'header HTTP_CF_CONNECTING_IP=203.0.113.9'));
        self::assertSame(200, $status($edge, 'header HTTP_CF_CONNECTING_IP=203.0.113.10'));
        // The server has put the visitor into REMOTE_ADDR itself, and believes no header of his.
        $visitor = ['variable REMOTE_ADDR=203.0.113.9', 'variable PROXY_REMOTE_ADDR=192.0.2.1'];
        self::assertSame(429, $status(...$visitor, ...['header HTTP_CF_CONNECTING_IP=203.0.113.77']));
        Server::remove($folder);
    }

    public function test_users_of_one_parent_have_budgets_of_their_own_in_one_region(): void
    {
        if (posix_geteuid() !== 0) {
            self::markTestSkipped('only root gives its children to other users');
        }
        $lsphp = new Lsphp(children: 2, environment: ['LSAPI_MAX_REQS' => '1']);
        $code = self::CHECK . ' echo " ", rate_limit_status()["memory"]["logs"]["used"];';
        self::assertSame('99 1', $lsphp->run($code, ['uid 65534'])->body, $lsphp->log());
        self::assertSame('99 2', $lsphp->run($code, ['uid 1001'])->body);
        self::assertSame('98 2', $lsphp->run($code, ['uid 65534'])->body);
    }

    public function test_what_preloading_opened_in_the_parent_is_no_childs(): void
    {
        $folder = Server::folder();
        $redis = Server::redis($folder);
        $check = "(new SlidingWindowLog('redis+unix://$folder/redis.sock', 100, 31_536_000))->check('one')['remaining']";
        file_put_contents("$folder/preload.php", <<<PHP
            <?php
            $check;
            rate_limit_identity('192.0.2.1', 'trending');
            (new SlidingWindowLog('memory://', 100, 31_536_000))->check('one');
            PHP);
        $lsphp = new Lsphp(
            children: 4,
            ini: ['zend_extension' => 'opcache', 'opcache.enable' => '1', 'opcache.preload' => "$folder/preload.php"],
            // Under root, opcache preloads in a process of its own.
            as: posix_geteuid() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [],
        );
        $responses = $lsphp->many(99, "echo $check;");
        self::assertEqualsCanonicalizing(range(0, 98), array_map(intval(...), array_column($responses, 'body')), $lsphp->log());
        self::assertGreaterThan(1, count(self::workers($responses)), 'one child answered everything');
        self::assertSame('98', $lsphp->run(self::CHECK)->body, 'preloading took one of the region that all share');
        Server::remove($folder);
    }

    /**
     * @param list<Response> $responses
     * @return list<string>
     */
    private static function workers(array $responses): array
    {
        return array_values(array_unique(array_map(fn (Response $response): string => $response->headers['x-worker'], $responses)));
    }
}
