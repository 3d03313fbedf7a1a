//! Counters: a table of words, each changed by one compare-and-swap.
//!
//! ```text
//! 127      94 93         62 61          31 30           0
//! |   tag   | window index | units before | units now   |
//! ```
//!
//! An identity's counter lies in one of two buckets of 8 slots. A call that finds it decides and
//! swaps, over again when another was faster, and holds nothing. A call that does not, and is
//! admitted, takes the identity's stripe, looks again, and swaps a victim's word for its own. That
//! a word belongs to somebody else by now shows in its tag, which is in the same word.
//!
//! A tag has 34 bits, so a fresh identity meets another's slot once in 2^30 identities, for whoever
//! does not know the key.
//!
//! Worked: limit 100, window 60 s, at 12:00:10 a slot says index of 11:59, before 3, now 40. The
//! window has moved by one: before 40, now 0; the estimate is floor(40 * 50 / 60) = 33; one more is
//! admitted and the word becomes index of 12:00, before 40, now 1.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use portable_atomic::AtomicU128;

use super::Excess;
use super::layout::{CounterBucket, Stats};
use super::rank::{self, Meta, Rank};
use crate::core::counter::{self, Counts, Position};
use crate::core::limit::{Cost, Limit};
use crate::core::time::Micros;
use crate::core::verdict::{Glance, Verdict};
use crate::store::{Owed, StoreError};

/// Tries to insert a counter before giving up, each lost to another identity's insertion.
const TRIES: usize = 64;

const UNITS: u32 = 31;
const INDEX: u32 = 32;
const TAG: u32 = 34;

/// The atomic that a slot is made of; a trait so that a model checker can stand in for the
/// processor.
///
/// Relaxed throughout: all that a decision needs is in the one word, and nothing is published by it.
pub(super) trait Word {
    /// The word as it is.
    fn load(&self) -> u128;
    /// Makes it `new` if it is `seen`; if not, says what it is.
    fn swap(&self, seen: u128, new: u128) -> Result<(), u128>;
}

impl Word for AtomicU128 {
    #[inline]
    fn load(&self) -> u128 {
        self.load(Relaxed)
    }

    #[inline]
    fn swap(&self, seen: u128, new: u128) -> Result<(), u128> {
        self.compare_exchange(seen, new, Relaxed, Relaxed).map(drop)
    }
}

/// What a slot's word says.
#[derive(Clone, Copy)]
struct State {
    /// Whose it is; 0: nobody's.
    tag: u64,
    index: u64,
    counts: Counts,
}

impl State {
    #[inline]
    fn read(word: u128) -> Self {
        let bits = |from: u32, count: u32| (word >> from) as u64 & ((1 << count) - 1);
        Self {
            tag: (word >> (128 - TAG)) as u64,
            index: bits(2 * UNITS, INDEX),
            counts: Counts { prev: bits(UNITS, UNITS), curr: bits(0, UNITS) },
        }
    }

    /// Units are at most the highest limit, so they fit; an index fits until the year 2106.
    #[inline]
    fn word(self) -> u128 {
        (u128::from(self.tag) << (128 - TAG))
            | (u128::from(self.index.min((1 << INDEX) - 1)) << (2 * UNITS))
            | (u128::from(self.counts.prev) << UNITS)
            | u128::from(self.counts.curr)
    }

    /// The same as of window `index`, which is not before its own.
    #[inline]
    fn moved_to(self, index: u64) -> Self {
        Self { index, counts: self.counts.moved(index - self.index), ..self }
    }

    fn spend(mut self, cost: Cost) -> Self {
        self.counts.curr = self.counts.curr.saturating_add(cost.units()).min((1 << UNITS) - 1);
        self
    }
}

/// A call on a counter.
#[derive(Clone, Copy)]
pub(super) struct Ask {
    /// 34 bits that say whose counter is meant; not 0.
    pub tag: u64,
    pub limit: Limit,
    pub cost: Cost,
    pub now: Micros,
    pub excess: Excess,
    /// What the client's earlier identities have used, as of the window that holds `now`.
    pub earlier: Counts,
}

