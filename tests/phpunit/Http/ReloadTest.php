<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use RateLimit\Tests\Library\Module;

/** What outlives a reload, a restart and an upgrade of the module, and that no request fails meanwhile. */
#[Group('servers')]
final class ReloadTest extends TestCase
{
    private const string CHECK = '/check.php?class=SlidingWindowLog&store=memory://&limit=5&identity=one';

    private string $folder;

    protected function setUp(): void
    {
        $this->folder = Server::folder();
    }

    protected function tearDown(): void
    {
        Server::remove($this->folder);
    }

    /** @return array<string, array{class-string<Fpm|Apache>, 'reload'|'restart'}> */
    public static function servers(): array
    {
        return [
            'nginx and php-fpm, reload' => [Fpm::class, 'reload'],
            'nginx and php-fpm, restart' => [Fpm::class, 'restart'],
            'Apache and mod_php, graceful restart' => [Apache::class, 'reload'],
            'Apache and mod_php, restart' => [Apache::class, 'restart'],
        ];
    }

    /**
     * @param class-string<Fpm|Apache> $class
     * @param 'reload'|'restart' $action
     */
    #[DataProvider('servers')]
    public function test_without_a_file_every_budget_begins_anew(string $class, string $action): void
    {
        $server = new $class(['extension' => Module::path()]);
        self::useThree($server);
        $server->$action();
        self::assertSame('4', self::remaining($server), $server->log());
    }

    /**
     * @param class-string<Fpm|Apache> $class
     * @param 'reload'|'restart' $action
     */
    #[DataProvider('servers')]
    public function test_with_rate_limit_memory_file_every_budget_is_kept(string $class, string $action): void
    {
        $server = new $class(['extension' => Module::path(), 'rate_limit.memory_file' => "$this->folder/region"]);
        self::useThree($server);
        $server->$action();
        self::assertSame('1', self::remaining($server), $server->log());
    }

    /** @return array<string, array{class-string<Fpm|Apache>}> */
    public static function reloaded(): array
    {
        return ['nginx and php-fpm' => [Fpm::class], 'Apache and mod_php' => [Apache::class]];
    }

    /** @param class-string<Fpm|Apache> $class */
    #[DataProvider('reloaded')]
    public function test_no_request_fails_while_the_module_is_upgraded_and_reloaded(string $class): void
    {
        $module = "$this->folder/rate_limit.so";
        self::install($module);
        file_put_contents("$this->folder/salt", 'a salt of more than sixteen bytes');
        $server = new $class([
            'extension' => $module,
            'rate_limit.memory_file' => "$this->folder/region",
            'rate_limit.salt_file' => "$this->folder/salt",
            'rate_limit.breaker' => 'what is refused and logged when the module starts',
        ]);
        $server->get('/module.php', 50);
        $clients = array_map(fn (int $n): Load => new Load("{$server->url()}/module.php"), range(1, 4));

        for ($upgrade = 1; $upgrade <= 3; $upgrade++) {
            foreach ($clients as $client) {
                Server::wait(fn (): bool => $client->answered() >= 10 * $upgrade);
            }
            self::install($module);
            $server->reload();
            $loaded = array_map(fn (Response $response): string => $response->headers['x-module'], $server->get('/module.php', 20));
            self::assertSame([(string) fileinode($module)], array_values(array_unique($loaded)), 'an old module goes on');
        }
        $statuses = array_map(fn (Load $client): array => $client->end(), $clients);
        // The budget was used up before, and the file keeps it, so that every answer is a denial.
        self::assertSame([429], array_keys(array_replace(...$statuses)), print_r($statuses, true) . $server->log());
    }

    /** As ./build.sh install does. */
    private static function install(string $path): void
    {
        $commands = 'root=.; . scripts/lib/module.sh; place "$1" "$2"';
        $process = proc_open(['bash', '-ec', $commands, 'bash', Module::path(), $path], [], $pipes, dirname(__DIR__, 3));
        self::assertSame(0, proc_close($process));
    }

    private static function useThree(WebServer $server): void
    {
        foreach (['4', '3', '2'] as $remaining) {
            self::assertSame($remaining, self::remaining($server), $server->log());
        }
    }

    private static function remaining(WebServer $server): ?string
    {
        return $server->get(self::CHECK)[0]->headers['x-remaining'] ?? null;
    }
}
