<?php

declare(strict_types=1);

namespace RateLimit\Symfony;

use RateLimit\Guard;
use Symfony\Component\Config\Definition\Configurator\DefinitionConfigurator;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\DependencyInjection\Reference;
use Symfony\Component\HttpKernel\Bundle\AbstractBundle;
use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;

/**
 * Limiters in the manner of `framework.rate_limiter`, and a file of rules for all requests:
 *
 *     rate_limit:
 *         store: '%env(REDIS_URL)%'                             # default: the setting rate_limit.store
 *         rules: '%kernel.project_dir%/config/rate_limit.php'   # default: none
 *         limiters:
 *             anonymous_api: { policy: sliding_window, limit: 100, interval: '1 minute' }
 *
 * The limiter above is the service `rate_limit.limiter.anonymous_api`, and is passed to the arguments
 * `LimiterFactoryInterface $anonymousApiLimiter` and, from Symfony 7.3, `RateLimiterFactoryInterface
 * $anonymousApiLimiter`.
 */
final class RateLimitBundle extends AbstractBundle
{
    public function configure(DefinitionConfigurator $definition): void
    {
        $definition->rootNode()
            ->children()
                ->scalarNode('store')->defaultNull()->end()
                ->scalarNode('rules')->defaultNull()->end()
                ->arrayNode('limiters')
                    ->useAttributeAsKey('name')
                    ->arrayPrototype()
                        ->children()
                            ->enumNode('policy')->isRequired()->values(['sliding_window', 'sliding_window_log'])->end()
                            ->integerNode('limit')->isRequired()->min(0)->end()
                            ->scalarNode('interval')->isRequired()->end()
                        ->end()
                    ->end()
                ->end()
            ->end();
    }

    /** @param array{store: ?string, rules: ?string, limiters: array<string, array<string, mixed>>} $config */
    public function loadExtension(array $config, ContainerConfigurator $container, ContainerBuilder $builder): void
    {
        foreach ($config['limiters'] as $name => $limiter) {
            $id = "rate_limit.limiter.$name";
            $builder->register($id, LimiterFactory::class)
                ->setArguments([['id' => $name] + $limiter, $config['store']]);
            $builder->registerAliasForArgument($id, LimiterFactoryInterface::class, "$name.limiter");
            if (interface_exists(RateLimiterFactoryInterface::class)) {
                $builder->registerAliasForArgument($id, RateLimiterFactoryInterface::class, "$name.limiter");
            }
        }
        if ($config['rules'] !== null) {
            $builder->register('rate_limit.guard', Guard::class)
                ->setFactory([Guard::class, 'fromFile'])
                ->setArguments([$config['rules'], $config['store']]);
            $builder->register('rate_limit.listener', RateLimitListener::class)
                ->setArguments([new Reference('rate_limit.guard')])
                ->addTag('kernel.event_subscriber');
        }
    }
}