/// What a call finds.
#[derive(Clone, Copy)]
struct Found {
    /// Of its own identity, as of the window in which it is decided.
    state: State,
    /// What counts: its own and the earlier identities'.
    counts: Counts,
    /// How far that window has run.
    elapsed: Micros,
}

impl Found {
    #[inline(always)]
    fn verdict(self, ask: Ask) -> Verdict {
        counter::attempt(self.counts, ask.limit, ask.cost, self.elapsed)
    }
}

impl Ask {
    /// What this call finds where the word is `seen`. A call that was overtaken by the start of a
    /// window counts at that start.
    #[inline]
    fn find(self, seen: u128) -> Found {
        let (state, here) = (State::read(seen), Position::of(self.limit, self.now));
        let at = here.no_earlier_than(state.index);
        let state = state.moved_to(at.index);
        let counts = state.counts + self.earlier.moved(at.index - here.index);
        Found { state, counts, elapsed: at.elapsed }
    }

    /// What it finds where its identity has used nothing.
    fn fresh(self) -> Found {
        let Position { index, elapsed } = Position::of(self.limit, self.now);
        let state = State { tag: self.tag, index, counts: Counts::default() };
        Found { state, counts: self.earlier, elapsed }
    }
}

/// A slot of a bucket: one counter.
struct Slot<'a, W> {
    word: &'a W,
    meta: &'a AtomicU64,
}

impl<W> CounterBucket<W> {
    #[inline(always)]
    fn slots(&self) -> impl Iterator<Item = Slot<'_, W>> {
        self.words.iter().zip(&self.metas).map(|(word, meta)| Slot { word, meta })
    }
}

/// The two buckets of one identity.
pub(super) struct Counters<'a, W> {
    pub buckets: [&'a CounterBucket<W>; 2],
    pub stats: &'a Stats,
}

impl<'a, W: Word> Counters<'a, W> {
    /// Decides and records. `hold` takes the identity's stripe, and is called only to insert.
    #[inline(always)]
    pub fn attempt<G>(
        &self,
        ask: Ask,
        hold: impl FnOnce() -> Result<G, StoreError>,
    ) -> Result<Verdict, StoreError> {
        match self.spend(ask) {
            Some(found) => Ok(found.verdict(ask)),
            None => self.begin(ask, hold),
        }
    }

    /// Decides and records, for a caller who looks at no waits. `None`, and nothing happened, where
    /// the identity has no slot.
    #[inline(always)]
    pub fn glance(&self, ask: Ask) -> Option<Glance> {
        let Found { counts, elapsed, .. } = self.spend(ask)?;
        Some(counter::glance(counts, ask.limit, ask.cost, elapsed))
    }

    /// The same where the identity has no slot.
    #[cold]
    fn begin<G>(
        &self,
        ask: Ask,
        hold: impl FnOnce() -> Result<G, StoreError>,
    ) -> Result<Verdict, StoreError> {
        let verdict = ask.fresh().verdict(ask);
        if !verdict.allowed && ask.excess == Excess::Denied {
            return Ok(verdict);
        }
        let _held = hold()?;
        self.insert(ask)
    }

    /// Decides and records nothing.
    pub fn peek(&self, ask: Ask) -> Verdict {
        let found = self.found(ask);
        counter::peek(found.counts, ask.limit, ask.cost, found.elapsed)
    }

    /// The same call with what this counter holds counted among the earlier identities' units: not
    /// before the window that this counter has reached.
    pub fn before(&self, ask: Ask) -> Ask {
        let Found { state, counts, .. } = self.found(ask);
        Ask { earlier: counts, now: ask.now.max(state.index * ask.limit.window()), ..ask }
    }

    fn found(&self, ask: Ask) -> Found {
        self.find(ask.tag).map_or_else(|| ask.fresh(), |(_, seen)| ask.find(seen))
    }

