<?php

declare(strict_types=1);

/*
 * Row b, and the workers' part of scaling.svg: forked processes that all count on one identity.
 *
 * The only benchmark that is not pinned to one core: processes must meet. A figure is the time from the
 * first call's start to the last call's end over the number of calls made by all, so it falls as cores
 * are added where nobody waits for anybody, and rises where they do. It is not the latency of a call.
 */

namespace Bench;

require __DIR__ . '/support/start.php';

const CALLS = 100_000;

$identity = IDENTITY;
$counter = new \SlidingWindowCounter('memory://', NEVER_REACHED, 60);
// A log is held while it is written, and on a busy machine a holder may not run for longer than others wait.
$log = new \SlidingWindowLog('memory://', 1000, 3600, \RateLimit\OnFailure::Open);
apcu_store($identity, 0);

$contenders = [
    'apcu_inc()' => function () use ($identity): void {
        for ($i = 0; $i < CALLS; ++$i) {
            \apcu_inc($identity);
        }
    },
    'counter in shared memory' => function () use ($counter, $identity): void {
        for ($i = 0; $i < CALLS; ++$i) {
            $counter->check($identity);
        }
    },
    'log in shared memory' => function () use ($log, $identity): void {
        for ($i = 0; $i < CALLS; ++$i) {
            $log->check($identity);
        }
    },
];

define('Bench\CORES', pcntl_getcpuaffinity());

/** Nanoseconds a call, of $processes at once. */
function together(int $processes, \Closure $run): float
{
    [$gate, $started] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    stream_set_read_buffer($started, 0); // one byte for each process
    [$results, $result] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    for ($i = 0; $i < $processes; ++$i) {
        if (pcntl_fork() === 0) {
            pcntl_setcpuaffinity(null, [CORES[$i % count(CORES)]]); // sooner than the kernel would spread them
            fread($started, 1);
            $began = hrtime(true);
            $run();
            fwrite($result, pack('PP', $began, hrtime(true)));
            posix_kill(posix_getpid(), SIGKILL); // no shutdown of what the parent owns
        }
    }
    fwrite($gate, str_repeat('x', $processes));
    [$first, $last] = [PHP_INT_MAX, 0];
    for ($i = 0; $i < $processes; ++$i) {
        pcntl_wait($status);
        if (!pcntl_wifsignaled($status)) {
            throw new \RuntimeException('a process ended before its time');
        }
        $times = unpack('Pbegan/Pended', fread($results, 16));
        [$first, $last] = [min($first, $times['began']), max($last, $times['ended'])];
    }
    return ($last - $first) / ($processes * CALLS);
}

$taken = [];
for ($round = 0; $round < 15; ++$round) {
    foreach ([1, 2, 4, 8] as $processes) {
        foreach ($contenders as $name => $run) {
            $taken[$name][$processes][] = together($processes, $run);
        }
    }
}
foreach ($taken as $name => $by_processes) {
    foreach ($by_processes as $processes => $rounds) {
        $times[$name][$processes] = new Times($rounds);
        point('processes on one identity', $name, $processes, $times[$name][$processes]);
    }
}
$ours = $times['counter in shared memory'];
at_least('b', 'apcu_inc() / memory check(), one hot key, 4 processes', 3, $times['apcu_inc()'][4]->over($ours[4]));
at_most('b', 'memory check(), 8 processes / 2 processes, each call', 1.2, $ours[8]->over($ours[2]));
