<?php

declare(strict_types=1);

namespace RateLimit;

/** The rules cannot be used. The message names the key, its value and what is allowed there. */
final class InvalidRules extends \InvalidArgumentException
{
}
