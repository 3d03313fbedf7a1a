<?php

declare(strict_types=1);

/* The two charts, as SVG. */

namespace Bench;

const NATIVE = '#23718c';
const OTHERS = '#b9c4d0';
const COLOURS = ['#23718c', '#d1652a', '#6a4c93', '#4f9d69', '#8a8a8a'];

/** What of the decisions is drawn, and under which name. */
const DRAWN = [
    'apcu_inc()' => 'APCu: apcu_inc(), a plain count',
    'counter in shared memory' => 'rate_limit: counter in shared memory',
    'log in shared memory' => 'rate_limit: log in shared memory',
    'denial on Redis, remembered by the host' => 'rate_limit: denial on Redis, remembered by the host',
    'Symfony on APCu, with a lock' => 'Symfony: sliding window on APCu, with a lock',
    'native, new limiter each time, over unix' => 'rate_limit: Redis, unix socket',
    'native, new limiter each time, over TCP' => 'rate_limit: Redis, TCP',
    'userland, one object for all calls, over unix' => 'userland: Redis, unix, one object for all calls',
    'userland, pconnect each time, over unix' => 'userland: Redis, unix, pconnect each request',
    'userland, pconnect each time, over TCP' => 'userland: Redis, TCP, pconnect each request',
    'userland, connect and SCRIPT LOAD each time, over unix' => 'userland: Redis, unix, connect and SCRIPT LOAD',
    'userland, connect and SCRIPT LOAD each time, over TCP' => 'userland: Redis, TCP, connect and SCRIPT LOAD',
    'Symfony on Redis, with a lock' => 'Symfony: sliding window on Redis, with a lock',
];

/** @param list<array{what: string, ns: float}> $decisions */
function decisions_chart(array $decisions, string $machine): string
{
    $times = array_column($decisions, 'ns', 'what');
    $x = fn(float $ns): float => 360 + 560 * log10($ns / 10) / 5; // from 10 ns over five decades
    $bottom = 76 + 26 * count(DRAWN);
    $body = text(16, 26, 'Time of one decision from PHP', 'font-size="16"');
    foreach (['0.01 µs', '0.1 µs', '1 µs', '10 µs', '100 µs', '1 ms'] as $i => $label) {
        $at = $x(10 ** ($i + 1));
        $body .= "<path d=\"M{$at} 62V$bottom\" stroke=\"#ddd\"/>" . text($at, 54, $label, 'text-anchor="middle"');
    }
    $y = 72;
    foreach (DRAWN as $what => $name) {
        $colour = str_starts_with($name, 'rate_limit') ? NATIVE : OTHERS;
        $width = round($x($times[$what]) - 360, 1);
        $body .= text(350, $y + 13, $name, 'text-anchor="end"')
            . "<rect x=\"360\" y=\"$y\" width=\"$width\" height=\"18\" fill=\"$colour\"/>"
            . text(366 + $width, $y + 13, micros($times[$what]));
        $y += 26;
    }
    return svg(1000, $bottom + 34, $body . text(16, $bottom + 22, "$machine. Logarithmic scale.", 'font-size="10" fill="#666"'));
}

/** @param list<array{panel: string, series: string, at: int, ns: float}> $points */
function scaling_chart(array $points, string $machine): string
{
    $series = array_values(array_unique(array_column($points, 'series')));
    $body = text(16, 26, 'Time of one decision as identities, limits and processes grow', 'font-size="16"');
    foreach ($series as $i => $name) {
        [$at, $colour] = [16 + 196 * $i, COLOURS[$i]];
        $body .= "<rect x=\"$at\" y=\"40\" width=\"12\" height=\"12\" fill=\"$colour\"/>" . text($at + 18, 50, $name);
    }
    foreach (['identities', 'limit', 'processes on one identity'] as $i => $panel) {
        $of = array_filter($points, fn(array $point) => $point['panel'] === $panel);
        $body .= panel(60 + 320 * $i, $panel, $of, $series);
    }
    return svg(1000, 434, $body . text(16, 424, "$machine. Logarithmic scales.", 'font-size="10" fill="#666"'));
}

/**
 * @param array<array{series: string, at: int, ns: float}> $points
 * @param list<string> $series
 */
function panel(int $left, string $title, array $points, array $series): string
{
    $ats = array_values(array_unique(array_column($points, 'at')));
    $x = fn(int $at): float => $left + 260 * log($at / $ats[0]) / log(end($ats) / $ats[0]);
    $y = fn(float $ns): float => 370 - 75 * log10($ns / 10); // from 10 ns over four decades
    $body = text($left + 130, 404, $title, 'text-anchor="middle"');
    foreach (['0.01 µs', '0.1 µs', '1 µs', '10 µs', '100 µs'] as $i => $label) {
        $at = $y(10 ** ($i + 1));
        $body .= "<path d=\"M$left {$at}h260\" stroke=\"#ddd\"/>" . text($left - 6, $at + 4, $label, 'text-anchor="end" font-size="10"');
    }
    foreach ($ats as $at) {
        $body .= text($x($at), 386, preg_replace(['/000000$/', '/000$/'], ['M', 'k'], (string) $at), 'text-anchor="middle" font-size="10"');
    }
    foreach ($series as $i => $name) {
        $line = [];
        foreach ($points as $point) {
            if ($point['series'] === $name) {
                $line[] = round($x($point['at']), 1) . ',' . round($y($point['ns']), 1);
            }
        }
        $body .= '<polyline points="' . implode(' ', $line) . '" fill="none" stroke-width="2" stroke="' . COLOURS[$i] . '"/>';
    }
    return $body;
}

function text(float $x, float $y, string $text, string $attributes = ''): string
{
    return "<text x=\"$x\" y=\"$y\" $attributes>" . htmlspecialchars($text) . "</text>\n";
}

function svg(int $width, int $height, string $body): string
{
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 $width $height\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
        . "<rect width=\"$width\" height=\"$height\" fill=\"#fff\"/>\n$body</svg>\n";
}
