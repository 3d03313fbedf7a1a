<?php

declare(strict_types=1);

namespace RateLimit\Tests;

use PHPUnit\Event\Test\PreparationStarted;
use PHPUnit\Event\Test\PreparationStartedSubscriber;
use PHPUnit\Runner\Extension\Extension;
use PHPUnit\Runner\Extension\Facade;
use PHPUnit\Runner\Extension\ParameterCollection;
use PHPUnit\TextUI\Configuration\Configuration;

/**
 * Lets no test begin in the last seconds of a minute. Where a test in real time goes over the start of a
 * counter's window, a unit of the old one comes free at once, and rightly so.
 */
final class AwayFromTheMinute implements Extension
{
    private const int LAST_SECONDS = 6;

    public function bootstrap(Configuration $configuration, Facade $facade, ParameterCollection $parameters): void
    {
        $facade->registerSubscriber(new class implements PreparationStartedSubscriber {
            public function notify(PreparationStarted $event): void
            {
                AwayFromTheMinute::wait();
            }
        });
    }

    public static function wait(): void
    {
        $left = 60 - fmod(microtime(true), 60);
        if ($left < self::LAST_SECONDS) {
            usleep((int) ($left * 1e6) + 1_000);
        }
    }
}
