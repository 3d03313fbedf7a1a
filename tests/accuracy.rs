//! benches/accuracy in small: its figures do not move, and its judge does find a wrong limiter.

#[path = "../benches/accuracy/judge.rs"]
mod judge;
#[path = "../benches/accuracy/traffic.rs"]
mod traffic;

use judge::{Counted, Limiter, Log, Outcome, Tally, judge};
use rate_limit::core::limit::Limit;
use rate_limit::core::time::Micros;
use traffic::{POPULATIONS, Population, adversary};

/// One client in a hundred; 1 is the seed of the benchmark.
fn hundredth(population: Population) -> Outcome {
    let population = Population { clients: population.clients.div_ceil(100), ..population };
    (0..population.clients).map(|client| Outcome::of(&population, 1, client)).sum()
}

/// Requests, wrongly admitted, wrongly denied, most in a true window.
fn figures(t: &Tally) -> [u64; 4] {
    [t.requests, t.wrongly_admitted, t.wrongly_denied, t.most]
}

#[test]
fn same_seed_gives_same_figures() {
    let [_, _, sigma_2, _, bursts, _, batches, ..] = POPULATIONS.map(hundredth);
    assert_eq!(figures(&sigma_2.all_counted), [365_149, 5_103, 2_107, 80]);
    assert_eq!(figures(&sigma_2.counter), [365_149, 6_855, 1_022, 63]);
    assert_eq!(figures(&bursts.all_counted), [395_072, 8_140, 2_680, 137]);
    assert_eq!(figures(&bursts.counter), [395_072, 19_183, 10_533, 20]);
    assert_eq!(figures(&batches.all_counted), [390_240, 0, 23_024, 76]);
    assert_eq!(figures(&batches.counter), [390_240, 0, 174_960, 10]);
}

#[test]
fn log_is_never_wrong() {
    for population in POPULATIONS {
        let log = hundredth(population).log;
        assert!(log.requests > 0);
        assert_eq!(log.wrong(), 0, "{}", population.name);
        assert!(log.most <= u64::from(population.limit), "{}", population.name);
    }
}

#[test]
fn adversary_gets_twice_the_limit_from_the_counter_and_the_limit_from_the_log() {
    for limit in [10, 100, 1_000] {
        let outcome = Outcome::of(&adversary(limit), 1, 0);
        let limit = u64::from(limit);
        assert_eq!((outcome.counter.admitted, outcome.counter.most), (2 * limit, 2 * limit));
        assert_eq!((outcome.log.admitted, outcome.log.most), (limit, limit));
    }
}

/// The log with its boundary a microsecond off: an entry counts while `t >= now - W`.
struct CountsItsBoundary(Log);

impl Limiter for CountsItsBoundary {
    fn new(limit: Limit) -> Self {
        Self(Log::new(limit))
    }
    fn ask(&mut self, now: Micros) -> (u64, bool) {
        self.0.ask(now.saturating_sub(1))
    }
    fn record(&mut self, now: Micros) {
        self.0.record(now);
    }
}

/// The log that forgets what it admitted.
struct Forgetful(Log);

impl Limiter for Forgetful {
    fn new(limit: Limit) -> Self {
        Self(Log::new(limit))
    }
    fn ask(&mut self, now: Micros) -> (u64, bool) {
        self.0.ask(now)
    }
    fn record(&mut self, _now: Micros) {}
}

#[test]
fn judge_finds_a_log_that_is_a_microsecond_off() {
    let batches = POPULATIONS[6];
    let calls = || batches.calls(1, batches.clients - 1);
    let tally = judge::<CountsItsBoundary>(calls(), batches.limit(), Counted::Admitted);
    assert!(tally.wrongly_denied > 0);
    let tally = judge::<Forgetful>(calls(), batches.limit(), Counted::Admitted);
    assert_eq!(tally.admitted, tally.requests);
    assert!(tally.wrongly_admitted > 0 && tally.most > u64::from(batches.limit));
}
