//! The limiters that decide about a client, and the judge that knows better.

use std::collections::VecDeque;

use rate_limit::core::counter::{self, Counts, Position};
use rate_limit::core::limit::{Cost, Limit};
use rate_limit::core::log;
use rate_limit::core::time::Micros;

use crate::traffic::{Calls, Population};

/// One identity's state as a store keeps it. Every decision is `core`'s.
pub trait Limiter {
    /// Nothing used.
    fn new(limit: Limit) -> Self;
    /// The units taken as used at `now`, no earlier than before, and whether one more is admitted.
    fn ask(&mut self, now: Micros) -> (u64, bool);
    /// Counts one unit at the `now` of the last [`ask`](Limiter::ask).
    fn record(&mut self, now: Micros);
}

/// `core::counter` over its two numbers.
pub struct Counter {
    limit: Limit,
    index: u64,
    counts: Counts,
}

impl Limiter for Counter {
    fn new(limit: Limit) -> Self {
        Self { limit, index: 0, counts: Counts::default() }
    }

    fn ask(&mut self, now: Micros) -> (u64, bool) {
        let Position { index, elapsed } = Position::of(self.limit, now);
        self.counts = match index - self.index {
            0 => self.counts,
            1 => Counts { curr: 0, prev: self.counts.curr },
            _ => Counts::default(),
        };
        self.index = index;
        let used = counter::estimate(self.counts, self.limit, elapsed);
        (used, counter::admits(self.counts, self.limit, Cost::ONE, elapsed))
    }

    fn record(&mut self, _now: Micros) {
        self.counts.curr += 1;
    }
}

/// `core::log` over its times.
pub struct Log {
    limit: Limit,
    times: VecDeque<Micros>,
}

impl Limiter for Log {
    fn new(limit: Limit) -> Self {
        Self { limit, times: VecDeque::new() }
    }

    fn ask(&mut self, now: Micros) -> (u64, bool) {
        let horizon = log::horizon(self.limit, now);
        while self.times.front().is_some_and(|&t| Some(t) <= horizon) {
            self.times.pop_front();
        }
        let used = self.times.len() as u64;
        (used, log::admits(self.limit, used, Cost::ONE))
    }

    fn record(&mut self, now: Micros) {
        self.times.push_back(now);
    }
}

/// What came of the calls. Whole numbers, so that sums do not depend on the order of the clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls made.
    pub requests: u64,
    /// Calls admitted.
    pub admitted: u64,
    /// Admitted although the true trailing window held the limit.
    pub wrongly_admitted: u64,
    /// Denied although the true trailing window held less than the limit.
    pub wrongly_denied: u64,
    /// Most units recorded within any one true window.
    pub most: u64,
    /// Sum over the calls of |estimated - true rate| / true rate, this call included, in millionths.
    pub distance: u64,
    /// Clients denied at least once.
    pub limited: u64,
    /// Of these, clients whom the log never denies.
    pub limited_in_vain: u64,
}

impl Tally {
    /// Decisions that an exact window would not have made.
    pub fn wrong(&self) -> u64 {
        self.wrongly_admitted + self.wrongly_denied
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.admitted += other.admitted;
        self.wrongly_admitted += other.wrongly_admitted;
        self.wrongly_denied += other.wrongly_denied;
        self.most = self.most.max(other.most);
        self.distance += other.distance;
        self.limited += other.limited;
        self.limited_in_vain += other.limited_in_vain;
    }
}

/// Which calls count towards the limit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// All of them, as at Cloudflare.
    All,
    /// Those that were admitted, as in this crate.
    Admitted,
}

/// One client's calls through one limiter. A decision is wrong when it differs from the one that
/// an exact window makes about the same past, the units that this very limiter has recorded.
///
/// That window is kept here, without `core`: a unit counts while `t + W > now`.
pub fn judge<L: Limiter>(calls: Calls, limit: Limit, counted: Counted) -> Tally {
    let (mut limiter, mut window, mut tally) = (L::new(limit), VecDeque::new(), Tally::default());
    for now in calls {
        while window.front().is_some_and(|&t| t + limit.window() <= now) {
            window.pop_front();
        }
        let held = window.len() as u64;
        let fits = held < u64::from(limit.max());
        let (used, admitted) = limiter.ask(now);
        tally.requests += 1;
        tally.admitted += u64::from(admitted);
        tally.wrongly_admitted += u64::from(admitted && !fits);
        tally.wrongly_denied += u64::from(!admitted && fits);
        tally.distance += used.abs_diff(held) * 1_000_000 / (held + 1);
        if admitted || counted == Counted::All {
            limiter.record(now);
            window.push_back(now);
            tally.most = tally.most.max(held + 1);
        }
    }
    tally.limited = u64::from(tally.admitted < tally.requests);
    tally
}

/// The same calls judged three times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The counter's formula over all calls, which is what Cloudflare published figures of.
    pub all_counted: Tally,
    /// The counter over admitted calls: `SlidingWindowCounter`.
    pub counter: Tally,
    /// The log over admitted calls: `SlidingWindowLog`.
    pub log: Tally,
}

impl Outcome {
    /// Of one client.
    pub fn of(population: &Population, seed: u64, client: u64) -> Self {
        let (calls, limit) = (|| population.calls(seed, client), population.limit());
        let log = judge::<Log>(calls(), limit, Counted::Admitted);
        let beside_log = |t: Tally| Tally { limited_in_vain: t.limited * (1 - log.limited), ..t };
        Self {
            all_counted: beside_log(judge::<Counter>(calls(), limit, Counted::All)),
            counter: beside_log(judge::<Counter>(calls(), limit, Counted::Admitted)),
            log,
        }
    }
}

impl std::iter::Sum for Outcome {
    fn sum<I: Iterator<Item = Self>>(outcomes: I) -> Self {
        outcomes.fold(Self::default(), |mut sum, one| {
            sum.all_counted.add(&one.all_counted);
            sum.counter.add(&one.counter);
            sum.log.add(&one.log);
            sum
        })
    }
}
