//! What operators see: decisions counted, how endpoints are doing, policies by name.
//!
//! A section of the region like those of [`super::layout`], under its invariants: every field is an
//! atomic, zero is empty, no pointers. Each record belongs to one namespace and is claimed by a
//! compare-and-swap of its tag, a keyed hash, from 0. Nothing here is read by a decision.
//!
//! | what | bytes each | how many | where there are more |
//! |---|---|---|---|
//! | [`Tally`], the decisions of one namespace | 320 | 16 | they share the last one |
//! | [`Endpoint`] | 704 | 32 | the rest is not watched |
//! | [`Policy`] | 128 | 64 | they are counted together, for all namespaces, as [`OTHER`] |
//! | [`Busy`], see [`super::busy`] | 64 | 256 | the less busy give way |
//!
//! See [`super::label`] for the texts in them. Two workers that write an endpoint's last error at one
//! time may leave a mixture of both, which only a person reads.

use std::hash::Hasher as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Shm;
use super::busy::{BUCKETS, Busy, WAYS};
use super::label::{Label, Text, claim};
use super::layout::Breaker;
use crate::clock;
use crate::core::time::Micros;
use crate::store::StoreError;

/// Kinds of decisions that are told apart; `tally` says which.
pub const KINDS: usize = 36;
/// What a decision came to, likewise.
pub const OUTCOMES: usize = 3;
/// The name of all policies that there is no record for.
pub const OTHER: &str = "(other)";
/// Buckets of a histogram of round trips: the n-th holds those below 2^n microseconds that no
/// earlier one does, and the last one everything else.
pub const BUCKETS_OF_TIME: usize = 27;

/// The section.
#[repr(C, align(64))]
pub(super) struct Watch {
    /// The wall clock when the region was made, microseconds since the epoch.
    pub since: AtomicU64,
    pub tallies: [Tally; 16],
    pub endpoints: [Endpoint; 32],
    pub policies: [Policy; 64],
    /// Of the policies that there is no record for.
    pub other: [AtomicU64; OUTCOMES],
    pub busy: [[Busy; WAYS]; BUCKETS],
}

/// The decisions of one namespace.
#[repr(C, align(64))]
pub struct Tally {
    tag: AtomicU64,
    counts: [AtomicU64; KINDS],
}

/// One endpoint, by its printed address.
#[repr(C, align(64))]
pub(super) struct Endpoint {
    name: Label<16>,
    /// Finds the breaker of the store on it that failed last.
    breaker: AtomicU64,
    /// 1: reached through an application's client object.
    object: AtomicU64,
    /// Failures in a row.
    failing: AtomicU64,
    failures: AtomicU64,
    outages: AtomicU64,
    /// The wall clock at the last failure, microseconds since the epoch.
    failed_at: AtomicU64,
    error: Text<32>,
    /// 0 not known, 1 refused, 2: `ahead` tells.
    clock: AtomicU64,
    /// Of the host's clock, microseconds, as an `i64`.
    ahead: AtomicU64,
    /// Sum of the round trips, microseconds.
    time: AtomicU64,
    round_trips: [AtomicU64; BUCKETS_OF_TIME],
}

/// One policy, by its name.
#[repr(C, align(64))]
pub(super) struct Policy {
    name: Label<8>,
    counts: [AtomicU64; OUTCOMES],
}

const _: () = assert!(size_of::<Tally>() == 320);
const _: () = assert!(size_of::<Endpoint>() == 704);
const _: () = assert!(size_of::<Policy>() == 128);

/// How far a server's clock is ahead of this host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSeen {
    /// It was not asked.
    Unknown,
    /// It does not tell.
    Refused,
    /// So many microseconds.
    Ahead(i64),
}

