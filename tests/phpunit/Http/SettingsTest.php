<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

use PHPUnit\Framework\TestCase;

/** Settings of php-fpm's pools. */
final class SettingsTest extends TestCase
{
    public function test_a_pool_has_settings_of_its_own(): void
    {
        $origin = new Origin([
            'open' => ['ini' => ['rate_limit.on_failure' => 'open', 'rate_limit.timeout' => '2', 'rate_limit.store' => 'redis://:secret@10.0.0.5']],
            'closed' => ['ini' => ['rate_limit.on_failure' => 'closed', 'rate_limit.ipv6_prefix' => '56']],
        ]);
        $open = json_decode($origin->get('open', 'status.php')->body, true);
        self::assertSame(['open', 2], [$open['settings']['on_failure'], $open['settings']['timeout']]);
        self::assertSame('redis://10.0.0.5:6379', $open['store']);
        $closed = json_decode($origin->get('closed', 'status.php')->body, true);
        self::assertSame(['closed', 0.1, 56], [$closed['settings']['on_failure'], $closed['settings']['timeout'], $closed['settings']['ipv6_prefix']]);
        self::assertSame('memory://', $closed['store']);
        self::assertTrue($closed['memory']['shared']);
    }

    public function test_what_only_php_ini_can_set_is_logged_and_ignored_in_a_pool(): void
    {
        $origin = new Origin(['www' => ['ini' => ['rate_limit.memory_size' => '2M', 'rate_limit.memory_file' => '/dev/shm/x', 'rate_limit.breaker' => '0']]]);
        $status = json_decode($origin->get('www', 'status.php')->body, true);
        self::assertSame([64 << 20, 64 << 20], [$status['memory']['size'], $status['settings']['memory_size']]);
        self::assertSame(['', 3], [$status['settings']['memory_file'], $status['settings']['breaker']]);
        foreach ([
            'rate_limit.memory_size = "2M" can only be set in php.ini; it is ignored',
            'rate_limit.memory_file = "/dev/shm/x" can only be set in php.ini; it is ignored',
            'rate_limit.breaker = "0" must be a whole number from 1 to 1000; it is ignored',
        ] as $line) {
            self::assertStringContainsString($line, $origin->log());
        }
    }
}
