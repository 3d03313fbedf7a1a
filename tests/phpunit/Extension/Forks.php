<?php

declare(strict_types=1);

namespace RateLimit\Tests\Extension;

/** Children of the test's process. */
final class Forks
{
    /**
     * Runs `$work` in `$count` children at once.
     *
     * @param \Closure(int): mixed $work gets the child's number; what it returns goes through JSON
     * @return list<mixed>
     */
    public static function run(int $count, \Closure $work): array
    {
        $pipes = $children = [];
        for ($number = 0; $number < $count; ++$number) {
            $pipes[] = $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
            if (($children[] = pcntl_fork()) === 0) {
                try {
                    $result = $work($number);
                } catch (\Throwable $error) {
                    $result = (string) $error;
                }
                fwrite($pair[1], json_encode($result));
                posix_kill(posix_getpid(), SIGKILL); // nothing of the test's own ends here
            }
            fclose($pair[1]);
            stream_set_timeout($pair[0], 86_400); // as long as it takes
        }
        $results = array_map(fn (array $pair): mixed => json_decode(stream_get_contents($pair[0]), true), $pipes);
        foreach ($children as $child) {
            pcntl_waitpid($child, $status);
        }
        return $results;
    }
}
