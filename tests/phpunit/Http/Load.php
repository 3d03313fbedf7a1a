<?php

declare(strict_types=1);

namespace RateLimit\Tests\Http;

/** A client that sends one request after another, each over a connection of its own, until it is told to end. */
final class Load
{
    private readonly Server $curl;
    private readonly string $statuses;

    public function __construct(string $url)
    {
        $this->statuses = tempnam(sys_get_temp_dir(), 'rate_limit-');
        $format = ['-w', "%output{>>$this->statuses}%{http_code}\n"];
        $this->curl = new Server(
            ['curl', '-s', '-o', '/dev/null', '-H', 'Connection: close', ...$format, "$url?n=[1-1000000]"],
            static fn (): bool => true,
        );
    }

    public function answered(): int
    {
        return count(file($this->statuses));
    }

    /** @return array<int, int> how often each status was answered; 0: none */
    public function end(): array
    {
        $this->curl->end();
        $statuses = array_count_values(array_map(intval(...), file($this->statuses, FILE_IGNORE_NEW_LINES)));
        unlink($this->statuses);
        return $statuses;
    }
}
