//! Shared memory of this host: a fixed region that all workers look at.
//!
//! `layout` says what lies where and why a crash does no harm, `segment` makes every system call,
//! `region` and `file` map it. `counters` and `logs` decide; `rank` says who goes when there is no
//! room. `host` is what this host remembers of stores elsewhere: `deny` and `breaker`.

mod breaker;
mod busy;
mod counters;
mod deny;
mod file;
mod flags;
mod host;
mod key_ring;
mod label;
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
mod watch;

use std::hash::Hasher as _;
use std::path::Path;

use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher13;

use counters::Counters;
use layout::{LogBucket, STRIPES};
use lines::Lines;
use logs::{Logs, Seen};
use stripes::Stripes;

use super::{Call, Owed, Store, StoreError};
use crate::core::counter::Counts;
use crate::core::limit::{Algorithm, Cost, Limit};
use crate::core::log;
use crate::core::time::Micros;
use crate::core::verdict::{Glance, Verdict};

pub use busy::BusySeen;
pub use file::FileProblem;
pub use flags::Flags;
pub use key_ring::{Kept, KeyName, KeyRing};
pub use region::{MIN_SIZE, Region, RegionConfig, RegionError, Share, Usage};
pub use segment::watch_forks;
pub use watch::{
    Asked, BUCKETS_OF_TIME, ClockSeen, EndpointSeen, KINDS, OTHER, OUTCOMES, RoundTrips, Tally,
};

/// A region as the store of one namespace.
#[derive(Clone, Copy)]
pub struct Shm {
    region: &'static Region,
    /// Has taken in the namespace already.
    hasher: SipHasher13,
    /// Stands for the namespace; not 0.
    owner: u64,
}

/// The number of a namespace: of its name (`rate_limit.namespace`) or, where that is empty, of the
/// user `user` whose workers they are.
#[must_use]
pub fn namespace(name: &[u8], user: u32) -> u64 {
    const NAMED: u64 = 1 << 63;
    if name.is_empty() {
        return user.into();
    }
    let digest = Sha256::digest(name);
    NAMED | u64::from_le_bytes(std::array::from_fn(|i| digest[i]))
}

impl Region {
    /// Maps the region that is in a file that workers use, whatever its size, and makes none.
    ///
    /// # Errors
    /// [`RegionError`], which says why it cannot be used.
    pub fn in_file(path: &Path) -> Result<Self, RegionError> {
        file::open_existing(path)
    }

    /// This region as a store. States of different namespaces never meet.
    #[must_use]
    pub fn shm(&'static self, namespace: u64) -> Shm {
        let [a, b] = self.key();
        let mut hasher = SipHasher13::new_with_keys(a, b);
        hasher.write_u64(namespace);
        Shm { region: self, hasher, owner: hasher.finish().max(1) }
    }
}

/// The same namespace of the same region.
impl PartialEq for Shm {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.region, other.region) && self.owner == other.owner
    }
}

