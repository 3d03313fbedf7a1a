//! `OnFailure::Memory` on a real server that is lost and found again: an outage forgets nothing that
//! this host knows, and nothing that it admits then is lost to the server.
#![cfg(all(feature = "redis", feature = "shm", feature = "frozen-clock"))]

mod support;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rate_limit::clock;
use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::time::{DAY, Micros, SECOND};
use rate_limit::core::verdict::Verdict;
use rate_limit::limiter::{Limiter, Mode, OnFailure, Remote, Source};
use rate_limit::store::redis::{ClockMode, Layout, Naming, Options, RedisStore, connection};
use rate_limit::store::shm::{MIN_SIZE, Region, RegionConfig, Shm};
use rate_limit::store::{Call, Owed, Store, StoreError};
use support::model::Model;
use support::redis::{Redis, TIMEOUT};
use support::server::Server;

/// The start of a window of any length that divides an hour.
const THEN: Micros = 1_790_000_040 * SECOND;
/// The name under which the server is known to the host.
const SCOPE: u64 = 7;

/// How the way to the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// There is none: nothing is sent.
    Cut,
    /// The server gets the command, and its reply is lost.
    ReplyLost,
    /// The command is lost.
    Swallowed,
    Whole,
}

/// A store at the end of a way that can be cut.
struct Far {
    store: Redis,
    way: Way,
}

impl Far {
    fn to(server: &Server, layout: Layout) -> Self {
        let naming = Naming { layout, ..Naming::default() };
        let transport = connection(&server.unix().endpoint, Options { timeout: TIMEOUT });
        Self { store: RedisStore::new(transport, naming, ClockMode::Host), way: Way::Whole }
    }

    fn over_the_way<R>(
        &mut self,
        ask: impl FnOnce(&mut Redis) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let lost = |sent| StoreError::Timeout { endpoint: "far".into(), after_ms: 1, sent };
        match self.way {
            Way::Cut => Err(lost(false)),
            Way::Swallowed => Err(lost(true)),
            Way::ReplyLost => ask(&mut self.store).and(Err(lost(true))),
            Way::Whole => ask(&mut self.store),
        }
    }
}

