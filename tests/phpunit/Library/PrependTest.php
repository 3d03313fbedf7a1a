<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** An application that knows nothing of the limiter, limited by settings alone. */
final class PrependTest extends TestCase
{
    private const string PREPEND = __DIR__ . '/../../../php/prepend.php';
    private const string RULES = __DIR__ . '/../../../php/examples/prepend/rules.php';
    private const array SCRIPTS = ['search.php' => '<?php echo "found";', 'other.php' => '<?php echo "other";'];

    public function test_two_lines_of_php_ini_limit_an_application(): void
    {
        $pool = new FpmPool(self::SCRIPTS, ini: ['auto_prepend_file' => self::PREPEND, 'rate_limit.rules' => self::RULES]);
        $responses = array_map(static fn () => $pool->get('/search.php'), range(1, 6));
        self::assertSame([200, 200, 200, 200, 200, 429], array_column($responses, 'status'));
        self::assertSame(['found', '{"error":"rate_limited","scope":"origin"}'], [$responses[4]->body, $responses[5]->body]);
        self::assertSame('300', $pool->get('/other.php')->headers['x-ratelimit-limit'], 'the default limit');
    }

    #[DataProvider('pathInfos')]
    public function test_what_is_written_behind_a_script_does_not_free_it(string $target): void
    {
        $pool = new FpmPool(self::SCRIPTS, ini: ['auto_prepend_file' => self::PREPEND, 'rate_limit.rules' => self::RULES]);
        self::assertSame('5', $pool->get('/search.php', ['REQUEST_URI' => $target])->headers['x-ratelimit-limit']);
    }

    public static function pathInfos(): iterable
    {
        return [['/search.php/x'], ['/search.php/other.php'], ['/search.php/%ff'], ['/search.php/%zz'], ['/%73earch.php'], ['/find']];
    }

    public function test_a_user_ini_undoes_a_setting_of_php_ini(): void
    {
        $pool = new FpmPool(
            self::SCRIPTS + ['.user.ini' => 'auto_prepend_file ='],
            ini: ['auto_prepend_file' => self::PREPEND, 'rate_limit.rules' => self::RULES],
        );
        self::assertArrayNotHasKey('x-ratelimit-limit', $pool->get('/search.php')->headers);
    }

    public function test_a_user_ini_does_not_undo_a_php_admin_value(): void
    {
        $pool = new FpmPool(
            self::SCRIPTS + ['.user.ini' => "auto_prepend_file =\nrate_limit.rules = /nowhere\n"],
            ['php_admin_value[auto_prepend_file] = ' . self::PREPEND, 'env[RATE_LIMIT_RULES] = ' . self::RULES],
        );
        self::assertSame([200, 200, 200, 200, 200, 429], $pool->statuses(6, '/search.php'));
    }

    public function test_php_ini_names_the_rules_before_the_environment_does(): void
    {
        $pool = new FpmPool(
            self::SCRIPTS,
            ['env[RATE_LIMIT_RULES] = /nowhere'],
            ['auto_prepend_file' => self::PREPEND, 'rate_limit.rules' => self::RULES],
        );
        self::assertSame(200, $pool->get('/search.php')->status);
    }

    public function test_rules_that_are_nowhere_are_an_error_and_not_no_limit(): void
    {
        $pool = new FpmPool(self::SCRIPTS, ini: ['auto_prepend_file' => self::PREPEND]);
        self::assertSame(500, $pool->get('/search.php')->status);
        self::assertStringContainsString('php/rules.php cannot be read', $pool->log());
    }

    public function test_a_client_names_no_rules(): void
    {
        $pool = new FpmPool(self::SCRIPTS, ini: ['auto_prepend_file' => self::PREPEND, 'rate_limit.rules' => self::RULES]);
        $headers = ['HTTP_RATE_LIMIT_RULES' => '/nowhere', 'QUERY_STRING' => 'RATE_LIMIT_RULES=/nowhere'];
        self::assertSame('5', $pool->get('/search.php', $headers)->headers['x-ratelimit-limit']);
    }

    public function test_without_the_extension_the_rules_say_what_happens(): void
    {
        $pool = new FpmPool(
            self::SCRIPTS,
            ini: ['auto_prepend_file' => self::PREPEND, 'rate_limit.rules' => self::RULES],
            withExtension: false,
        );
        self::assertSame(array_fill(0, 7, 200), $pool->statuses(7, '/search.php'));
        self::assertStringContainsString("the rules say missing = 'pass'", $pool->log());
    }

    public function test_nothing_happens_on_the_command_line(): void
    {
        $command = [PHP_BINARY, '-n', '-d', 'auto_prepend_file=' . self::PREPEND, '-r', 'echo "ran";'];
        exec(implode(' ', array_map(escapeshellarg(...), $command)) . ' 2>&1', $output, $status);
        self::assertSame([0, ['ran']], [$status, $output]);
    }
}
