<?php

declare(strict_types=1);

// One check, by which file of the module it was answered, and by whom.
$limiter = new SlidingWindowCounter('memory://', limit: 50, windowSeconds: 31_536_000);
http_response_code($limiter->check('everybody')['allowed'] ? 200 : 429);
preg_match('~ (\d+) +/\S*rate_limit\S*\.so~', file_get_contents('/proc/self/maps'), $match);
header("X-Module: $match[1]");
