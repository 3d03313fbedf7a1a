//! Shared memory of this host: a fixed region that all workers look at.
//!
//! `layout` says what lies where and why a crash does no harm, `segment` makes every system call,
//! `region` and `file` map it. `counters` and `logs` decide; `rank` says who goes when there is no
//! room. `host` is what this host remembers of stores elsewhere: `deny` and `breaker`.

mod breaker;
mod counters;
mod deny;
mod file;
mod flags;
mod host;
mod key_ring;
mod layout;
mod lines;
mod log_room;
mod log_word;
mod logs;
#[cfg(test)]
mod model;
mod rank;
mod region;
mod segment;
mod stripes;

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

use counters::Counters;
use layout::{LogBucket, STRIPES};
use lines::Lines;
use logs::{Logs, Seen};
use stripes::Stripes;

use super::{Call, Store, StoreError};
use crate::core::counter::Counts;
use crate::core::limit::{Algorithm, Cost, Limit};
use crate::core::log;
use crate::core::time::Micros;
use crate::core::verdict::Verdict;

pub use file::FileProblem;
pub use flags::Flags;
pub use key_ring::{Kept, KeyName, KeyRing};
pub use region::{MIN_SIZE, Region, RegionConfig, RegionError, Share, Usage};
pub use segment::watch_forks;

/// A region as the store of one namespace.
#[derive(Clone, Copy)]
pub struct Shm {
    region: &'static Region,
    /// Has taken in the namespace already.
    hasher: SipHasher13,
}

impl Region {
    /// This region as a store. States of different namespaces never meet.
    #[must_use]
    pub fn shm(&'static self, namespace: u64) -> Shm {
        let [a, b] = self.key();
        let mut hasher = SipHasher13::new_with_keys(a, b);
        hasher.write_u64(namespace);
        Shm { region: self, hasher }
    }
}

impl Shm {
    /// [`Store::attempt`] at `now`, microseconds since the epoch.
    ///
    /// # Errors
    /// [`StoreError::Busy`], [`StoreError::Full`] or [`StoreError::LogTooLarge`].
    #[inline]
    pub fn attempt_at(&self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError> {
        let key = self.find(call);
        match call.algorithm {
            Algorithm::Counter => self.counters(key).attempt(self.counter(key, call, now), || {
                self.stripes().hold(key.stripe(), self.pool())
            }),
            Algorithm::Log => {
                let (facts, now) = self.log(key, call, now, Logs::attempt)?;
                Ok(log::attempt(facts, call.limit, call.cost, now))
            }
        }
    }

    /// [`Store::peek`] at `now`, microseconds since the epoch.
    ///
    /// # Errors
    /// As [`Self::attempt_at`], but never [`StoreError::Full`].
    pub fn peek_at(&self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError> {
        let key = self.find(call);
        match call.algorithm {
            Algorithm::Counter => Ok(self.counters(key).peek(self.counter(key, call, now))),
            Algorithm::Log => {
                let (facts, now) = self.log(key, call, now, Logs::peek)?;
                Ok(log::peek(facts, call.limit, call.cost, now))
            }
        }
    }

    /// Whether this region takes such a limit at all, for a check before the first call.
    ///
    /// # Errors
    /// [`StoreError::LogTooLarge`] where one log at its limit, at 64 bytes and 8 an entry, would
    /// need more than a quarter of the region.
    pub fn room_for(&self, algorithm: Algorithm, limit: Limit) -> Result<(), StoreError> {
        let (entries, region) = (u64::from(limit.max()), self.region.size() as u64);
        let needed = 64 + 8 * entries;
        if algorithm == Algorithm::Log && needed > region / 4 {
            return Err(StoreError::LogTooLarge { entries, needed, region });
        }
        Ok(())
    }

    /// Where this call's state is: a keyed hash of namespace, algorithm, window and identity. The key
    /// is random, so nobody outside can aim at a bucket or at somebody's tag.
    #[inline]
    fn find(&self, call: &Call<'_>) -> Key {
        let mut hasher = self.hasher;
        let algorithm = u64::from(call.algorithm == Algorithm::Log);
        hasher.write_u64((algorithm << 32) | u64::from(call.limit.window_seconds()));
        Key(hasher.hash(call.identity).max(1))
    }

    fn counters(&self, key: Key) -> Counters<'static, portable_atomic::AtomicU128> {
        let buckets = &self.region.counters;
        let [first, second] = key.buckets(buckets.len());
        Counters {
            buckets: [&buckets[first], &buckets[second]],
            stats: &self.region.header[0].stats,
        }
    }

    /// The call on a counter, after what the earlier identities hold was read.
    #[inline]
    fn counter(&self, key: Key, call: &Call<'_>, now: Micros) -> counters::Ask {
        let mut ask = key.counter(call, now);
        for identity in call.earlier {
            let key = self.find(&Call { identity, ..*call });
            ask = self.counters(key).before(counters::Ask { tag: key.counter_tag(), ..ask });
        }
        counters::Ask { tag: key.counter_tag(), ..ask }
    }

    /// Asks the log, after the earlier identities' logs were read.
    fn log(
        &self,
        key: Key,
        call: &Call<'_>,
        mut now: Micros,
        ask: fn(Logs<'static>, &logs::Ask) -> Result<Seen, StoreError>,
    ) -> Result<Seen, StoreError> {
        self.room_for(call.algorithm, call.limit)?;
        let mut earlier = Vec::new();
        let of = |n: usize, limit, cost, now| {
            let call = Call { identity: &call.earlier[n], limit, cost, ..*call };
            self.logs().peek(&self.find(&call).log(&self.region.logs, &call, now))
        };
        for n in 0..call.earlier.len() {
            let (facts, at) = of(n, call.limit, call.cost, now)?;
            earlier.push(facts);
            now = at;
        }
        let own = key.log(&self.region.logs, call, now);
        let (own, now) = ask(self.logs(), &logs::Ask { before: log::used(&earlier), ..own })?;
        let nth = |log: usize, n| {
            let limit = log::blocked_by(call.limit, earlier[log].used, n);
            of(log, limit, Cost::ONE, now).map(|(facts, _)| facts.blocking)
        };
        Ok((log::join(&earlier, own, call.limit, call.cost, nth)?, now))
    }

    fn logs(&self) -> Logs<'static> {
        Logs { pool: self.pool(), stripes: self.stripes() }
    }

    fn stripes(&self) -> Stripes<'static> {
        Stripes(&self.region.stripes)
    }

