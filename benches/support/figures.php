<?php

declare(strict_types=1);

/* What a benchmark found: a line for the reader at once, and a record for benches/report.php. */

namespace Bench;

/** A figure that must be at most $reach. */
function at_most(string $row, string $what, float $reach, float $figure, string $unit = ''): void
{
    record($row, $what, "at most $reach$unit", $figure, $unit, $figure <= $reach);
}

/** A figure that must be at least $reach. */
function at_least(string $row, string $what, float $reach, float $figure, string $unit = ''): void
{
    record($row, $what, "at least $reach$unit", $figure, $unit, $figure >= $reach);
}

/** A figure that must be exactly $reach. */
function exactly(string $row, string $what, int $reach, float $figure): void
{
    record($row, $what, (string) $reach, $figure, '', abs($figure - $reach) < 0.01);
}

function record(string $row, string $what, string $reach, float $figure, string $unit, bool $reached): void
{
    $shown = shown($figure) . $unit;
    keep(['kind' => 'row', 'row' => $row, 'what' => $what, 'reach' => $reach, 'figure' => $shown, 'reached' => $reached]);
    printf("    %-2s %-76s %10s  (%s)%s\n", $row, $what, $shown, $reach, $reached ? '' : '  SHORT');
}

/** How long one decision takes, for the chart and the second table. */
function decision(string $what, Times $times): void
{
    keep(['kind' => 'decision', 'what' => $what, 'ns' => $times->median()]);
    printf("       %-76s %10s\n", $what, micros($times->median()));
}

/** One point of benches/scaling.svg. */
function point(string $panel, string $series, int $at, Times $times): void
{
    keep(['kind' => 'point', 'panel' => $panel, 'series' => $series, 'at' => $at, 'ns' => $times->median()]);
    printf("       %-60s %15d %10s\n", "$series, $panel", $at, micros($times->median()));
}

function micros(float $ns): string
{
    return $ns < 1000 ? shown($ns) . ' ns' : shown($ns / 1000) . ' µs';
}

/** Three digits, or all before the point. */
function shown(float $number): string
{
    $before = max(1, (int) floor(log10(max(abs($number), 1e-9))) + 1);
    return number_format($number, max(0, 3 - $before), '.', '');
}

/** @param array<string, mixed> $record */
function keep(array $record): void
{
    file_put_contents(setting('BENCH_FIGURES'), json_encode($record, JSON_THROW_ON_ERROR) . "\n", FILE_APPEND);
}