impl Shm {
    /// [`Store::attempt`] at `now`, microseconds since the epoch.
    ///
    /// # Errors
    /// [`StoreError::Busy`], [`StoreError::Overtaken`], [`StoreError::Full`] or
    /// [`StoreError::LogTooLarge`].
    #[inline(always)]
    pub fn attempt_at(&self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError> {
        self.record(call, now, Excess::Denied)
    }

    /// [`Self::glance_at`] now.
    #[inline(always)]
    #[must_use]
    pub fn glance(&self, call: &Call<'_>) -> Option<Glance> {
        self.glance_at(call, self.region.now())
    }

    /// [`Self::attempt_at`] on a counter, for a caller who looks at no waits. `None`, and nothing
    /// happened, where the identity has no counter yet.
    #[inline(always)]
    #[must_use]
    pub fn glance_at(&self, call: &Call<'_>, now: Micros) -> Option<Glance> {
        let key = self.find(call);
        self.counters(key).glance(self.counter(key, call, now))
    }

    /// Decides on a call at `now` and records it, or records it whatever the decision.
    #[inline(always)]
    fn record(&self, call: &Call<'_>, now: Micros, excess: Excess) -> Result<Verdict, StoreError> {
        let key = self.find(call);
        match call.algorithm {
            Algorithm::Counter => self
                .counters(key)
                .attempt(counters::Ask { excess, ..self.counter(key, call, now) }, || {
                    self.stripes().hold(key.stripe(), self.pool())
                }),
            Algorithm::Log => {
                let ask = |ask: logs::Ask| self.logs().attempt(&logs::Ask { excess, ..ask });
                let (facts, now) = self.log(key, call, now, ask)?;
                Ok(log::attempt(facts, call.limit, call.cost, now))
            }
        }
    }

    /// Forgets a state, or the oldest part of a log that `into` has room for, and gives it.
    /// Nobody else gets any of the same. Says how much of `into` was filled.
    fn take(&self, call: &Call<'_>, into: &mut [Owed]) -> Result<usize, StoreError> {
        let key = self.find(call);
        match call.algorithm {
            Algorithm::Log => self.logs().take(&key.log(&self.region.logs, call, 0), into),
            Algorithm::Counter => {
                let taken = self.counters(key).take(key.counter_tag(), call.limit.window());
                let owed = taken.into_iter().filter(|owed| owed.units > 0);
                Ok(into.iter_mut().zip(owed).map(|(slot, owed)| *slot = owed).count())
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
                let (facts, now) = self.log(key, call, now, |ask| self.logs().peek(&ask))?;
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

    /// Where this call's state is: a keyed hash of namespace and identity, and algorithm and window in
    /// the bits of it that make a counter's tag, so that one identity's states never pass for each
    /// other. The key is random, so nobody outside can aim at a bucket or at somebody's tag.
    #[inline(always)]
    fn find(&self, call: &Call<'_>) -> Key {
        let algorithm = u64::from(call.algorithm == Algorithm::Log);
        let which = (algorithm << 32) | u64::from(call.limit.window_seconds());
        Key((self.hasher.hash(call.identity) ^ (which << TAG_SHIFT)).max(1))
    }

    #[inline(always)]
    fn counters(&self, key: Key) -> Counters<'static, portable_atomic::AtomicU128> {
        let buckets = &self.region.counters;
        let [first, second] = key.buckets(buckets.len());
        Counters {
            buckets: [&buckets[first], &buckets[second]],
            stats: &self.region.header[0].stats,
        }
    }

    /// The call on a counter, after what the earlier identities hold was read.
    #[inline(always)]
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
        ask: impl FnOnce(logs::Ask) -> Result<Seen, StoreError>,
    ) -> Result<Seen, StoreError> {
        self.room_for(call.algorithm, call.limit)?;
        if call.earlier.is_empty() {
            return ask(key.log(&self.region.logs, call, now));
        }
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
        let (own, now) = ask(logs::Ask { before: log::used(&earlier), ..own })?;
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
    #[inline(always)]
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
                self.counters(key).take(key.counter_tag(), call.limit.window());
                Ok(())
            }
            Algorithm::Log => self.logs().reset(key.0, key.buckets(self.region.logs.len())),
        }
    }

    /// Nobody owes this store anything: where it does not answer, nothing else does.
    fn settle(&mut self, _: &Call<'_>, _: &[Owed]) -> Result<(), StoreError> {
        Ok(())
    }

    fn time(&self, _: Micros) -> Micros {
        self.region.now()
    }
}

/// What becomes of a call that the limit does not admit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Excess {
    /// It is denied and not recorded.
    Denied,
    /// It is recorded.
    Counts,
    /// It is recorded; of a log, the oldest entries beyond the limit go.
    Displaces,
}

/// How far from the lowest bit of a [`Key`] a counter's tag begins.
const TAG_SHIFT: u32 = 30;

/// The hash of what a state belongs to; not 0.
#[derive(Clone, Copy)]
struct Key(u64);

impl Key {
    #[inline]
    fn counter(self, call: &Call<'_>, now: Micros) -> counters::Ask {
        let Call { limit, cost, .. } = *call;
        let (tag, excess, earlier) = (self.counter_tag(), Excess::Denied, Counts::default());
        counters::Ask { tag, limit, cost, now, excess, earlier }
    }

    fn log(self, table: &[LogBucket], call: &Call<'_>, now: Micros) -> logs::Ask {
        let Call { limit, cost, .. } = *call;
        let (tag, buckets) = (self.0, self.buckets(table.len()));
        logs::Ask { tag, buckets, limit, cost, now, excess: Excess::Denied, before: 0 }
    }

    /// The highest 34 bits.
    #[inline]
    fn counter_tag(self) -> u64 {
        (self.0 >> TAG_SHIFT).max(1)
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