/// How a question to a store elsewhere went.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Stands for the store. See [`crate::store::Host`].
    pub scope: u64,
    /// Its server's address, without credentials.
    pub endpoint: &'a str,
    /// A hash of that, the same in every process of this host.
    pub endpoint_hash: u64,
    /// Whether it was asked through an application's client object.
    pub object: bool,
    /// How long that took, microseconds.
    pub took: Micros,
    /// What came instead of an answer.
    pub failure: Option<&'a StoreError>,
    /// What is known about the server's clock now.
    pub clock: ClockSeen,
}

/// How an endpoint is doing, since the region was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSeen {
    /// Its address, without credentials.
    pub name: String,
    /// Whether it is reached through an application's client object.
    pub object: bool,
    /// Failures in a row.
    pub failing: u64,
    /// Where it is left alone: microseconds until the next try.
    pub next_try: Option<Micros>,
    /// Calls that it failed.
    pub failures: u64,
    /// Runs of failures.
    pub outages: u64,
    /// The last failure, and the wall clock then, microseconds since the epoch.
    pub last_error: Option<(String, Micros)>,
    /// Its clock.
    pub clock: ClockSeen,
    /// How long its answers took.
    pub round_trips: RoundTrips,
}

/// A histogram of round trips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundTrips {
    /// How many in each bucket of time.
    pub counts: [u64; BUCKETS_OF_TIME],
    /// Their sum, microseconds.
    pub sum: Micros,
}

impl RoundTrips {
    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The time, in microseconds, that a share (0 to 1) of the round trips stayed within, to the
    /// precision of a bucket, in which they count as evenly spread. `None`: there were none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count() as f64;
        let mut below = 0.0;
        for (n, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            if below + count as f64 >= wanted {
                let (from, to) = (if n == 0 { 0 } else { 1_u64 << (n - 1) }, 1_u64 << n);
                return Some(from as f64 + (to - from) as f64 * (wanted - below) / count as f64);
            }
            below += count as f64;
        }
        None
    }
}

impl Tally {
    /// Adds `count` decisions of a kind, below [`KINDS`].
    pub fn add(&self, kind: usize, count: u32) {
        self.counts[kind].fetch_add(count.into(), Relaxed); // a statistic
    }

    /// How many there were of each kind.
    #[must_use]
    pub fn counts(&self) -> [u64; KINDS] {
        self.counts.each_ref().map(|count| count.load(Relaxed)) // as above
    }
}

impl super::Region {
    /// When the region was made and counting began, by the wall clock, microseconds since the epoch.
    #[must_use]
    pub fn since(&self) -> Micros {
        self.watch[0].since.load(Relaxed) // published by the magic
    }
}

