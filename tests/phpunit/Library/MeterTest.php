<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use PHPUnit\Framework\TestCase;
use RateLimit\Algorithm;
use RateLimit\Charge;
use RateLimit\Edge;
use RateLimit\Meter;
use RateLimit\Policy;
use RateLimit\Request;

/** What is taken from several budgets, in this process and in shared memory. */
final class MeterTest extends TestCase
{
    private Meter $meter;

    protected function setUp(): void
    {
        $this->meter = new Meter('memory://');
    }

    public function test_a_denial_by_one_budget_takes_from_none(): void
    {
        [$wide, $narrow] = [self::charge('wide', 10), self::charge('narrow', 2)];
        foreach ([true, true, false, false] as $allowed) {
            [$charge, $verdict] = $this->meter->decide([$wide, $narrow]);
            self::assertSame($allowed, $verdict->allowed);
            self::assertSame($narrow, $charge);
        }
        self::assertSame(8, $this->meter->peek($wide)->remaining);
        [, $verdict] = $this->meter->decide([self::charge('wide', 10), self::charge('narrow', 0)]);
        self::assertFalse($verdict->allowed);
    }

    public function test_a_dry_run_takes_what_it_would_take_in_earnest_and_names_whom_it_would_deny(): void
    {
        $meter = new Meter('memory://', dryRun: true);
        [$wide, $narrow] = [self::charge('dry wide', 10), self::charge('dry narrow', 2)];
        foreach ([false, false, true, true] as $wouldDeny) {
            [$charge, $verdict] = $meter->decide([$wide, $narrow]);
            self::assertSame([true, $wouldDeny, $narrow], [$verdict->allowed, $verdict->wouldDeny, $charge]);
        }
        self::assertSame(8, $meter->peek($wide)->remaining);
    }

    public function test_the_order_of_the_budgets_does_not_matter(): void
    {
        [$narrow, $wide] = [self::charge('narrow', 1), self::charge('wide', 10)];
        $this->meter->decide([$narrow, $wide]);
        [$charge] = $this->meter->decide([$narrow, $wide]);
        self::assertSame($narrow, $charge);
        self::assertSame(9, $this->meter->peek($wide)->remaining);
    }

    public function test_of_two_denials_the_longer_wait_is_told(): void
    {
        [$short, $long] = [self::charge('short', 0, 10), self::charge('long', 1, 3600)];
        $this->meter->decide([$long]);
        [$charge, $verdict] = $this->meter->decide([self::charge('other', 5), $long, self::charge('spare', 9)]);
        self::assertSame($long, $charge);
        self::assertGreaterThan(60.0, $verdict->retryAfter);
        [$charge, $verdict] = $this->meter->decide([$long, $short]);
        self::assertNull($verdict->retryAfter, 'a limit of 0 never admits');
        self::assertSame($short, $charge);
    }

    public function test_log_and_counter_of_one_identity_are_two_budgets(): void
    {
        $counter = new Charge(new Policy('x', 1, 60), 'meter both');
        $log = new Charge(new Policy('x', 1, 60, Algorithm::Log), 'meter both');
        self::assertTrue($this->meter->decide([$counter])[1]->allowed);
        self::assertTrue($this->meter->decide([$log])[1]->allowed);
        self::assertFalse($this->meter->decide([$log])[1]->allowed);
    }

    public function test_the_identity_has_the_policy_and_the_template_and_not_the_path_nor_the_address(): void
    {
        $request = new Request('GET', '/users/jane.doe%40example.org', ['REMOTE_ADDR' => '192.0.2.1']);
        $identity = new Policy('users', 1, 60)->charge($request, 'GET /users/{id}', '192.0.2.1')->identity;
        self::assertSame(rate_limit_identity('192.0.2.1', 'users 60 GET /users/{id}'), $identity);
        $byKey = new Policy('users', 1, 60, by: static fn () => 'jane.doe@example.org');
        $identity = $byKey->charge($request, '/users/{id}', '192.0.2.1')->identity;
        self::assertMatchesRegularExpression('~^[0-9a-f]{24}:users 60 /users/\{id\} key$~D', $identity);
    }

    public function test_the_mark_is_the_one_of_the_workers_documentation(): void
    {
        $proof = '1764590400:0a11e41ec8b79e1d9d9813ca1e0b7f8ebad2d5b59b2d16fb861d948bd49c0116';
        $request = new Request('GET', '/', ['HTTP_RATELIMIT_EDGE' => $proof, 'HTTP_CF_CONNECTING_IP' => '192.0.2.1']);
        $edge = new Edge('0123456789abcdef0123456789abcdef');
        self::assertSame(
            ['RateLimit-Edge' => '7d18239a747445abd0cbea4f8382fba69322d9254dfecdd799bd6d42b991c4bc'],
            $edge->mark($request, '192.0.2.1'),
        );
        self::assertNull($edge->client($request), 'a proof of last year');
    }

    private static function charge(string $name, int $limit, int $window = 60): Charge
    {
        return new Charge(new Policy($name, $limit, $window), "meter $name $limit " . uniqid());
    }
}
