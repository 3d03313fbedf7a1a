<?php

declare(strict_types=1);

namespace RateLimit\Tests\Identity;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Extension\RedisServer;
use RateLimit\Tests\Http\Response;
use RateLimit\Tests\Library\FpmPool;

/** A client's identity changes with the UTC day; what it has used does not. */
final class MidnightTest extends TestCase
{
    private const string SALT = 'a salt of more than sixteen bytes';

    /** @return array<string, array{bool, bool}> */
    public static function storesAndSalts(): array
    {
        return [
            'memory, static salt' => [false, false], 'memory, managed salt' => [false, true],
            'Redis, static salt' => [true, false], 'Redis, managed salt' => [true, true],
        ];
    }

    #[DataProvider('storesAndSalts')]
    public function test_verdicts_are_those_of_one_unbroken_identity(bool $redis, bool $managed): void
    {
        $server = $redis ? new RedisServer() : null;
        $settings = [
            'rate_limit.store' => $server?->dsn() ?? 'memory://',
            'rate_limit.timeout' => '5',
            'rate_limit.clock' => 'host', // the clock that the script stops
            'rate_limit.salt' => $managed ? 'managed' : '',
        ];
        $arguments = [(string) mt_rand(1, 65_535), ...$server === null ? [] : [$server->socket]];
        $run = Script::run('midnight.php', $settings, $arguments, $managed ? null : self::SALT);
        $result = json_decode($run['output'], true);
        self::assertSame([], $result['unlike'], "seed $arguments[0]");
        self::assertGreaterThan(50, $result['denied'], 'nothing was at stake');
        if ($redis) {
            self::assertGreaterThan(50, $result['carried']);
            self::assertGreaterThan(50, $result['asked'], 'calls outside the stretch, which ask once');
        }
    }

    public function test_the_link_lives_for_the_request_and_for_the_string_itself(): void
    {
        $pool = new FpmPool(
            ['index.php' => <<<'PHP'
                <?php
                rate_limit_freeze((int) $_SERVER['AT']);
                $identity = $_SERVER['IDENTITY'] ?? rate_limit_identity('203.0.113.7', 'trending') . ($_SERVER['MORE'] ?? '');
                $limiter = new SlidingWindowLog('memory://', 9, 3600);
                for ($i = 0; $i < (int) ($_SERVER['UNITS'] ?? 0); ++$i) $limiter->check($identity);
                echo $limiter->peek($identity)->remaining, ' ', $identity;
                rate_limit_freeze(null);
                PHP],
            ini: ['rate_limit.salt' => 'managed'],
        );
        $remaining = function (int $since, array $parameters = []) use ($pool): string {
            $at = (string) (20_900 * 86_400_000_000 + $since);
            return $pool->get('/index.php', ['AT' => $at, ...$parameters])->body;
        };
        self::assertStringStartsWith('5 ', $remaining(-1, ['UNITS' => '4']));
        for ($twice = 0; $twice < 2; ++$twice) { // both workers
            [$left, $identity] = explode(' ', $remaining(1));
            self::assertSame('5', $left);
        }
        for ($often = 0; $often < 4; ++$often) {
            self::assertStringStartsWith('9 ', $remaining(1, ['IDENTITY' => $identity]), 'another request');
            self::assertStringStartsWith('9 ', $remaining(1, ['MORE' => 'x']), 'another string');
        }
    }

    #[DataProvider('storesAndSalts')]
    public function test_a_real_midnight_over_http_frees_nobody(bool $redis, bool $managed): void
    {
        $server = $redis ? new RedisServer() : null;
        $pool = new FpmPool(
            ['index.php' => <<<'PHP'
                <?php
                $identity = rate_limit_identity('203.0.113.7', 'trending');
                $limiter = new $_SERVER['CLASS_NAME'](null, 5, 3600);
                http_response_code($limiter->check($identity)['allowed'] ? 200 : 429);
                echo $identity, ' ', gmdate('Y-m-d');
                PHP],
            $managed ? [] : ['env[RL_DAILY_SALT] = "' . self::SALT . '"'],
            [
                'rate_limit.store' => '"' . ($server?->dsn() ?? 'memory://') . '"',
                'rate_limit.timeout' => '5',
                'rate_limit.clock' => 'host', // the server's would be another day
                'rate_limit.salt' => $managed ? 'managed' : '',
            ],
            // The program `faketime` would stay in between and not pass the signal on that ends php-fpm.
            under: ['env', 'TZ=UTC', 'LD_PRELOAD=' . glob('/usr/lib/*/faketime/libfaketime.so.1')[0], 'FAKETIME=@2026-06-30 23:59:57'],
        );
        $get = fn (string $class): Response => $pool->get('/index.php', ['CLASS_NAME' => $class]);
        $days = [];
        foreach ([\SlidingWindowLog::class, \SlidingWindowCounter::class] as $class) {
            for ($i = 0; $i < 3; ++$i) {
                $response = $get($class);
                self::assertSame(200, $response->status, $pool->log());
                [$before, $days[]] = explode(' ', $response->body);
            }
        }
        self::assertSame(['2026-06-30'], array_unique($days), 'too slow a machine');
        do {
            usleep(100_000);
            [$after, $day] = explode(' ', $get('SlidingWindowCounter')->body); // uses up its five
        } while ($day === '2026-06-30');
        self::assertSame('2026-07-01', $day);
        self::assertNotSame($before, $after);
        $statuses = array_map(fn (): int => $get('SlidingWindowLog')->status, range(1, 4));
        self::assertSame([200, 200, 429, 429], $statuses, 'three before midnight and two after it');
        self::assertSame(429, $get('SlidingWindowCounter')->status);
    }
}