impl Shm {
    fn watch(&self) -> &'static Watch {
        &self.region.watch[0]
    }

    fn tag(&self, kind: &[u8], name: &[u8]) -> u64 {
        let mut hasher = self.hasher;
        hasher.write(kind);
        hasher.write(name);
        hasher.finish().max(1)
    }

    /// Where this namespace's decisions are counted.
    #[must_use]
    pub fn tally(&self) -> &'static Tally {
        let tallies = &self.watch().tallies;
        claim(tallies, self.owner, |tally| &tally.tag).unwrap_or(&tallies[tallies.len() - 1])
    }

    /// Counts a verdict under a policy's name, of which the first 64 bytes count.
    pub fn count_policy(&self, name: &[u8], outcome: usize) {
        let (name, watch) = (&name[..name.len().min(64)], self.watch());
        let tag = self.tag(b"policy", name);
        let counts = match claim(&watch.policies, tag, |policy| &policy.name.tag) {
            Some(policy) if name != OTHER.as_bytes() => {
                policy.name.write(self.owner, name);
                &policy.counts
            }
            _ => &watch.other,
        };
        counts[outcome].fetch_add(1, Relaxed); // a statistic
    }

    /// What verdicts were counted under which names.
    #[must_use]
    pub fn policies(&self) -> Vec<(String, [u64; OUTCOMES])> {
        let Watch { policies, other, .. } = self.watch();
        let read = |counts: &[AtomicU64; OUTCOMES]| counts.each_ref().map(|n| n.load(Relaxed)); // statistics
        let named = policies
            .iter()
            .filter_map(|policy| Some((policy.name.read(self.owner)?, read(&policy.counts))));
        let other =
            Some((OTHER.to_owned(), read(other))).filter(|(_, counts)| *counts != [0; OUTCOMES]);
        named.chain(other).collect()
    }

    /// Notes how a question to a store elsewhere went.
    pub fn asked(&self, asked: &Asked<'_>) {
        let bytes = &asked.endpoint.as_bytes()[..asked.endpoint.len().min(128)];
        let tag = self.tag_of(asked.endpoint_hash);
        let records = &self.watch().endpoints;
        let Some(record) = claim(records, tag, |endpoint| &endpoint.name.tag) else { return };
        record.name.write(self.owner, bytes);
        set(&record.object, asked.object.into());
        record.clock_is(asked.clock);
        match asked.failure {
            Some(error) if error.concerns_endpoint() => {
                set(&record.breaker, self.tag_of(asked.scope));
                record.failed(&error.to_string());
            }
            None | Some(StoreError::Key { .. }) => record.answered(asked.took),
            Some(_) => {} // it was not asked
        }
    }

    /// How the endpoints are doing that workers of this namespace have asked.
    #[must_use]
    pub fn endpoints(&self) -> Vec<EndpointSeen> {
        let (watch, breakers) = (self.watch(), &self.region.header[0].breakers);
        let seen = watch.endpoints.iter().filter_map(|endpoint| {
            let name = endpoint.name.read(self.owner)?;
            let failed = endpoint.breaker.load(Relaxed); // a statistic
            let breaker = (failed != 0).then(|| Breaker::of(breakers, failed));
            Some(endpoint.seen(name, breaker.and_then(|breaker| breaker.next_try(clock::steady()))))
        });
        seen.collect()
    }
}

/// Relaxed throughout: statistics.
impl Endpoint {
    fn answered(&self, took: Micros) {
        set(&self.failing, 0);
        let bucket = (u64::BITS - took.leading_zeros()) as usize;
        self.round_trips[bucket.min(BUCKETS_OF_TIME - 1)].fetch_add(1, Relaxed);
        self.time.fetch_add(took, Relaxed);
    }

    #[cold]
    fn failed(&self, error: &str) {
        self.failures.fetch_add(1, Relaxed);
        if self.failing.fetch_add(1, Relaxed) == 0 {
            self.outages.fetch_add(1, Relaxed);
        }
        self.failed_at.store(clock::wall(), Relaxed);
        self.error.write(error.as_bytes());
    }

    fn clock_is(&self, clock: ClockSeen) {
        let (known, ahead) = match clock {
            ClockSeen::Unknown => return,
            ClockSeen::Refused => (1, 0),
            ClockSeen::Ahead(micros) => (2, micros as u64),
        };
        set(&self.ahead, ahead);
        set(&self.clock, known);
    }

    fn seen(&self, name: String, next_try: Option<Micros>) -> EndpointSeen {
        let clock = match self.clock.load(Relaxed) {
            0 => ClockSeen::Unknown,
            1 => ClockSeen::Refused,
            _ => ClockSeen::Ahead(self.ahead.load(Relaxed) as i64),
        };
        EndpointSeen {
            name,
            object: self.object.load(Relaxed) == 1,
            failing: self.failing.load(Relaxed),
            next_try,
            failures: self.failures.load(Relaxed),
            outages: self.outages.load(Relaxed),
            last_error: self.error.read().map(|text| (text, self.failed_at.load(Relaxed))),
            clock,
            round_trips: RoundTrips {
                counts: self.round_trips.each_ref().map(|count| count.load(Relaxed)),
                sum: self.time.load(Relaxed),
            },
        }
    }
}

/// Writes only what changes, so that workers do not take the line from each other on each call.
fn set(word: &AtomicU64, value: u64) {
    if word.load(Relaxed) != value {
        word.store(value, Relaxed); // a statistic
    }
}
