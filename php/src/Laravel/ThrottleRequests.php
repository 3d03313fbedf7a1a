<?php

declare(strict_types=1);

namespace RateLimit\Laravel;

use Closure;
use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Cache\RateLimiting\Unlimited;
use Illuminate\Http\Exceptions\HttpResponseException;
use Illuminate\Http\Exceptions\ThrottleRequestsException;
use Illuminate\Http\Request;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use RateLimit\Algorithm;
use RateLimit\Answer;
use RateLimit\Charge;
use RateLimit\Meter;
use RateLimit\Policy;
use RateLimit\Verdict;
use Symfony\Component\HttpFoundation\Response;

/**
 * Laravel's `throttle` middleware, decided by the extension: `throttle:60,1` and `throttle:api` with
 * `RateLimiter::for('api', ...)` go on as they are. What differs: the window slides, checking and counting are one
 * step, several limits take from all budgets or from none, and keys are stored as hashes.
 */
class ThrottleRequests extends LaravelThrottleRequests
{
    public function __construct(
        RateLimiter $limiter,
        private readonly Meter $meter,
        private readonly Algorithm $algorithm = Algorithm::Counter,
    ) {
        parent::__construct($limiter);
    }

    /**
     * `throttle:LIMIT,MINUTES,PREFIX`: one budget for each user, or each address, over all routes that say the same.
     * `throttle:NAME`: the limits that `RateLimiter::for(NAME, ...)` returns for this request.
     *
     * @param Request $request
     * @param int|string $maxAttempts
     * @param float|int|string $decayMinutes
     * @param string $prefix
     */
    public function handle($request, Closure $next, $maxAttempts = 60, $decayMinutes = 1, $prefix = '')
    {
        $named = func_num_args() === 3 ? $this->limiter->limiter((string) $maxAttempts) : null;
        if ($named !== null) {
            return $this->handleRequestUsingNamedLimiter($request, $next, (string) $maxAttempts, $named);
        }
        $limit = $this->resolveMaxAttempts($request, (string) $maxAttempts);
        $policy = new Policy('throttle', $limit, (int) ceil(60 * (float) $decayMinutes), $this->algorithm);
        $user = $request->user()?->getAuthIdentifier();
        $budget = "throttle $prefix $policy->limit/$policy->window " . ($user === null ? 'address' : 'user');
        $charge = new Charge($policy, rate_limit_identity((string) ($user ?? $request->ip()), $budget));
        return $this->pass($request, $next, [[$charge, null, null]]);
    }

    /**
     * @param Request $request
     * @param string $limiterName
     */
    protected function handleRequestUsingNamedLimiter($request, Closure $next, $limiterName, Closure $limiter)
    {
        $limits = $limiter($request);
        if ($limits instanceof Response) {
            return $limits;
        }
        $throttles = [];
        foreach (is_array($limits) ? array_values($limits) : [$limits] as $index => $limit) {
            if (!$limit instanceof Unlimited) {
                // The index keeps two limits with one key apart: their windows differ, and one identity has one window.
                $charge = $this->charge($limit, $limiterName, "$limiterName $index");
                $throttles[] = [$charge, $limit->responseCallback, $limit->afterCallback ?? null];
            }
        }
        return $this->pass($request, $next, $throttles);
    }

    private function charge(Limit $limit, string $name, string $budget): Charge
    {
        $seconds = $limit->decaySeconds ?? $limit->decayMinutes * 60;
        $key = (string) $limit->key;
        return new Charge(
            new Policy($name, (int) $limit->maxAttempts, (int) $seconds, $this->algorithm),
            $key === '' ? Charge::shared($budget) : rate_limit_identity($key, $budget),
        );
    }

    /**
     * @param list<array{Charge, ?callable, ?callable}> $throttles with what responds to a denial, and what decides
     *     after the response whether the request counts (Limit::after(), Laravel 12)
     */
    private function pass(Request $request, Closure $next, array $throttles): Response
    {
        $headers = [];
        foreach ($throttles as [$charge, $respond, $counts]) {
            if ($counts !== null) {
                $headers = $this->admit($request, $charge, $this->meter->peek($charge), $respond);
            }
        }
        $now = array_values(array_filter($throttles, static fn (array $throttle) => $throttle[2] === null));
        if ($now !== []) {
            [$charge, $verdict] = $this->meter->decide(array_column($now, 0));
            $respond = array_find($now, static fn (array $throttle) => $throttle[0] === $charge)[1];
            $headers = $this->admit($request, $charge, $verdict, $respond);
        }
        $response = $next($request);
        foreach ($throttles as [$charge, , $counts]) {
            if ($counts !== null && $counts($response)) {
                $this->meter->decide([$charge]);
            }
        }
        $response->headers->add($headers);
        return $response;
    }

    /**
     * @return array<string, string> the headers of the response to an admitted request
     * @throws HttpResponseException|ThrottleRequestsException
     */
    private function admit(Request $request, Charge $charge, Verdict $verdict, ?callable $respond): array
    {
        if ($this->meter->dryRun || $verdict->wouldDeny) {
            return Answer::observe($verdict, $charge->policy->name)->headers;
        }
        $headers = $verdict->headers($charge->policy->name);
        if ($verdict->allowed) {
            return $headers;
        }
        $headers['Cache-Control'] = 'no-store';
        throw $respond === null
            ? new ThrottleRequestsException('Too Many Attempts.', null, $headers)
            : new HttpResponseException($respond($request, $headers));
    }
}
