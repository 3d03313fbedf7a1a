<?php

declare(strict_types=1);

namespace RateLimit\Tests\Identity;

/** A script in a PHP of its own, with the settings of this one's: `rate_limit.salt` is not for `ini_set()`. */
final class Script
{
    /**
     * What `$file` of this folder printed on its standard output, and what it logged.
     *
     * @param array<string, string> $settings
     * @param list<string> $arguments
     * @return array{output: string, log: string}
     */
    public static function run(string $file, array $settings, array $arguments = [], ?string $salt = null): array
    {
        $options = ['-d', 'log_errors=1', '-d', 'error_log='];
        foreach ($settings as $name => $value) {
            array_push($options, '-d', "$name=\"$value\"");
        }
        $log = tmpfile();
        $process = proc_open(
            [PHP_BINARY, ...$options, __DIR__ . "/$file", ...$arguments],
            [1 => ['pipe', 'w'], 2 => $log],
            $pipes,
            null,
            [...array_diff_key(getenv(), ['RL_DAILY_SALT' => 0]), ...$salt === null ? [] : ['RL_DAILY_SALT' => $salt]],
        );
        $output = stream_get_contents($pipes[1]);
        $status = proc_close($process);
        rewind($log);
        $logged = stream_get_contents($log);
        return $status === 0 ? ['output' => $output, 'log' => $logged] : throw new \RuntimeException("$file: $logged$output");
    }
}
