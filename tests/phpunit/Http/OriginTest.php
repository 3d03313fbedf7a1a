<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** What php-fpm's workers behind nginx share, where they find the salt, and what keeps pools apart. */
final class OriginTest extends TestCase
{
    private const string SALT = 'a salt of more than sixteen bytes';

    public function test_salt_is_found_in_the_pools_environment(): void
    {
        $origin = new Origin(['www' => ['env' => ['RL_DAILY_SALT' => '"' . self::SALT . '"']]]);
        self::assertContains($origin->get('www', 'identity.php')->body, self::identitiesOfToday());
    }

    public function test_salt_is_found_in_a_fastcgi_param(): void
    {
        $origin = new Origin(['www' => ['params' => ['RL_DAILY_SALT' => '"' . self::SALT . '"']]]);
        self::assertContains($origin->get('www', 'identity.php')->body, self::identitiesOfToday());
    }

    public function test_without_a_salt_all_workers_agree_and_the_log_names_the_setting(): void
    {
        $origin = new Origin(['www' => []]);
        $identities = array_map(
            fn (Response $response): string => $response->body,
            $origin->many(40, 'www', 'identity.php'),
        );
        self::assertCount(1, array_unique($identities));
        self::assertSame(1, substr_count($origin->log(), 'RL_DAILY_SALT'), $origin->log());
    }

    /** @return array<string, array{string, string}> */
    public static function classesAndStores(): array
    {
        $cases = [];
        foreach (['SlidingWindowLog', 'SlidingWindowCounter'] as $class) {
            foreach (['memory://', 'redis+unix://', 'phpredis:'] as $store) {
                $cases["$class on $store"] = [$class, $store];
            }
        }
        return $cases;
    }

    #[DataProvider('classesAndStores')]
    public function test_workers_share_one_budget_to_the_unit(string $class, string $store): void
    {
        if ($store !== 'memory://') {
            $folder = Server::folder();
            $redis = Server::redis($folder);
            $store .= "$folder/redis.sock";
        }
        $origin = new Origin(['www' => []]);
        $responses = $origin->many(150, 'www', 'check.php', [
            'class' => $class, 'store' => $store, 'limit' => 100, 'identity' => 'one',
        ]);
        $statuses = array_count_values(array_map(fn (Response $response): int => $response->status, $responses));
        self::assertSame([200 => 100, 429 => 50], $statuses, $origin->log());
        $workers = array_unique(array_map(fn (Response $response): string => $response->headers['x-worker'], $responses));
        self::assertGreaterThan(1, count($workers), 'one worker answered everything');
        unset($redis);
        isset($folder) && Server::remove($folder);
    }

    public function test_pools_of_different_users_neither_see_nor_reset_each_other(): void
    {
        if (posix_geteuid() !== 0) {
            self::markTestSkipped('only root starts pools of different users');
        }
        $origin = new Origin(['one' => ['user' => 'nobody'], 'two' => ['user' => 'www-data']]);
        $query = ['class' => 'SlidingWindowLog', 'store' => 'memory://', 'limit' => 5, 'identity' => 'same'];

        $origin->many(5, 'one', 'check.php', $query);
        self::assertSame(429, $origin->get('one', 'check.php', $query)->status);
        self::assertSame('4', $origin->get('two', 'check.php', $query)->headers['x-remaining'], 'two sees what one used');
        self::assertSame(200, $origin->get('two', 'reset.php', $query)->status);
        self::assertSame(429, $origin->get('one', 'check.php', $query)->status, 'two reset what one used');
        self::assertSame('4', $origin->get('two', 'check.php', $query)->headers['x-remaining']);
    }

    public function test_pools_of_one_user_are_apart_by_rate_limit_namespace(): void
    {
        $origin = new Origin([
            'one' => ['ini' => ['rate_limit.namespace' => 'one']],
            'two' => ['ini' => ['rate_limit.namespace' => 'two']],
            'also-one' => ['ini' => ['rate_limit.namespace' => 'one']],
        ]);
        $query = ['class' => 'SlidingWindowCounter', 'store' => 'memory://', 'limit' => 5, 'identity' => 'same'];

        $origin->many(5, 'one', 'check.php', $query);
        self::assertSame('4', $origin->get('two', 'check.php', $query)->headers['x-remaining']);
        self::assertSame(429, $origin->get('also-one', 'check.php', $query)->status);
    }

    /** By the formula of the documentation; two days, in case midnight passes in between. */
    private static function identitiesOfToday(): array
    {
        $identity = fn (string $day): string
            => substr(hash_hmac('sha256', "127.0.0.1|$day", self::SALT), 0, 24) . ':trending';
        return [$identity(gmdate('Y-m-d')), $identity(gmdate('Y-m-d', time() - 5))];
    }
}
