<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Library\Module;

/** What Apache's configuration says to the extension. */
#[Group('servers')]
final class ApacheTest extends TestCase
{
    public function test_requests_of_one_worker_are_apart_by_php_admin_value_namespace(): void
    {
        $apache = new Apache(['extension' => Module::path()], <<<'CONF'
            <If "%{QUERY_STRING} =~ /tenant=one/">
                php_admin_value rate_limit.namespace one
            </If>
            CONF);
        $check = '/check.php?class=SlidingWindowLog&store=memory://&limit=5&identity=one';

        $apache->get("$check&tenant=one", 5);
        self::assertSame(429, $apache->get("$check&tenant=one")[0]->status, $apache->log());
        self::assertSame('4', $apache->get($check)[0]->headers['x-remaining'] ?? null, $apache->log());
    }

    public function test_the_salt_is_found_where_setenv_puts_it(): void
    {
        $salt = 'a salt of more than sixteen bytes';
        $apache = new Apache(['extension' => Module::path()], "SetEnv RL_DAILY_SALT \"$salt\"");
        $expected = fn (string $day): string => substr(hash_hmac('sha256', "127.0.0.1|$day", $salt), 0, 24) . ':trending';
        // Two days, in case midnight passes in between.
        self::assertContains($apache->get('/identity.php')[0]->body, [$expected(gmdate('Y-m-d')), $expected(gmdate('Y-m-d', time() - 5))]);
    }
}
