<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use RateLimit\Tests\Http\Response;
use RateLimit\Tests\Http\Server;

/** One php-fpm pool over a folder of scripts, spoken to in FastCGI itself. */
final class FpmPool
{
    public readonly string $folder;

    private ?Server $server;

    /**
     * @param array<string, string> $files of the folder, by name
     * @param list<string> $pool lines of the pool's configuration
     * @param array<string, string> $ini settings, as php.ini would have them
     * @param list<string> $under a program that php-fpm is run by, with its arguments
     */
    public function __construct(array $files, array $pool = [], array $ini = [], bool $withExtension = true, array $under = [])
    {
        $this->folder = Server::folder();
        foreach ($files as $name => $content) {
            file_put_contents("$this->folder/$name", $content);
        }
        touch("$this->folder/php.log");
        chmod("$this->folder/php.log", 0666);
        $root = posix_geteuid() === 0;
        file_put_contents("$this->folder/php-fpm.conf", implode("\n", [
            '[global]', 'daemonize = no', "error_log = $this->folder/error.log", '[www]',
            ...($root ? ['user = root'] : []),
            "listen = $this->folder/fpm.sock", 'listen.mode = 0666', 'pm = static', 'pm.max_children = 2',
            'php_admin_flag[log_errors] = on', "php_admin_value[error_log] = $this->folder/php.log", ...$pool, '',
        ]));
        $options = $withExtension ? ['-d', 'extension=' . Module::path()] : [];
        foreach ($ini as $name => $value) {
            array_push($options, '-d', "$name=$value");
        }
        $this->server = new Server(
            [...$under, getenv('PHP_FPM') ?: 'php-fpm8.4', '-n', ...$options, '-y', "$this->folder/php-fpm.conf", ...($root ? ['-R'] : [])],
            fn (): bool => file_exists("$this->folder/fpm.sock"),
        );
    }

    public function __destruct()
    {
        $this->server = null;
        Server::remove($this->folder);
    }

    /** @param array<string, string> $parameters */
    public function get(string $script, array $parameters = []): Response
    {
        $parameters += [
            'REQUEST_METHOD' => 'GET',
            'REQUEST_URI' => $script,
            'SCRIPT_NAME' => $script,
            'SCRIPT_FILENAME' => $this->folder . $script,
            'DOCUMENT_ROOT' => $this->folder,
            'REMOTE_ADDR' => '192.0.2.1',
        ];
        $pairs = '';
        foreach ($parameters as $name => $value) {
            $pairs .= pack('NN', strlen($name) | 1 << 31, strlen($value) | 1 << 31) . $name . $value;
        }
        $socket = fsockopen("unix://$this->folder/fpm.sock", timeout: 5);
        fwrite($socket, self::record(1, pack('nCx5', 1, 0)) . self::record(4, $pairs) . self::record(4, '') . self::record(5, ''));
        $output = '';
        while (strlen($header = (string) stream_get_contents($socket, 8)) === 8) {
            ['type' => $type, 'length' => $length, 'padding' => $padding] = unpack('Cversion/Ctype/nid/nlength/Cpadding', $header);
            $content = (string) stream_get_contents($socket, $length + $padding);
            $output .= $type === 6 ? substr($content, 0, $length) : '';
        }
        if ($output === '') {
            return new Response(502, [], ''); // the worker died
        }
        $status = preg_match('/^Status: (\d+)/mi', $output, $match) === 1 ? $match[1] : '200';
        return Response::parse("HTTP/1.1 $status\r\n$output");
    }

    /** @return list<int> the statuses of `$times` equal requests */
    public function statuses(int $times, string $script, array $parameters = []): array
    {
        return array_map(fn (): int => $this->get($script, $parameters)->status, range(1, $times));
    }

    public function log(): string
    {
        return (string) file_get_contents("$this->folder/php.log");
    }

    private static function record(int $type, string $content): string
    {
        return pack('CCnnxx', 1, $type, 1, strlen($content)) . $content;
    }
}
