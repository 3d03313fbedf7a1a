<?php

declare(strict_types=1);

namespace RateLimit\Tests\LiteSpeed;

use RateLimit\Tests\Http\Requests;
use RateLimit\Tests\Http\Response;
use RateLimit\Tests\Http\Server;
use RateLimit\Tests\Library\Module;

/** The stand-in for LiteSpeed's lsphp (lsphp.c), compiled once, running in a private folder. */
final class Lsphp
{
    /** PHP as a library, from Debian's package libphp8.4-embed. */
    private const string LIBRARY = '/usr/lib/libphp8.4.so';

    public readonly string $folder;
    private readonly Server $server;

    /**
     * @param int $children LSAPI_CHILDREN; below 2 the one process serves by itself
     * @param array<string, string> $ini settings, as php.ini would have them
     * @param array<string, string> $environment of the process
     * @param list<string> $as words before the command
     */
    public function __construct(int $children, array $ini = [], array $environment = [], array $as = [])
    {
        $this->folder = Server::folder();
        chmod($this->folder, 0777);
        $options = [];
        foreach (['extension' => Module::path(), 'error_log' => "$this->folder/php.log", ...$ini] as $name => $value) {
            array_push($options, '-d', "$name=$value");
        }
        $socket = "$this->folder/socket";
        $this->server = new Server(
            [...$as, self::binary(), ...$options, $socket],
            static fn (): bool => (bool) @stream_socket_client("unix://$socket"),
            ['LSAPI_CHILDREN' => (string) $children, ...$environment],
        );
    }

    public function __destruct()
    {
        $this->server->end();
        Server::remove($this->folder);
    }

    /**
     * One request.
     *
     * @param string $code of the script
     * @param list<string> $lines of the request, beside the script
     */
    public function run(string $code, array $lines = []): Response
    {
        return $this->many(1, $code, $lines)[0];
    }

    /**
     * `$times` equal requests, two at once.
     *
     * @param list<string> $lines of the request, beside the script
     * @return list<Response>
     */
    public function many(int $times, string $code, array $lines = []): array
    {
        $request = $this->request($code, $lines);
        return Requests::send("unix://$this->folder/socket", $request, $times, atOnce: 2);
    }

    /**
     * Sends a request and does not wait for its answer.
     *
     * @return resource
     */
    public function begin(string $code)
    {
        $connection = stream_socket_client("unix://$this->folder/socket");
        fwrite($connection, $this->request($code, []));
        return $connection;
    }

    /** Ends the parent; its exit status. */
    public function end(): int
    {
        return $this->server->end();
    }

    public function log(): string
    {
        return (string) @file_get_contents("$this->folder/php.log");
    }

    /** @param list<string> $lines */
    private function request(string $code, array $lines): string
    {
        $script = "$this->folder/" . md5($code) . '.php';
        file_put_contents($script, "<?php header('X-Worker: ' . getmypid());\n$code");
        return implode("\n", ["script $script", ...$lines]) . "\n\n";
    }

    private static function binary(): string
    {
        static $binary = null;
        if ($binary === null) {
            $folder = Server::folder();
            register_shutdown_function(Server::remove(...), $folder);
            $binary = "$folder/lsphp";
            $includes = trim(shell_exec((getenv('PHP_CONFIG') ?: 'php-config') . ' --includes'));
            $files = __DIR__ . '/lsphp.c ' . self::LIBRARY;
            exec("cc -std=gnu17 -Wall -Werror -O1 $includes -o $binary $files 2>&1", $output, $status);
            $status === 0 || throw new \RuntimeException("lsphp.c: " . implode("\n", $output));
        }
        return $binary;
    }
}
