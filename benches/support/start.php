<?php

declare(strict_types=1);

/* Every benchmark begins with this: helpers, and what scripts/bench.sh has started for it. */

namespace Bench;

require __DIR__ . '/timing.php';
require __DIR__ . '/figures.php';

/** An identity as the extension makes them. */
const IDENTITY = '4b7a1c9e03d25f68aa10cc42:trending';
/** A limit that no benchmark reaches: every call is admitted. */
const NEVER_REACHED = 1_000_000_000;

/** A value that scripts/bench.sh passes on. */
function setting(string $name): string
{
    $value = getenv($name);
    return $value !== false ? $value : throw new \RuntimeException("$name is not set; run ./build.sh bench");
}

/** Where the private server listens. @return array{unix: string, TCP: string} */
function dsns(): array
{
    return [
        'unix' => 'redis+unix://' . setting('BENCH_REDIS_SOCKET'),
        'TCP' => 'redis://127.0.0.1:' . setting('BENCH_REDIS_PORT'),
    ];
}

/** phpredis, connected to the private server. */
function phpredis(string $transport = 'unix'): \Redis
{
    $redis = new \Redis();
    connect($redis, $transport, 'connect');
    return $redis;
}

/** @param 'connect'|'pconnect' $how */
function connect(\Redis $redis, string $transport, string $how): void
{
    $transport === 'unix'
        ? $redis->$how(setting('BENCH_REDIS_SOCKET'))
        : $redis->$how('127.0.0.1', (int) setting('BENCH_REDIS_PORT'));
}

/**
 * PHP with nothing but what is named.
 *
 * @param array<string, string> $settings
 * @return list<string>
 */
function php(array $settings = [], string ...$arguments): array
{
    $command = [PHP_BINARY, '-n'];
    foreach ($settings as $name => $value) {
        array_push($command, '-d', "$name=$value");
    }
    return [...$command, ...$arguments];
}

/**
 * PHP with the module, and patience for a machine that has other things to do.
 *
 * @param array<string, string> $settings
 * @return list<string>
 */
function php_with_module(array $settings, string ...$arguments): array
{
    return php(['extension' => setting('BENCH_MODULE'), 'rate_limit.timeout' => '10', ...$settings], ...$arguments);
}

/**
 * Runs a program and gives its output.
 *
 * @param list<string> $command
 */
function run(array $command): string
{
    $process = proc_open($command, [1 => ['pipe', 'w']], $pipes);
    $output = stream_get_contents($pipes[1]);
    $status = proc_close($process);
    return $status === 0 ? $output : throw new \RuntimeException(implode(' ', $command) . ": status $status");
}
