<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

/**
 * nginx and php-fpm of a test's own, in a private folder and on free ports. Each pool has an nginx
 * server of its own, so that a test says which one it speaks to. Both end with the object.
 *
 * @phpstan-type Pool array{user?: string, env?: array<string, string>, params?: array<string, string>, ini?: array<string, string>}
 */
final class Origin
{
    public const int WORKERS = 4;

    private readonly string $folder;
    /** @var array<string, int> */
    private array $ports = [];
    /** @var list<Server> */
    private array $servers = [];

    /** @param array<string, Pool> $pools by name */
    public function __construct(private readonly array $pools)
    {
        $this->folder = Server::folder();
        foreach (glob(__DIR__ . '/www/*.php') as $script) {
            copy($script, "$this->folder/" . basename($script));
        }
        foreach (array_keys($pools) as $pool) {
            $this->ports[$pool] = self::freePort();
        }
        file_put_contents("$this->folder/php-fpm.conf", $this->phpFpmConf());
        file_put_contents("$this->folder/nginx.conf", $this->nginxConf());

        // PHP_INI_SCAN_DIR, which ./build.sh test sets, brings the module and phpredis to php-fpm too.
        $this->servers[] = new Server(
            [getenv('PHP_FPM') ?: 'php-fpm8.4', '-R', '-y', "$this->folder/php-fpm.conf"],
            fn (): bool => file_exists("$this->folder/" . array_key_last($pools) . '.sock'),
        );
        $this->servers[] = new Server(
            ['nginx', '-e', "$this->folder/nginx.log", '-p', $this->folder, '-c', "$this->folder/nginx.conf"],
            fn (): bool => (bool) @fsockopen('127.0.0.1', $this->ports[array_key_last($pools)]),
        );
    }

    public function __destruct()
    {
        $this->servers = [];
        Server::remove($this->folder);
    }

    /** One GET of one of the scripts in www/. @param array<string, scalar> $query */
    public function get(string $pool, string $script, array $query = []): Response
    {
        return $this->many(1, $pool, $script, $query)[0];
    }

    /**
     * `$times` times the same GET, as many at once as there are workers.
     *
     * @param array<string, scalar> $query
     * @return list<Response>
     */
    public function many(int $times, string $pool, string $script, array $query = []): array
    {
        $request = "GET /$script?" . http_build_query($query) . " HTTP/1.0\r\n\r\n";
        $responses = [];
        while (($left = $times - count($responses)) > 0) {
            $sockets = [];
            for ($i = 0; $i < min($left, self::WORKERS); $i++) {
                $sockets[] = $socket = fsockopen('127.0.0.1', $this->ports[$pool], timeout: 5);
                fwrite($socket, $request);
            }
            foreach ($sockets as $socket) {
                $responses[] = Response::parse(stream_get_contents($socket));
            }
        }
        return $responses;
    }

    /** What PHP and both servers have logged so far. */
    public function log(): string
    {
        return implode('', array_map(file_get_contents(...), glob("$this->folder/*.log")));
    }

    private static function freePort(): int
    {
        $address = stream_socket_get_name(stream_socket_server('tcp://127.0.0.1:0'), false);
        return (int) substr(strrchr($address, ':'), 1);
    }

    private function phpFpmConf(): string
    {
        $conf = "[global]\ndaemonize = no\nerror_log = $this->folder/php-fpm.log\n";
        foreach ($this->pools as $name => $pool) {
            $user = $pool['user'] ?? (posix_geteuid() === 0 ? 'nobody' : posix_getpwuid(posix_geteuid())['name']);
            $group = posix_getgrgid(posix_getpwnam($user)['gid'])['name'];
            $conf .= "[$name]\nuser = $user\ngroup = $group\nlisten = $this->folder/$name.sock\nlisten.mode = 0666\n"
                . "pm = static\npm.max_children = " . self::WORKERS . "\n"
                . "php_admin_flag[log_errors] = on\n";
            foreach ($pool['env'] ?? [] as $variable => $value) {
                $conf .= "env[$variable] = $value\n";
            }
            foreach ($pool['ini'] ?? [] as $setting => $value) {
                $conf .= "php_admin_value[$setting] = \"$value\"\n";
            }
        }
        return $conf;
    }

    private function nginxConf(): string
    {
        $conf = "daemon off;\npid $this->folder/nginx.pid;\nerror_log $this->folder/nginx.log;\nevents {}\nhttp {\naccess_log off;\n";
        foreach (['client_body', 'fastcgi', 'proxy', 'scgi', 'uwsgi'] as $kind) {
            $conf .= "{$kind}_temp_path $this->folder/tmp;\n";
        }
        foreach ($this->pools as $name => $pool) {
            $parameters = [
                'SCRIPT_FILENAME' => "$this->folder\$uri",
                'REQUEST_METHOD' => '$request_method',
                'QUERY_STRING' => '$query_string',
                'REMOTE_ADDR' => '$remote_addr',
                ...$pool['params'] ?? [],
            ];
            $conf .= "server {\nlisten 127.0.0.1:{$this->ports[$name]};\nlocation / {\nfastcgi_pass unix:$this->folder/$name.sock;\n";
            foreach ($parameters as $parameter => $value) {
                $conf .= "fastcgi_param $parameter $value;\n";
            }
            $conf .= "}\n}\n";
        }
        return "$conf}\n";
    }
}