    fn pool(&self) -> Lines<'static> {
        let region = self.region;
        Lines {
            buckets: &region.logs,
            owners: &region.owners,
            lines: &region.lines,
            hands: &region.header[0].hands,
            stats: &region.header[0].stats,
        }
    }
}

impl Store for Shm {
    #[inline]
    fn attempt(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError> {
        self.attempt_at(call, self.region.now())
    }

    fn peek(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError> {
        self.peek_at(call, self.region.now())
    }

    fn reset(&mut self, call: &Call<'_>) -> Result<(), StoreError> {
        for identity in call.earlier {
            self.reset(&Call { identity, earlier: &[], ..*call })?;
        }
        let key = self.find(call);
        match call.algorithm {
            Algorithm::Counter => {
                self.counters(key).reset(key.counter_tag());
                Ok(())
            }
            Algorithm::Log => {
                self.logs().reset(&key.log(&self.region.logs, call, self.region.now()))
            }
        }
    }
}

/// The hash of what a state belongs to; not 0.
#[derive(Clone, Copy)]
struct Key(u64);

impl Key {
    #[inline]
    fn counter(self, call: &Call<'_>, now: Micros) -> counters::Ask {
        let (tag, earlier) = (self.counter_tag(), Counts::default());
        counters::Ask { tag, limit: call.limit, cost: call.cost, now, earlier }
    }

    fn log(self, table: &[LogBucket], call: &Call<'_>, now: Micros) -> logs::Ask {
        let buckets = self.buckets(table.len());
        logs::Ask { tag: self.0, buckets, limit: call.limit, cost: call.cost, now, before: 0 }
    }

    /// The highest 34 bits.
    #[inline]
    fn counter_tag(self) -> u64 {
        (self.0 >> 30).max(1)
    }

    fn stripe(self) -> usize {
        self.0 as usize % STRIPES
    }

    /// Numbers of the two buckets, of `count`: the lowest 30 bits scaled to `0..count`, and the
    /// highest of a product that all bits go into.
    #[inline]
    fn buckets(self, count: usize) -> [usize; 2] {
        let low = self.0 & ((1 << 30) - 1);
        let mixed = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34; // 2^64 / golden ratio
        [low, mixed].map(|bits| ((bits * count as u64) >> 30) as usize)
    }
}
