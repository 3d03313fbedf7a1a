<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

/** PHP's built-in web server, which forks its workers after the modules have started. */
final class BuiltIn extends WebServer
{
    private readonly string $folder;
    private readonly int $port;
    private readonly Server $server;

    /** @param array<string, string> $ini settings, as php.ini would have them */
    public function __construct(array $ini)
    {
        $this->folder = Server::folderOfScripts();
        $this->port = $port = Requests::freePort();
        $options = [];
        foreach (['error_log' => "$this->folder/php.log", ...$ini] as $name => $value) {
            array_push($options, '-d', "$name=$value");
        }
        $this->server = new Server(
            [PHP_BINARY, '-n', ...$options, '-S', "127.0.0.1:$this->port", '-t', $this->folder],
            static fn (): bool => (bool) @fsockopen('127.0.0.1', $port),
            ['PHP_CLI_SERVER_WORKERS' => (string) self::WORKERS],
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

    public function log(): string
    {
        return (string) @file_get_contents("$this->folder/php.log");
    }
}
