<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

/** The extension under test. */
final class Module
{
    /** The file that this process has loaded it from, so that the servers of a test load the same. */
    public static function path(): string
    {
        return preg_match('~ (/\S.*rate_limit[^/]*\.so)$~m', file_get_contents('/proc/self/maps'), $match) === 1
            ? $match[1]
            : throw new \LogicException('The extension rate_limit is not loaded: run ./build.sh test');
    }
}