    /// Forgets the counter and gives what it held, a part for each of its two windows.
    pub fn take(&self, tag: u64, window: Micros) -> [Owed; 2] {
        while let Some((slot, seen)) = self.find(tag) {
            if slot.word.swap(seen, 0).is_ok() {
                self.stats.counters.fetch_sub(1, Relaxed); // a statistic
                let State { index, counts, .. } = State::read(seen);
                return [(index.saturating_sub(1), counts.prev), (index, counts.curr)]
                    .map(|(index, units)| Owed { at: index * window, units });
            }
        }
        [Owed::default(); 2]
    }

    #[inline(always)]
    fn find(&self, tag: u64) -> Option<(Slot<'a, W>, u128)> {
        for bucket in self.buckets {
            for slot in bucket.slots() {
                let seen = slot.word.load();
                if State::read(seen).tag == tag {
                    return Some((slot, seen));
                }
            }
        }
        None
    }

    /// Decides on the slot that is there, records, and gives what it found. `None`: there is none.
    #[inline(always)]
    fn spend(&self, ask: Ask) -> Option<Found> {
        let (slot, mut seen) = self.find(ask.tag)?;
        loop {
            let found = ask.find(seen);
            if ask.excess == Excess::Denied
                && !counter::admits(found.counts, ask.limit, ask.cost, found.elapsed)
            {
                return Some(found);
            }
            match slot.word.swap(seen, found.state.spend(ask.cost).word()) {
                Ok(()) => {
                    note(slot.meta, ask.limit);
                    return Some(found);
                }
                Err(other) if State::read(other).tag == ask.tag => seen = other,
                Err(_) => return None, // evicted or reset meanwhile
            }
        }
    }

    /// With the identity's stripe held: records in its slot, or in a victim's.
    fn insert(&self, ask: Ask) -> Result<Verdict, StoreError> {
        for _ in 0..TRIES {
            if let Some(found) = self.spend(ask) {
                return Ok(found.verdict(ask));
            }
            let ((slot, seen), rank) = self.victim(ask.now).ok_or(StoreError::Full)?;
            let fresh = ask.fresh();
            if slot.word.swap(seen, fresh.state.spend(ask.cost).word()).is_ok() {
                note(slot.meta, ask.limit);
                self.count(rank);
                return Ok(fresh.verdict(ask));
            }
        }
        Err(StoreError::Overtaken)
    }

    /// The slot that a fresh identity takes, and what it was seen to hold.
    fn victim(&self, now: Micros) -> Option<((Slot<'a, W>, u128), Rank)> {
        rank::first_to_go(self.buckets.map(|bucket| {
            bucket.slots().map(move |slot| {
                let (seen, meta) = (slot.word.load(), Meta::read(slot.meta));
                ((slot, seen), rank(seen, meta, now))
            })
        }))
    }

    fn count(&self, victim: Rank) {
        let counted = match victim {
            Rank::Free => &self.stats.counters,
            Rank::Expired => &self.stats.evicted_expired,
            Rank::Live { .. } => &self.stats.evicted_live,
        };
        counted.fetch_add(1, Relaxed); // a statistic
    }
}

/// Remembers the limit for [`rank()`]; a store only where it changed, to leave the line unwritten.
#[inline]
fn note(meta: &AtomicU64, limit: Limit) {
    let new = Meta::of(limit).bits();
    if meta.load(Relaxed) != new {
        meta.store(new, Relaxed); // a hint, read by nobody's decision
    }
}

fn rank(word: u128, meta: Meta, now: Micros) -> Rank {
    let state = State::read(word);
    if state.tag == 0 {
        return Rank::Free;
    }
    let Some(limit) = meta.limit() else { return Rank::Expired };
    let at = Position::of(limit, now).no_earlier_than(state.index);
    Rank::of(counter::estimate(state.moved_to(at.index).counts, limit, at.elapsed), limit)
}
