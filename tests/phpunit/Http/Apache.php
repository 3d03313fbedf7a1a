<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

/** Apache with mod_php and processes as workers (prefork), from Debian's packages, in a private folder. */
final class Apache extends WebServer
{
    private const string MODULES = '/usr/lib/apache2/modules';

    private readonly string $folder;
    private readonly int $port;
    private readonly Server $server;

    /**
     * @param array<string, string> $ini settings of php.ini
     * @param string $host lines of the virtual host's configuration
     */
    public function __construct(array $ini, string $host = '')
    {
        $this->folder = Server::folderOfScripts();
        $this->port = $port = Requests::freePort();
        $php = "error_log = $this->folder/php.log\n";
        foreach ($ini as $name => $value) {
            $php .= "$name = $value\n";
        }
        touch("$this->folder/php.log");
        chmod("$this->folder/php.log", 0666);
        file_put_contents("$this->folder/php.ini", $php);
        file_put_contents("$this->folder/apache.conf", $this->configuration($host));
        // In a session of its own, since Apache ends all of its process group, to which the tests would belong.
        $this->server = new Server(
            ['setsid', 'apache2', '-D', 'FOREGROUND', '-d', $this->folder, '-f', "$this->folder/apache.conf"],
            static fn (): bool => (bool) @fsockopen('127.0.0.1', $port),
            ['PHP_INI_SCAN_DIR' => ''],
        );
    }

    public function __destruct()
    {
        $this->server->end();
        Server::remove($this->folder);
    }

    public function url(): string
    {
        return "http://127.0.0.1:$this->port";
    }

    public function reload(): void
    {
        $this->server->replaceWorkers(SIGUSR1);
    }

    public function restart(): void
    {
        $this->server->restart();
    }

    public function log(): string
    {
        return implode('', array_map(file_get_contents(...), glob("$this->folder/*.log")));
    }

    private function configuration(string $host): string
    {
        $modules = '';
        foreach (['mpm_prefork', 'authz_core', 'dir', 'env', 'mime', 'php'] as $module) {
            $file = $module === 'php' ? 'libphp8.4.so' : "mod_$module.so";
            $modules .= "LoadModule {$module}_module " . self::MODULES . "/$file\n";
        }
        $workers = self::WORKERS;
        return <<<CONF
            $modules
            ServerName localhost
            Listen 127.0.0.1:$this->port
            PidFile $this->folder/apache.pid
            ErrorLog $this->folder/apache.log
            DefaultRuntimeDir $this->folder
            Mutex file:$this->folder
            User nobody
            Group nogroup
            StartServers $workers
            MinSpareServers $workers
            MaxSpareServers $workers
            MaxRequestWorkers $workers
            TypesConfig /dev/null
            PHPIniDir $this->folder
            <FilesMatch "\\.php$">
                SetHandler application/x-httpd-php
            </FilesMatch>
            DocumentRoot $this->folder
            FallbackResource /index.php
            $host

            CONF;
    }
}
