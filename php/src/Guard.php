<?php

declare(strict_types=1);

namespace RateLimit;

/**
 * Limits requests by rules. One line in a script limits the request that it answers:
 *
 *     RateLimit\Guard::fromFile(__DIR__ . '/rate-limit.php')->protect();
 *     RateLimit\Guard::limit(100, 60, 'trending');
 */
final readonly class Guard
{
    /** Stands for the template where no route matches. */
    private const string NO_ROUTE = '*';

    /**
     * @param object|string|null $store a client object or a DSN; null: the rules' `store`, else rate_limit.store
     */
    public function __construct(
        public Rules $rules,
        #[\SensitiveParameter] private object|string|null $store = null,
    ) {
    }

    /** @throws InvalidRules */
    public static function fromFile(string $file, #[\SensitiveParameter] object|string|null $store = null): self
    {
        return new self(Rules::fromFile($file), $store);
    }

    /**
     * Limits the current request without a file of rules: `$limit` requests in `$window` seconds for each peer
     * address, on everything that is called `$name` together. Does not return when the request is denied.
     *
     * @throws InvalidRules
     */
    public static function limit(
        int $limit,
        int $window,
        string $name = 'default',
        Algorithm $algorithm = Algorithm::Counter,
    ): Answer {
        return new self(Rules::fromArray(['default' => [
            'name' => $name,
            'limit' => $limit,
            'window' => $window,
            'algorithm' => $algorithm->value,
        ]]))->protect();
    }

    /**
     * Decides on the request that PHP is answering and sends the headers. Denied, it sends the whole response and
     * ends the script; so it belongs before any output.
     */
    public function protect(): Answer
    {
        $answer = $this->answer(Request::current());
        if ($answer->denies()) {
            http_response_code($answer->status);
        }
        foreach ($answer->headers as $name => $value) {
            header("$name: $value", replace: $name !== Answer::EXPOSE);
        }
        if ($answer->denies()) {
            exit($answer->body);
        }
        return $answer;
    }

    /**
     * Decides on a request and takes what it costs. Sends nothing.
     *
     * @throws StoreException where the store cannot answer and the rules say 'throw'
     */
    public function answer(Request $request): Answer
    {
        if (!extension_loaded('rate_limit')) {
            return $this->withoutExtension();
        }
        $attested = $this->rules->edge?->client($request);
        $client = $attested ?? $this->client($request);
        if ($this->rules->exempts($request, $client)) {
            return Answer::pass();
        }
        $route = $this->rules->route($request);
        [$charge, $verdict] = $this->meter()->decide(array_map(
            static fn (Policy $policy) => $policy->charge($request, $route->template ?? self::NO_ROUTE, $client),
            $route->policies ?? $this->rules->default,
        ));
        $policy = $charge->policy->name;
        return match (true) {
            $this->rules->dryRun, $verdict->wouldDeny => Answer::observe($verdict, $policy),
            $verdict->allowed => Answer::allow($verdict, $policy),
            default => Answer::deny($verdict, $policy, $this->rules->problem, $this->rules->headers
                + ($attested !== null && $charge->client === $attested
                    ? $this->rules->edge->mark($request, $attested)
                    : [])),
        };
    }

    /**
     * Forgets what the client at an address has used today of every budget of these rules that goes by addresses.
     *
     * @return int how many budgets those are
     * @throws StoreException where the store cannot answer
     */
    public function free(string $address): int
    {
        $freed = 0;
        $policies = array_column($this->rules->routes, 'policies', 'template') + [self::NO_ROUTE => $this->rules->default];
        foreach ($policies as $template => $ofRoute) {
            foreach ($ofRoute as $policy) {
                if ($policy->by !== Policy::BY_ENDPOINT) {
                    $this->meter()->limiter($policy)->reset($policy->identity($address, $template));
                    ++$freed;
                }
            }
        }
        return $freed;
    }

    private function meter(): Meter
    {
        $onFailure = OnFailure::from($this->rules->onFailure);
        return new Meter($this->store ?? $this->rules->store, $onFailure, $this->rules->dryRun);
    }

    private function client(Request $request): ?string
    {
        $client = $this->rules->client;
        return match (true) {
            $client instanceof ClientAddress => $client->resolve($request->server),
            $client instanceof \Closure => $client($request),
            default => $request->client,
        };
    }

    private function withoutExtension(): Answer
    {
        $missing = $this->rules->missing;
        error_log("rate_limit: the extension is not loaded, so nothing is limited; the rules say missing = '$missing'");
        return match ($missing) {
            'pass' => Answer::pass(),
            'deny' => Answer::unavailable(),
            'error' => throw new \LogicException('The extension rate_limit is not loaded'),
        };
    }
}
