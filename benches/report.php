<?php

declare(strict_types=1);

/*
 * Writes what the other files found: results.md, results.svg and scaling.svg, and six rows of them into
 * README.md. Exits with 1 where a row falls short.
 */

namespace Bench;

require __DIR__ . '/support/start.php';
require __DIR__ . '/support/chart.php';

$records = array_map(
    fn(string $line) => json_decode($line, true, flags: JSON_THROW_ON_ERROR),
    file(setting('BENCH_FIGURES'), FILE_IGNORE_NEW_LINES),
);
$of = fn(string $kind) => array_values(array_filter($records, fn(array $record) => $record['kind'] === $kind));

/** Markdown in columns that also a terminal shows straight. @param list<list<string>> $rows */
function table(array $rows): string
{
    $widths = array_map(fn(int $column) => max(array_map(mb_width(...), array_column($rows, $column))), array_keys($rows[0]));
    array_splice($rows, 1, 0, [array_map(fn(int $width) => str_repeat('-', $width), $widths)]);
    $cell = fn(string $text, int $width) => ' ' . $text . str_repeat(' ', $width - mb_width($text)) . ' ';
    return implode('', array_map(fn(array $row) => '|' . implode('|', array_map($cell, $row, $widths)) . "|\n", $rows));
}

/** Characters of UTF-8. */
function mb_width(string $text): int
{
    return preg_match_all('/./su', $text);
}

$processor = preg_match('/^model name\s*: (.*)/m', file_get_contents('/proc/cpuinfo'), $found) ? $found[1] : php_uname('m');
$cores = substr_count(file_get_contents('/proc/cpuinfo'), "processor\t");
$server = phpredis()->info('server');
$machine = sprintf(
    '%s, %s, %d cores, Linux %s, PHP %s (no opcache; requests with it), phpredis %s, Redis %s',
    date('Y-m-d'), $processor, $cores, php_uname('r'), PHP_VERSION, phpversion('redis'), $server['redis_version'],
);

$rows = array_map(
    fn(array $row) => [$row['row'], $row['what'], $row['reach'], $row['figure'], $row['reached'] ? 'yes' : '**short**'],
    $of('row'),
);
usort($rows, fn(array $a, array $b) => $a[0] <=> $b[0]);
$times = array_map(fn(array $record) => [$record['what'], micros($record['ns'])], $of('decision'));
$results = table([['row', 'what', 'reach', 'this run', 'reached'], ...$rows]);
file_put_contents(__DIR__ . '/results.md', <<<MD
    # Results

    $machine. Written by `./build.sh bench`, which repeats all of it in a few minutes.

    Ratios are medians over interleaved rounds in one process, client and server on one core (rows b and f:
    on all); the header of each file in benches/ says what it measures and what it does not. "Userland" is
    article.php.
    Times below are this machine's; read the ratios.

    $results

    MD . "\n" . table([['one decision, or one request', 'time'], ...$times]));

/** What of the rows README.md shows, and in which words. */
const README_ROWS = [
    'Symfony on APCu, with a lock / memory check()' => 'Symfony\'s sliding window on APCu, with a lock / a check in shared memory',
    'Symfony on Redis, with a lock / native' => 'Symfony\'s sliding window on Redis, with a lock / a check on Redis',
    'userland, pconnect each request / native, over TCP' => 'userland classes on `pconnect` / a check on Redis, over TCP',
    'userland / native, nine in ten denied' => 'the same for traffic of which nine in ten are denied, over a unix socket',
    'requests/s, native on Redis / userland on pconnect' => 'requests per second through nginx and php-fpm: on Redis / userland classes',
    'requests/s, native in shared memory / no limiter' => 'in shared memory / a page without a limiter',
];
$figures = array_column($of('row'), 'figure', 'what');
$six = array_map(fn(string $what, string $words) => [$words, $figures[$what]], array_keys(README_ROWS), README_ROWS);
$readme = __DIR__ . '/../README.md';
file_put_contents($readme, preg_replace(
    '~(?<=<!-- figures of ./build.sh bench -->\n).*(?=\n<!-- end of figures -->)~s',
    strtr("\n" . table([['ratio', 'times'], ...$six]) . "\n$machine.\n", ['$' => '\$']),
    file_get_contents($readme),
));
file_put_contents(__DIR__ . '/results.svg', decisions_chart($of('decision'), $machine));
file_put_contents(__DIR__ . '/scaling.svg', scaling_chart($of('point'), $machine));

echo "\n", $results, "\n";
$short = count(array_filter($of('row'), fn(array $row) => !$row['reached']));
echo $short === 0 ? "every row is reached\n" : "$short rows fall short\n";
echo "written: benches/results.md, benches/results.svg, benches/scaling.svg, README.md\n";
exit($short === 0 ? 0 : 1);
