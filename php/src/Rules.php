<?php

declare(strict_types=1);

namespace RateLimit;

/**
 * What is limited, and how: docs/middleware.md has the reference of the array that it is read from.
 *
 * @phpstan-type Limit array{name?: string, limit: int, window: int, algorithm?: 'counter'|'log',
 *     by?: 'client'|'endpoint'|string|\Closure, cost?: int}
 */
final readonly class Rules
{
    private const array KEYS = [
        'default', 'routes', 'exempt', 'client', 'edge', 'store', 'on_failure', 'dry_run', 'missing', 'response',
    ];

    /**
     * @param list<Policy> $default for a request that no route matches, or whose path cannot be decoded
     * @param list<Route> $routes the first that matches is the one
     * @param list<Route> $exemptRoutes matched against the path as it was sent
     * @param list<string> $exemptMethods in capitals
     * @param null|ClientAddress|\Closure(Request): ?string $client null: the framework's word, or the peer
     * @param ?Edge $edge null: there is no worker before this origin
     * @param ?string $store null: the setting rate_limit.store
     * @param string $onFailure a value of OnFailure
     * @param string $missing without the extension: 'error', 'pass' or 'deny'
     * @param bool $problem whether the body of a 429 is application/problem+json
     * @param array<string, string> $headers more headers of a 429
     */
    private function __construct(
        public array $default,
        public array $routes,
        public Networks $exemptNetworks,
        public array $exemptRoutes,
        public array $exemptMethods,
        public null|ClientAddress|\Closure $client,
        public ?Edge $edge,
        public ?string $store,
        public string $onFailure,
        public bool $dryRun,
        public string $missing,
        public bool $problem,
        public array $headers,
    ) {
    }

    /**
     * @param string $file a PHP file that returns the array
     * @throws InvalidRules
     */
    public static function fromFile(string $file): self
    {
        if (!is_file($file) || !is_readable($file)) {
            throw new InvalidRules("rate limit rules: $file cannot be read");
        }
        $rules = (static fn () => require $file)();
        if (!is_array($rules)) {
            $type = get_debug_type($rules);
            throw new InvalidRules("rate limit rules: $file returns $type: must return an array");
        }
        return self::fromArray($rules, $file);
    }

    /**
     * @param array<string, mixed> $rules
     * @param string $place what messages call the array
     * @throws InvalidRules where a key is unknown or a value not allowed: the message names both and the rule
     */
    public static function fromArray(array $rules, string $place = 'rate limit rules'): self
    {
        $all = new Section($place, $rules);
        $all->only(...self::KEYS);
        $exempt = $all->section('exempt');
        $exempt->only('networks', 'routes', 'methods');
        $response = $all->section('response');
        $response->only('format', 'headers');
        $networks = $exempt->texts('networks');
        $paths = $exempt->texts('routes');
        return new self(
            default: self::policies($all, 'default', 'default'),
            routes: self::routes($all->section('routes')),
            exemptNetworks: $exempt->in('networks', static fn () => new Networks($networks)),
            exemptRoutes: $exempt->in('routes', static fn () => array_map(
                static fn (string $template) => new Route($template),
                $paths,
            )),
            exemptMethods: array_map(strtoupper(...), $exempt->texts('methods')),
            client: self::client($all),
            edge: self::edge($all),
            store: $all->text('store'),
            onFailure: $all->oneOf('on_failure', 'memory', 'throw', 'open', 'closed'),
            dryRun: $all->boolean('dry_run', false),
            missing: $all->oneOf('missing', 'error', 'pass', 'deny'),
            problem: $response->oneOf('format', 'json', 'problem') === 'problem',
            headers: $response->headers('headers'),
        );
    }

    /** The route that a request is on; null: none, so the default limit is for it. */
    public function route(Request $request): ?Route
    {
        $script = $request->script();
        $paths = [Path::canonical($request->target, $script)];
        if (!in_array(basename($script), ['', 'index.php'], true)) {
            $paths[] = Path::resolve($script); // a web server may rewrite any path to it
        }
        foreach (array_filter($paths) as $path) {
            $route = array_find($this->routes, static fn (Route $route) => $route->matches($request->method, $path));
            if ($route !== null) {
                return $route;
            }
        }
        return null;
    }

    /**
     * Whether a request is let through unseen. A path is exempt only if it was sent exactly as it will be read: a
     * detour (`/health/../api`) that the limiter and the application might resolve differently opens nothing. The
     * address of a trusted proxy stands for whoever came through it without saying who he is, and is never exempt.
     *
     * @param ?string $client the client's address, null where it is not known
     */
    public function exempts(Request $request, ?string $client): bool
    {
        $path = Path::raw($request->target);
        return in_array($request->method, $this->exemptMethods, true)
            || ($client !== null && $this->exemptNetworks->contains($client) && !$this->isProxy($client))
            || ($path === Path::canonical($request->target, $request->script())
                && array_any($this->exemptRoutes, static fn ($route) => $route->matches($request->method, $path)));
    }

    private function isProxy(string $address): bool
    {
        return $this->client instanceof ClientAddress && $this->client->trusts($address);
    }

    /** @return list<Route> */
    private static function routes(Section $section): array
    {
        $routes = [];
        foreach ($section->keys() as $template) {
            preg_match('~([A-Za-z0-9_.-]+)(?:/\*|/\{[^/]*\})*$~', $template, $last);
            $policies = self::policies($section, $template, $last[1] ?? 'default');
            $route = $section->in($template, static fn () => new Route($template, $policies));
            $hiding = array_find($routes, static fn (Route $earlier) => $earlier->hides($route));
            if ($hiding !== null) {
                $section->fail($template, "is never reached: '$hiding->template' before it matches all of it");
            }
            $routes[] = $route;
        }
        return $routes;
    }

    /**
     * @param string $name what a policy without a name is called
     * @return non-empty-list<Policy>
     */
    private static function policies(Section $section, string $key, string $name): array
    {
        $limits = $section->section($key);
        $keys = $limits->keys();
        if ($keys === []) {
            $section->reject($key, "a limit (['limit' => 100, 'window' => 60]) or a list of limits");
        }
        if ($keys[0] !== '0') {
            return [self::policy($limits, $name)];
        }
        $policies = array_map(static fn ($index) => self::policy($limits->section($index), $name), $keys);
        $names = array_column($policies, 'name');
        foreach (array_diff_key($names, array_unique($names)) as $twice) {
            $section->fail($key, "has two limits called '$twice': each needs a 'name' of its own");
        }
        return $policies;
    }

    private static function policy(Section $limit, string $name): Policy
    {
        $limit->only('name', 'limit', 'window', 'algorithm', 'by', 'cost');
        $arguments = [
            'name' => $limit->text('name', $name),
            'limit' => $limit->integer('limit'),
            'window' => $limit->integer('window'),
            'algorithm' => Algorithm::from($limit->oneOf('algorithm', 'counter', 'log')),
            'by' => self::by($limit),
            'cost' => $limit->integer('cost', 1),
        ];
        return $limit->in(null, static fn () => new Policy(...$arguments));
    }

    private static function by(Section $limit): string|\Closure
    {
        $by = $limit->value('by', Policy::BY_CLIENT);
        if (is_string($by) && preg_match('/^header:([A-Za-z0-9-]+)$/D', $by, $header) === 1) {
            return static fn (Request $request) => $request->header($header[1]);
        }
        return is_string($by) || $by instanceof \Closure ? $by : $limit->reject('by', 'a string or a Closure');
    }

    private static function client(Section $all): null|ClientAddress|\Closure
    {
        if (!$all->has('client') || $all->value('client') instanceof \Closure) {
            return $all->value('client');
        }
        $client = $all->section('client');
        $client->only('header', 'trusted');
        $header = $client->text('header') ?? $client->reject('header', 'the name of a header');
        $trusted = $client->texts('trusted');
        return $client->in(null, static fn () => new ClientAddress($header, $trusted));
    }

    private static function edge(Section $all): ?Edge
    {
        if (!$all->has('edge')) {
            return null;
        }
        $edge = $all->section('edge');
        $edge->only('secret');
        $secret = $edge->text('secret') ?? $edge->reject('secret', 'the secret that the worker has as EDGE_SECRET');
        return $edge->in(null, static fn () => new Edge($secret));
    }
}
