<?php

declare(strict_types=1);

namespace RateLimit\Tests\Outages;

/** A process that makes attempts when it is told to, with a clock of its own: another host, as far as a limiter sees. */
final class Host
{
    /** @var resource */
    private $process;
    /** @var array<int, resource> */
    private array $pipes = [];
    private readonly string $clock;

    /**
     * @param class-string $class
     * @param string $clock as faketime takes it: '+61s'
     * @param array<string, string> $ini
     */
    public function __construct(string $class, string $store, int $limit, int $window, string $clock, array $ini = [])
    {
        $this->clock = tempnam(sys_get_temp_dir(), 'rate_limit-');
        $this->setClock($clock);
        $options = [];
        foreach ($ini as $name => $value) {
            array_push($options, '-d', "$name=$value");
        }
        $this->process = proc_open(
            [PHP_BINARY, ...$options, __DIR__ . '/each_line.php', $class, $store, (string) $limit, (string) $window],
            [['pipe', 'r'], ['pipe', 'w']],
            $this->pipes,
            null,
            [
                'LD_PRELOAD' => glob('/usr/lib/*/faketime/libfaketime.so.1')[0], 'FAKETIME_TIMESTAMP_FILE' => $this->clock,
                'FAKETIME_NO_CACHE' => '1', 'FAKETIME_DONT_FAKE_MONOTONIC' => '1', ...getenv(),
            ],
        );
    }

    public function __destruct()
    {
        fclose($this->pipes[0]);
        proc_close($this->process);
        unlink($this->clock);
    }

    public function setClock(string $clock): void
    {
        // In one step: faketime reads the file at any moment.
        file_put_contents("$this->clock.new", $clock);
        rename("$this->clock.new", $this->clock);
    }

    /** @return array{allowed: bool, remaining: int, retryAfter: float, clock: ?array{source: string, ahead: ?float}} */
    public function attempt(): array
    {
        fwrite($this->pipes[0], "\n");
        return json_decode(fgets($this->pipes[1]), true, flags: JSON_THROW_ON_ERROR);
    }
}
