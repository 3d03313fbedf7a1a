//! Who asks most, and who is denied most, right now: a sketch of the last minute.
//!
//! A sample of the calls (see `tally`) ends up in buckets of eight records. A call of an identity
//! that has no record takes one off the least record of its bucket, and takes the record over once
//! that has nothing left (the idea of J. Misra and D. Gries, "Finding repeated elements", 1982). So a
//! count is never too high: with the better known Space-Saving, a client seen once would be shown
//! with the count of the one whose record it took.
//!
//! A record counts two minutes and estimates the last one as the counter does: this minute's calls
//! and the share of the minute before that is still within.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::{Key, Shm};
use crate::core::limit::Algorithm;
use crate::core::time::{Micros, SECOND};
use crate::store::{Call, StoreError};

/// Records of a bucket.
pub(super) const WAYS: usize = 8;
/// Buckets.
pub(super) const BUCKETS: usize = 32;
const MINUTE: Micros = 60 * SECOND;

/// One identity under one limit. Relaxed throughout: statistics.
#[repr(C, align(64))]
pub(super) struct Busy {
    /// Hash of its state; 0: nobody's.
    state: AtomicU64,
    /// Its namespace.
    owner: AtomicU64,
    /// log 1 | limit 31 | remote 1 | window in seconds 31.
    facts: AtomicU64,
    /// Of the region's clock, since the epoch.
    minute: AtomicU64,
    /// In this minute, and in the one before.
    calls: [AtomicU32; 2],
    denied: [AtomicU32; 2],
}

const _: () = assert!(size_of::<Busy>() == 64);

/// An identity that asks much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusySeen {
    /// Stands for identity, class, window and namespace.
    pub state: u64,
    /// Log or counter.
    pub algorithm: Algorithm,
    /// Units that a window admits.
    pub limit: u32,
    /// Seconds.
    pub window: u32,
    /// Whether its state is in a store elsewhere.
    pub remote: bool,
    /// Sampled calls of the last minute.
    pub calls: u64,
    /// Those of them that were denied.
    pub denied: u64,
}

impl BusySeen {
    /// Stands for the identity where people read: class and hash.
    #[must_use]
    pub fn pseudonym(&self) -> String {
        let class = if self.algorithm == Algorithm::Log { "log" } else { "counter" };
        format!("{class}-{:016x}", self.state)
    }
}

impl Busy {
    fn roll(&self, minute: u64) {
        let seen = self.minute.load(Relaxed);
        if seen < minute && self.minute.compare_exchange(seen, minute, Relaxed, Relaxed).is_ok() {
            for [now, before] in [&self.calls, &self.denied] {
                let last = now.swap(0, Relaxed);
                before.store(if seen + 1 == minute { last } else { 0 }, Relaxed);
            }
        }
    }

    fn count(&self, denied: bool) {
        self.calls[0].fetch_add(1, Relaxed);
        if denied {
            self.denied[0].fetch_add(1, Relaxed);
        }
    }

    /// Calls and denials of the minute up to `now`.
    fn estimate(&self, now: Micros) -> [u64; 2] {
        let age = (now / MINUTE).saturating_sub(self.minute.load(Relaxed));
        let left = MINUTE - now % MINUTE;
        [&self.calls, &self.denied].map(|[now, before]| {
            let [now, before] = [now, before].map(|count| u64::from(count.load(Relaxed)));
            match age {
                0 => now + before * left / MINUTE,
                1 => now * left / MINUTE,
                _ => 0,
            }
        })
    }

    /// Makes way for another call by one.
    fn give_way(&self) -> bool {
        let take = |count: u32| count.checked_sub(1);
        let took = |count: &AtomicU32| count.fetch_update(Relaxed, Relaxed, take).is_ok();
        !self.calls.iter().any(took)
    }

    fn take_over(&self, state: u64, owner: u64, facts: u64, minute: u64) {
        for count in self.calls.iter().chain(&self.denied) {
            count.store(0, Relaxed);
        }
        self.minute.store(minute, Relaxed);
        self.owner.store(owner, Relaxed);
        self.facts.store(facts, Relaxed);
        self.state.store(state, Relaxed);
    }

    fn seen(&self, now: Micros) -> BusySeen {
        let facts = self.facts.load(Relaxed);
        let [calls, denied] = self.estimate(now);
        BusySeen {
            state: self.state.load(Relaxed),
            algorithm: if facts >> 63 == 1 { Algorithm::Log } else { Algorithm::Counter },
            limit: (facts >> 32) as u32 & (u32::MAX >> 1),
            remote: facts >> 31 & 1 == 1,
            window: facts as u32 & (u32::MAX >> 1),
            calls,
            denied: denied.min(calls),
        }
    }
}

impl super::Region {
    /// The identities that ask most, of all namespaces, in no order.
    #[must_use]
    pub fn busy(&self) -> Vec<BusySeen> {
        self.busy_where(|_| true)
    }

    fn busy_where(&self, wanted: impl Fn(&Busy) -> bool) -> Vec<BusySeen> {
        let now = self.now();
        let records = self.watch[0].busy.iter().flatten();
        let seen = records.filter(|busy| wanted(busy)).map(|busy| busy.seen(now));
        seen.filter(|seen| seen.state != 0 && seen.calls > 0).collect()
    }
}

impl Shm {
    /// Forgets the state that [`BusySeen::pseudonym`] stands for, whatever its namespace. Says whether
    /// the text is a pseudonym. What is in a store elsewhere stays.
    ///
    /// # Errors
    /// [`StoreError::Busy`]
    pub fn reset_pseudonym(&self, pseudonym: &str) -> Result<bool, StoreError> {
        let Some((class, state)) = pseudonym.split_once('-') else { return Ok(false) };
        let (Ok(state), 16) = (u64::from_str_radix(state, 16), state.len()) else {
            return Ok(false);
        };
        let key = Key(state);
        match class {
            "counter" => {
                self.counters(key).take(key.counter_tag(), 1);
            }
            "log" => self.logs().reset(key.0, key.buckets(self.region.logs.len()))?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Counts a call of the sample. `remote`: its state is in a store elsewhere.
    pub fn sample(&self, call: &Call<'_>, denied: bool, remote: bool) {
        let state = self.find(call).0;
        let now = self.region.now();
        let minute = now / MINUTE;
        let bucket = &self.region.watch[0].busy[state as usize % BUCKETS];
        if let Some(busy) = bucket.iter().find(|busy| busy.state.load(Relaxed) == state) {
            busy.roll(minute);
            return busy.count(denied);
        }
        let least = bucket.iter().min_by_key(|busy| busy.estimate(now)[0]);
        if let Some(busy) = least {
            busy.roll(minute);
            if busy.give_way() {
                let log = u64::from(call.algorithm == Algorithm::Log);
                let facts = (log << 63)
                    | (u64::from(call.limit.max()) << 32)
                    | (u64::from(remote) << 31)
                    | u64::from(call.limit.window_seconds());
                busy.take_over(state, self.owner, facts, minute);
                busy.count(denied);
            }
        }
    }

    /// The identities that ask most, of this namespace, in no order.
    #[must_use]
    pub fn busy(&self) -> Vec<BusySeen> {
        let owner = self.owner;
        self.region.busy_where(|busy| busy.owner.load(Relaxed) == owner)
    }
}
