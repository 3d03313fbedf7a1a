<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use RateLimit\Tests\Http\Response;
use RateLimit\Tests\Http\Server;

/**
 * One of the applications in php/examples, copied to a folder of its own and served by PHP's built-in server on a free
 * port. Where a user's has Composer's vendor/autoload.php, the copy has one that finds the library and Debian's packages.
 */
final class Application
{
    /** Where scripts/php-peers.sh unpacks them. */
    private const string PEERS = __DIR__ . '/../../../target/php-peers';

    /** Files that Composer would load for their functions, in this order. */
    private const array FUNCTIONS = [
        'Symfony/Contracts/Deprecation/function.php',
        'Illuminate/Collections/helpers.php',
        'Illuminate/Support/helpers.php',
        'Illuminate/Filesystem/functions.php',
        'Illuminate/Foundation/helpers.php',
    ];

    public readonly string $folder;

    /** Host and port. */
    public readonly string $address;

    private ?Server $server;

    /**
     * @param string $example a folder of php/examples
     * @param array<string, string> $files more files, or others in the place of the example's, by name
     * @param list<string> $options of PHP, without the extension
     * @param array<string, string> $environment
     */
    public function __construct(
        string $example,
        array $files = [],
        array $options = [],
        array $environment = [],
        bool $withExtension = true,
        ?string $router = 'index.php',
    ) {
        $this->folder = Server::folder();
        self::copy(dirname(__DIR__, 3) . "/php/examples/$example", $this->folder);
        foreach (['vendor/autoload.php' => self::autoload(), 'bootstrap/cache/.keep' => '', 'storage/framework/views/.keep' => '', ...$files] as $name => $content) {
            is_dir(dirname("$this->folder/$name")) || mkdir(dirname("$this->folder/$name"), 0777, true);
            file_put_contents("$this->folder/$name", $content);
        }
        $this->address = stream_socket_get_name(stream_socket_server('tcp://127.0.0.1:0'), false);
        $this->server = new Server(
            [
                'env', ...array_map(static fn ($name, $value) => "$name=$value", array_keys($environment), $environment),
                PHP_BINARY, '-n', ...($withExtension ? ['-d', 'extension=' . Module::path()] : []),
                '-d', "error_log=$this->folder/error.log", '-d', 'log_errors=1', '-d', 'display_errors=0', ...$options,
                '-S', $this->address, '-t', $this->folder, ...($router === null ? [] : ["$this->folder/$router"]),
            ],
            fn (): bool => (bool) @stream_socket_client("tcp://$this->address"),
        );
    }

    public function __destruct()
    {
        $this->server = null;
        Server::remove($this->folder);
    }

    /** @return list<string> options that load what the frameworks need of PHP, and these extensions */
    public static function extensions(string ...$more): array
    {
        $options = [];
        foreach (['ctype', 'mbstring', 'tokenizer', 'iconv', 'fileinfo', ...$more] as $extension) {
            array_push($options, '-d', "extension=$extension");
        }
        return $options;
    }

    /** The PSR interfaces as Debian packs them for PHP 8.4. */
    public static function psr(): string
    {
        return realpath(self::PEERS . '/usr/lib/php/20240924/psr.so');
    }

    /**
     * One request, its target exactly as given.
     *
     * @param array<string, string> $headers
     */
    public function request(string $target, array $headers = [], string $method = 'GET', string $form = ''): Response
    {
        $socket = stream_socket_client("tcp://$this->address", timeout: 5);
        $head = "$method $target HTTP/1.0\r\nHost: example.org\r\n";
        if ($form !== '') {
            $headers += ['Content-Type' => 'application/x-www-form-urlencoded', 'Content-Length' => (string) strlen($form)];
        }
        foreach ($headers as $name => $value) {
            $head .= "$name: $value\r\n";
        }
        fwrite($socket, "$head\r\n$form");
        return Response::parse(stream_get_contents($socket));
    }

    /** @return list<int> the statuses of `$times` equal requests */
    public function statuses(int $times, string $target, array $headers = [], string $method = 'GET'): array
    {
        return array_map(
            fn (): int => $this->request($target, $headers, $method)->status,
            range(1, $times),
        );
    }

    public function log(): string
    {
        return (string) @file_get_contents("$this->folder/error.log");
    }

    private static function autoload(): string
    {
        $library = var_export(dirname(__DIR__, 3) . '/php/autoload.php', true);
        $peers = var_export(realpath(self::PEERS) . '/usr/share/php', true);
        $functions = var_export(self::FUNCTIONS, true);
        // Laravel's packages Collections, Conditionable and Macroable are in the namespace of Support. Symfony asks Composer
        // which packages are there, and takes those whose classes it finds where Composer knows of none.
        return <<<PHP
            <?php
            namespace Composer {
                final class InstalledVersions
                {
                    public static function isInstalled(): bool
                    {
                        return false;
                    }
                }
            }
            namespace {
                require $library;
                spl_autoload_register(static function (string \$class): void {
                    \$name = '/' . strtr(\$class, '\\\\', '/') . '.php';
                    foreach (['Support', 'Collections', 'Conditionable', 'Macroable'] as \$package) {
                        \$file = $peers . str_replace('Illuminate/Support/', "Illuminate/\$package/", \$name);
                        if (is_file(\$file)) {
                            require \$file;
                            return;
                        }
                    }
                });
                foreach ($functions as \$file) {
                    is_file($peers . "/\$file") && require_once $peers . "/\$file";
                }
            }
            PHP;
    }

    private static function copy(string $from, string $to): void
    {
        foreach (new \FilesystemIterator($from) as $file) {
            if ($file->isDir()) {
                mkdir("$to/{$file->getFilename()}");
                self::copy($file->getPathname(), "$to/{$file->getFilename()}");
            } else {
                copy($file->getPathname(), "$to/{$file->getFilename()}");
            }
        }
    }
}
