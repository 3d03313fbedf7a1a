<?php

declare(strict_types=1);

namespace RateLimit;

/** How the calls of a window are counted. */
enum Algorithm: string
{
    /** Every admitted call is remembered: exact, and its memory grows with the limit. */
    case Log = 'log';

    /** Two numbers a client: the smallest, and approximate where traffic comes in bursts. */
    case Counter = 'counter';
}
