<?php

declare(strict_types=1);

namespace RateLimit\Tests\Identity;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Extension\RedisServer;
use RateLimit\Tests\Library\FpmPool;

/** `rate_limit.salt = "managed"`: who shares a day's key, for how long, and what happens when it is lost. */
final class ManagedKeyTest extends TestCase
{
    private const int SECOND = 1_000_000;
    private const int DAY = 86_400 * self::SECOND;
    /** Noon of a day. */
    private const int NOON = 20_900 * self::DAY + self::DAY / 2;

    private const string SCRIPT = <<<'PHP'
        <?php
        rate_limit_freeze((int) $_SERVER['AT']);
        try {
            echo rate_limit_identity('203.0.113.7', 'trending');
        } catch (\Throwable $error) {
            echo get_class($error), ': ', $error->getMessage();
        }
        rate_limit_freeze(null);
        PHP;

    public function test_hosts_share_a_key_and_put_back_one_that_the_server_lost(): void
    {
        $server = new RedisServer();
        [$one, $two] = [self::host($server->dsn()), self::host($server->dsn())];
        $redis = $server->client();
        $identity = self::at($one, self::NOON);
        self::assertMatchesRegularExpression('/^[0-9a-f]{24}:trending$/D', $identity);
        self::assertSame($identity, self::at($two, self::NOON));
        $key = $redis->get('rl:salt:2027-03-23');
        self::assertSame(32, strlen($key));
        self::assertSame(
            substr(hash_hmac('sha256', '203.0.113.7|2027-03-23', $key), 0, 24) . ':trending',
            $identity,
            'the formula of the documentation, under the key that is in the store',
        );
        // Half of its day, the four days after it, and a second.
        self::assertEqualsWithDelta((0.5 + 4) * 86_400 + 1, $redis->pttl('rl:salt:2027-03-23') / 1000, 5);

        $redis->flushAll();
        self::assertSame($identity, self::at($one, self::NOON + 5 * self::SECOND));
        self::assertSame([], $redis->keys('*'), 'no round trip while the copy is fresh');
        self::assertSame($identity, self::at($one, self::NOON + 10 * self::SECOND));
        self::assertSame($key, $redis->get('rl:salt:2027-03-23'), 'put back');
        self::assertSame($identity, self::at(self::host($server->dsn()), self::NOON));
    }

    public function test_what_the_server_says_wins_over_a_copy(): void
    {
        $server = new RedisServer();
        $host = self::host($server->dsn());
        $before = self::at($host, self::NOON);
        $server->client()->set('rl:salt:2027-03-23', str_repeat("\x80\xff", 16), ['px' => 60_000]);
        self::assertSame(
            substr(hash_hmac('sha256', '203.0.113.7|2027-03-23', str_repeat("\x80\xff", 16)), 0, 24) . ':trending',
            $after = self::at($host, self::NOON + 10 * self::SECOND),
        );
        self::assertNotSame($before, $after);
        self::assertSame($after, self::at($host, self::NOON + 11 * self::SECOND), 'the copy is the new one');
    }

    public function test_each_day_has_a_key_of_its_own(): void
    {
        $server = new RedisServer();
        $host = self::host($server->dsn('prefix=app:'));
        self::at($host, self::NOON);
        self::at($host, self::NOON + self::DAY);
        $keys = $server->client()->keys('*');
        sort($keys);
        self::assertSame(['app:rl:salt:2027-03-23', 'app:rl:salt:2027-03-24'], $keys);
        self::assertNotSame($server->client()->get($keys[0]), $server->client()->get($keys[1]));
    }

    public function test_a_host_goes_on_with_its_copy_while_the_store_is_away_and_without_one_the_policy_decides(): void
    {
        $server = new RedisServer();
        $dsn = $server->dsn();
        $host = self::host($dsn);
        $identity = self::at($host, self::NOON);
        unset($server);
        self::assertSame($identity, self::at($host, self::NOON + 3600 * self::SECOND));
        self::assertStringStartsWith('RateLimit\StoreException: ', self::at($host, self::NOON + self::DAY));
        self::assertStringStartsWith('RateLimit\StoreException: ', self::at(self::host($dsn), self::NOON));
    }

    /** @return list<array{string}> */
    public static function policies(): array
    {
        return [['open'], ['closed'], ['memory']];
    }

    #[DataProvider('policies')]
    public function test_without_store_and_copy_a_host_makes_a_key_of_its_own_that_nobody_can_guess(string $policy): void
    {
        $nowhere = 'redis+unix:///nowhere/redis.sock';
        [$one, $two] = [self::host($nowhere, $policy), self::host($nowhere, $policy)];
        $identities = array_map(fn (): string => self::at($one, self::NOON), range(1, 6));
        self::assertCount(1, array_unique($identities), 'all workers of a host agree');
        self::assertMatchesRegularExpression('/^[0-9a-f]{24}:trending$/D', $identities[0]);
        self::assertNotSame($identities[0], self::at($two, self::NOON));
    }

    public function test_workers_of_a_host_share_keys_without_a_server(): void
    {
        $host = self::host('memory://');
        $identities = array_map(fn (): string => self::at($host, self::NOON), range(1, 6));
        self::assertCount(1, array_unique($identities));
        self::assertNotSame($identities[0], self::at(self::host('memory://'), self::NOON));
    }

    public function test_a_key_must_not_stand_in_a_file(): void
    {
        $file = tempnam(sys_get_temp_dir(), 'rate_limit-');
        unlink($file);
        $host = self::host('memory://', 'throw', ['rate_limit.memory_file' => $file]);
        self::assertStringStartsWith(
            'RateLimit\ConfigException: rate_limit.salt = "managed" with rate_limit.memory_file needs',
            self::at($host, self::NOON),
        );
        @unlink($file);
    }

    /** @param array<string, string> $settings */
    private static function host(string $store, string $policy = 'throw', array $settings = []): FpmPool
    {
        return new FpmPool(['index.php' => self::SCRIPT], ini: [
            'rate_limit.salt' => 'managed', 'rate_limit.store' => "\"$store\"", 'rate_limit.on_failure' => $policy,
            'rate_limit.timeout' => '5', ...$settings,
        ]);
    }

    private static function at(FpmPool $host, int $at): string
    {
        return $host->get('/index.php', ['AT' => (string) $at])->body;
    }
}
