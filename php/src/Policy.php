<?php

declare(strict_types=1);

namespace RateLimit;

/** One limit: how many units in how many seconds, counted how, and for whom. */
final readonly class Policy
{
    /** One budget for each client address. */
    public const string BY_CLIENT = 'client';

    /** One budget for all clients of the route together. */
    public const string BY_ENDPOINT = 'endpoint';

    /**
     * @param string $name printable ASCII; part of the identity and of the RateLimit headers
     * @param int $limit units that a window admits, 0 (nothing) to 2^31 - 1
     * @param int $window seconds, 1 to 31 536 000
     * @param string|\Closure(Request): ?string $by self::BY_CLIENT, self::BY_ENDPOINT, or a function that names
     *     whoever the budget belongs to (an API key, a user); where it returns null the client's address stands in
     * @param int $cost units that one request takes, at least 1, and at most 1000 in a log
     * @throws InvalidRules
     */
    public function __construct(
        public string $name,
        public int $limit,
        public int $window,
        public Algorithm $algorithm = Algorithm::Counter,
        public string|\Closure $by = self::BY_CLIENT,
        public int $cost = 1,
    ) {
        self::require(preg_match('/^[\x20-\x7e]+$/D', $name) === 1, 'name', $name, 'printable ASCII, not empty');
        self::require($limit >= 0 && $limit < 2 ** 31, 'limit', $limit, 'an integer from 0 to 2147483647');
        self::require($window >= 1 && $window <= 31_536_000, 'window', $window, 'seconds from 1 to 31536000');
        $most = $algorithm === Algorithm::Log ? 1000 : 2 ** 31 - 1;
        self::require($cost >= 1 && $cost <= $most, 'cost', $cost, "an integer from 1 to $most");
        self::require(
            $by instanceof \Closure || in_array($by, [self::BY_CLIENT, self::BY_ENDPOINT], true),
            'by',
            $by,
            "'client', 'endpoint', 'header:NAME' or a Closure",
        );
    }

    /**
     * What this policy takes from a request on a route.
     *
     * @param string $route the route's template, never the path that was asked for
     * @param ?string $client the client's address, null where it is not known
     */
    public function charge(Request $request, string $route, ?string $client): Charge
    {
        if ($this->by === self::BY_ENDPOINT) {
            return new Charge($this, Charge::shared($this->budget($route)));
        }
        $address = $client ?? 'unknown';
        if ($this->by === self::BY_CLIENT) {
            return new Charge($this, $this->identity($address, $route), $client);
        }
        $key = ($this->by)($request);
        return new Charge($this, $key === null
            ? $this->identity($address, $route)
            : rate_limit_identity($key, $this->budget($route) . ' key'));
    }

    /** Whose budget a client's address stands for on a route. */
    public function identity(string $address, string $route): string
    {
        return rate_limit_identity($address, $this->budget($route));
    }

    /** What the budget is for. With the window: in Redis a log of another window would lose its entries to this one. */
    private function budget(string $route): string
    {
        return "$this->name $this->window $route";
    }

    private static function require(bool $holds, string $key, mixed $value, string $rule): void
    {
        if (!$holds) {
            throw new InvalidRules("$key is " . Section::show($value) . ": must be $rule");
        }
    }
}
