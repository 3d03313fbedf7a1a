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
    public const int WORKERS = WebServer::WORKERS;

    private readonly string $folder;
    /** @var array<string, int> */
    private array $ports = [];
    private readonly Server $nginx;
    private readonly Server $phpFpm;

    /**
     * @param array<string, Pool> $pools by name
     * @param list<string> $options of php-fpm; by default PHP_INI_SCAN_DIR, which ./build.sh test sets,
     *     brings the module and phpredis
     */
    public function __construct(private readonly array $pools, array $options = [])
    {
        $this->folder = Server::folderOfScripts();
        foreach (array_keys($pools) as $pool) {
            $this->ports[$pool] = Requests::freePort();
        }
        file_put_contents("$this->folder/php-fpm.conf", $this->phpFpmConf());
        file_put_contents("$this->folder/nginx.conf", $this->nginxConf());

        $last = array_key_last($pools);
        [$socket, $port] = ["$this->folder/$last.sock", $this->ports[$last]];
        $this->phpFpm = new Server(
            [getenv('PHP_FPM') ?: 'php-fpm8.4', ...$options, '-R', '-y', "$this->folder/php-fpm.conf"],
            static fn (): bool => file_exists($socket),
        );
        $this->nginx = new Server(
            ['nginx', '-e', "$this->folder/nginx.log", '-p', $this->folder, '-c', "$this->folder/nginx.conf"],
            static fn (): bool => (bool) @fsockopen('127.0.0.1', $port),
        );
    }

    public function __destruct()
    {
        $this->nginx->end();
        $this->phpFpm->end();
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
        return Requests::get($this->url($pool), "/$script?" . http_build_query($query), $times, self::WORKERS);
    }

    /** `http://` and where a pool's nginx server listens. */
    public function url(string $pool): string
    {
        return "http://127.0.0.1:{$this->ports[$pool]}";
    }

    /** Waits until php-fpm's workers are all new ones. */
    public function reload(): void
    {
        $this->phpFpm->replaceWorkers(SIGUSR2);
    }

    /** Ends php-fpm and starts it again. */
    public function restart(): void
    {
        $this->phpFpm->restart();
    }

    /** What PHP and both servers have logged so far. */
    public function log(): string
    {
        return implode('', array_map(file_get_contents(...), glob("$this->folder/*.log")));
    }

    private function phpFpmConf(): string
    {
        $conf = "[global]\ndaemonize = no\nprocess_control_timeout = 10s\nerror_log = $this->folder/php-fpm.log\n";
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
                'REQUEST_URI' => '$request_uri',
                'QUERY_STRING' => '$query_string',
                'REMOTE_ADDR' => '$remote_addr',
                ...$pool['params'] ?? [],
            ];
            $conf .= "server {\nlisten 127.0.0.1:{$this->ports[$name]};\nroot $this->folder;\n"
                . "location / {\ntry_files \$uri /index.php;\nfastcgi_pass unix:$this->folder/$name.sock;\n";
            foreach ($parameters as $parameter => $value) {
                $conf .= "fastcgi_param $parameter $value;\n";
            }
            $conf .= "}\n}\n";
        }
        return "$conf}\n";
    }
}
