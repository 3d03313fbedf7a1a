<?php

declare(strict_types=1);

/*
 * Row m: what loading the extension adds to the start and end of a PHP process, and how large it is.
 *
 * A whole process each time, php -n with the module and without it, in turns; the shared memory has its
 * default size. Under php-fpm this is paid once, not per request.
 */

namespace Bench;

require __DIR__ . '/support/start.php';

$start = function (array $settings): \Closure {
    $command = php($settings, '-r', '');
    return function (int $n) use ($command): void {
        for ($i = 0; $i < $n; ++$i) {
            run($command);
        }
    };
};
$times = race(['with' => $start(['extension' => setting('BENCH_MODULE')]), 'without' => $start([])], 1, 101);
at_most('m', 'start-up of a PHP process', 1, $times['with']->less($times['without'])->median() / 1e6, ' ms');

$stripped = setting('BENCH_SCRATCH') . '/stripped.so';
run(['strip', '-o', $stripped, setting('BENCH_MODULE')]);
at_most('m', 'size of the stripped module', 3, filesize($stripped) / 1e6, ' MB');