impl Store for Far {
    fn attempt(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError> {
        self.over_the_way(|store| store.attempt(call))
    }

    fn peek(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError> {
        self.over_the_way(|store| store.peek(call))
    }

    fn reset(&mut self, call: &Call<'_>) -> Result<(), StoreError> {
        self.over_the_way(|store| store.reset(call))
    }

    fn settle(&mut self, call: &Call<'_>, debt: &[Owed]) -> Result<(), StoreError> {
        let lost = self.way == Way::ReplyLost;
        // A call follows at once where the store itself says that it has settled.
        self.over_the_way(|store| {
            store.settle(call, debt)?;
            if lost { store.peek(call).map(drop) } else { Ok(()) }
        })
    }

    fn time(&self, steady: Micros) -> Micros {
        self.store.time(steady)
    }
}

type Limited<'a> = Limiter<'a, Far, Shm>;

/// A limiter on a host of its own.
fn limiter(server: &Server, layout: Layout, algorithm: Algorithm) -> Limited<'static> {
    let config = RegionConfig { size: 4 * MIN_SIZE, file: None };
    let region: &'static Region = Box::leak(Box::new(Region::map(&config).unwrap()));
    Limiter {
        store: Far::to(server, layout),
        memory: region.shm(0),
        remote: Some(Remote {
            scope: SCOPE,
            endpoint: "far",
            deny_cache: false,
            breaker: 3,
            report: |_| {},
        }),
        algorithm,
        limit: Limit::new(10, 60).unwrap(),
        earlier: &[],
        on_failure: OnFailure::Memory,
        mode: Mode::Enforce,
        retry_interval: SECOND,
    }
}

fn cost(units: i64, algorithm: Algorithm) -> Cost {
    Cost::new(units, algorithm).unwrap()
}

fn at(now: Micros) {
    clock::freeze(Some(now));
}

const KINDS: [(Algorithm, Layout); 3] = [
    (Algorithm::Log, Layout::SortedSet),
    (Algorithm::Log, Layout::List),
    (Algorithm::Counter, Layout::SortedSet),
];

#[derive(Clone, Copy, Debug)]
enum Op {
    Attempt,
    Peek,
    Reset,
}

type Step = (Op, Way, u32, u64, Micros);

/// Runs the steps beside a limiter that is never cut off. Both give the same verdicts, whoever
/// decides, and in the end the server holds what that one does.
fn follow(
    mut limiter: Limited<'_>,
    identity: &[u8],
    seconds: i64,
    start: Micros,
    steps: &[Step],
) -> Result<(), TestCaseError> {
    let algorithm = limiter.algorithm;
    let (mut model, mut now) = (Model::new(algorithm), start);
    for &(op, way, max, cost, gap) in steps {
        now += gap;
        at(now);
        limiter.store.way = way;
        limiter.limit = Limit::new(i64::from(max), seconds).unwrap();
        let cost = Cost::new(cost as i64, algorithm).unwrap();
        match op {
            Op::Attempt => {
                let decided = limiter.attempt(identity, cost).unwrap();
                prop_assert_eq!(decided.verdict, model.attempt(limiter.limit, cost, now));
            }
            Op::Peek => {
                let decided = limiter.peek(identity, cost).unwrap();
                prop_assert_eq!(decided.verdict, model.peek(limiter.limit, cost, now));
            }
            Op::Reset => {
                let done = limiter.reset(identity);
                if done.map_or_else(|error| error.may_have_counted(), |()| true) {
                    model.reset();
                }
            }
        }
    }
    at(now + 2 * SECOND); // the breaker lets the next one try
    limiter.store.way = Way::Whole;
    let verdict = model.peek(limiter.limit, Cost::ONE, now + 2 * SECOND);
    let decided = limiter.peek(identity, Cost::ONE).unwrap();
    prop_assert_eq!((decided.verdict, decided.source), (verdict, Source::Redis));
    Ok(())
}

#[test]
fn outages_at_any_instant_change_no_verdict_and_leave_no_trace_on_the_server() {
    let server = Server::redis();
    let way = prop_oneof![3 => Just(Way::Whole), 2 => Just(Way::Cut), 1 => Just(Way::ReplyLost)];
    let op = prop_oneof![16 => Just(Op::Attempt), 3 => Just(Op::Peek), 1 => Just(Op::Reset)];
    let seconds = prop_oneof![Just(1_i64), Just(10), Just(3_600)];
    let cases = (0..KINDS.len(), seconds).prop_flat_map(move |(kind, seconds)| {
        let window = seconds as Micros * SECOND;
        let gap = prop_oneof![4 => 0..SECOND / 2, 2 => 0..window / 4, 1 => 0..2 * window];
        // An outage lasts for some calls.
        let spell =
            (way.clone(), prop::collection::vec((op.clone(), 0_u32..12, 1_u64..5, gap), 1..8));
        (Just((kind, seconds)), 0..window, prop::collection::vec(spell, 1..8))
    });
    // Each case later than the one before: the connection's clock is the thread's and never steps back.
    let count = Cell::new(0);
    let end = Cell::new(THEN);
    TestRunner::new(Config { cases: 1_000, failure_persistence: None, ..Config::default() })
        .run(&cases, |((kind, seconds), into_window, spells)| {
            count.set(count.get() + 1);
            let (algorithm, layout) = KINDS[kind];
            let steps: Vec<Step> = spells
                .into_iter()
                .flat_map(|(way, calls)| {
                    calls.into_iter().map(move |(op, max, cost, gap)| (op, way, max, cost, gap))
                })
                .collect();
            let limiter = limiter(&server, layout, algorithm);
            let identity = format!("random {}", count.get());
            let window = seconds as Micros * SECOND;
            let start = (end.get() / window + 1) * window + into_window;
            end.set(start + 3 * SECOND + steps.iter().map(|step| step.4).sum::<Micros>());
            follow(limiter, identity.as_bytes(), seconds, start, &steps)
        })
        .unwrap();
}

/// Two hosts lose the server, each knows its own admissions alone; the server learns of all.
#[test]
fn what_several_hosts_admit_in_an_outage_all_comes_to_the_server() {
    let server = Server::redis();
    for (kind, (algorithm, layout)) in KINDS.into_iter().enumerate() {
        let identity = format!("hosts {kind}");
        let identity = identity.as_bytes();
        let mut hosts = [0, 1].map(|_| limiter(&server, layout, algorithm));
        at(THEN);
        for host in &mut hosts {
            for _ in 0..2 {
                assert_eq!(host.attempt(identity, Cost::ONE).unwrap().source, Source::Redis);
            }
        }
        let admitted = hosts.each_mut().map(|host| {
            host.store.way = Way::Cut;
            (0..20).filter(|_| host.attempt(identity, Cost::ONE).unwrap().verdict.allowed).count()
        });
        assert_eq!(admitted, [8, 8], "each host knows of its own two");
        at(THEN + 2 * SECOND);
        for host in &mut hosts {
            host.store.way = Way::Whole;
            assert!(!host.attempt(identity, Cost::ONE).unwrap().verdict.allowed);
        }
        let [mut host, _] = hosts;
        host.limit = Limit::new(100, 60).unwrap();
        assert_eq!(host.peek(identity, Cost::ONE).unwrap().verdict.remaining, 100 - 20);
    }
}

/// Whether or not the server has counted it.
#[test]
fn a_call_of_unknown_outcome_is_not_added_again() {
    let server = Server::redis();
    for (kind, (algorithm, layout)) in KINDS.into_iter().enumerate() {
        for (way, counted) in [(Way::ReplyLost, 1), (Way::Swallowed, 0)] {
            let identity = format!("unknown {kind} {counted}");
            let mut limiter = limiter(&server, layout, algorithm);
            at(THEN);
            limiter.store.way = way;
            let lost = limiter.attempt(identity.as_bytes(), Cost::ONE).unwrap();
            assert_eq!((lost.source, lost.verdict.remaining), (Source::Memory, 9));
            limiter.store.way = Way::Whole;
            let next = limiter.attempt(identity.as_bytes(), Cost::ONE).unwrap();
            assert_eq!((next.source, next.verdict.remaining), (Source::Redis, 9 - counted));
        }
    }
}

/// A debt whose settlement is not sent is kept, and one whose settlement may have been is not.
#[test]
fn a_debt_is_settled_once() {
    let server = Server::redis();
    for (kind, (algorithm, layout)) in KINDS.into_iter().enumerate() {
        for (way, remaining) in [(Way::Cut, 8), (Way::ReplyLost, 8), (Way::Swallowed, 9)] {
            let identity = format!("settled {kind} {way:?}");
            let identity = identity.as_bytes();
            let mut limiter = limiter(&server, layout, algorithm);
            at(THEN);
            limiter.store.way = Way::Cut;
            limiter.attempt(identity, Cost::ONE).unwrap();
            limiter.store.way = way;
            limiter.peek(identity, Cost::ONE).unwrap();
            limiter.store.way = Way::Whole;
            let next = limiter.attempt(identity, Cost::ONE).unwrap();
            assert_eq!(
                (next.source, next.verdict.remaining),
                (Source::Redis, remaining),
                "{way:?}"
            );
        }
    }
}

/// What a client was admitted under yesterday's identity while the server was away, and before.
#[test]
fn a_debt_from_before_midnight_is_settled_by_todays_identity() {
    let server = Server::redis();
    for (n, (algorithm, layout)) in KINDS.into_iter().enumerate() {
        let yesterdays = [format!("yesterday {n}").into_bytes()];
        let today = format!("today {n}").into_bytes();
        let midnight = THEN.next_multiple_of(DAY);
        let mut limiter = limiter(&server, layout, algorithm);
        at(midnight - 20 * SECOND);
        limiter.attempt(&yesterdays[0], cost(2, algorithm)).unwrap();
        limiter.store.way = Way::Cut;
        limiter.attempt(&yesterdays[0], cost(3, algorithm)).unwrap();

        limiter.earlier = &yesterdays;
        at(midnight);
        let here = limiter.peek(&today, Cost::ONE).unwrap();
        assert_eq!((here.source, here.verdict.remaining), (Source::Memory, 5));
        limiter.store.way = Way::Whole;
        at(midnight + SECOND);
        let there = limiter.peek(&today, Cost::ONE).unwrap();
        let left = if algorithm == Algorithm::Log { 5 } else { 6 }; // floor(5 * 59 / 60) are used
        assert_eq!((there.source, there.verdict.remaining), (Source::Redis, left));
    }
    clock::freeze(None);
}

#[test]
fn a_debt_of_many_parts_is_settled_whole_and_its_keys_expire() {
    let server = Server::redis();
    for (kind, (algorithm, layout)) in KINDS.into_iter().enumerate() {
        let identity = format!("many {kind}");
        let identity = identity.as_bytes();
        let mut limiter = limiter(&server, layout, algorithm);
        limiter.limit = Limit::new(1_000, 60).unwrap();
        limiter.store.way = Way::Cut;
        for n in 0..300 {
            at(THEN + n);
            limiter.attempt(identity, Cost::ONE).unwrap();
        }
        at(THEN + 2 * SECOND);
        limiter.store.way = Way::Whole;
        let seen = limiter.peek(identity, Cost::ONE).unwrap();
        assert_eq!((seen.source, seen.verdict.remaining), (Source::Redis, 700));
    }
    for key in server.admin().keys() {
        let lives = server.admin().number(&format!("PTTL {}", key.replace(' ', "?")));
        assert!(lives <= 121_000, "{key} lives {lives} ms");
    }
}
