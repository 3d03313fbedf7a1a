//! Counts decisions without being seen on the hot path: each thread in cells of its own, which go
//! into shared memory about every [`BATCH`] decisions, at the end of a request and before anybody reads.
//!
//! A worker that is killed takes at most a batch of counts with it.
#![forbid(unsafe_code)]

use std::cell::Cell;

use crate::core::limit::Algorithm;
use crate::limiter::{Decision, Source};
use crate::process;
use crate::store::shm::{KINDS, Shm};

/// Decisions that wait in a thread, about.
const BATCH: u32 = 256;
/// One decision in so many, drawn at random, is looked at more closely (see `store::shm::busy`).
pub const SAMPLED: u32 = 16;

/// The classes that are told apart, in the order in which they are counted.
pub const ALGORITHMS: [Algorithm; 2] = [Algorithm::Log, Algorithm::Counter];
/// Likewise the sources.
pub const SOURCES: [Source; 6] = [
    Source::Redis,
    Source::Memory,
    Source::DenyCache,
    Source::FailOpen,
    Source::FailClosed,
    Source::Disabled,
];
/// Likewise what came out.
pub const OUTCOMES: [Outcome; 3] = [Outcome::Allowed, Outcome::Denied, Outcome::WouldDeny];

const _: () = assert!(ALGORITHMS.len() * SOURCES.len() * OUTCOMES.len() == KINDS);

/// What came out of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Allowed,
    /// It did not.
    Denied,
    /// A dry run let it pass.
    WouldDeny,
}

impl Outcome {
    /// What it is called, in PHP and in the metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::WouldDeny => "would_deny",
        }
    }

    /// What came out of `decision`.
    #[must_use]
    pub fn of(decision: &Decision) -> Self {
        match (decision.would_deny, decision.verdict.allowed) {
            (true, _) => Self::WouldDeny,
            (false, true) => Self::Allowed,
            (false, false) => Self::Denied,
        }
    }
}

/// The decisions of `shm`'s namespace so far.
pub fn decisions(shm: Shm) -> impl Iterator<Item = (Algorithm, Source, Outcome, u64)> {
    let counts = shm.tally().counts();
    let each = |(kind, count)| {
        let (rest, outcome) = (kind / OUTCOMES.len(), OUTCOMES[kind % OUTCOMES.len()]);
        (ALGORITHMS[rest / SOURCES.len()], SOURCES[rest % SOURCES.len()], outcome, count)
    };
    counts.into_iter().enumerate().map(each)
}

/// What the class of an algorithm is called where it is counted.
#[must_use]
pub const fn class(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Log => "log",
        Algorithm::Counter => "counter",
    }
}

/// Where decisions of this kind are counted.
#[must_use]
pub const fn kind(algorithm: Algorithm, source: Source, outcome: Outcome) -> usize {
    let algorithm = matches!(algorithm, Algorithm::Counter) as usize;
    (algorithm * SOURCES.len() + source as usize) * OUTCOMES.len() + outcome as usize
}

struct Pending {
    counts: [Cell<u32>; KINDS],
    /// Decisions until the next one that is in the sample.
    until_sample: Cell<u32>,
    /// Samples since the counts were handed in.
    samples: Cell<u32>,
    /// State of the generator that draws the sample (Marsaglia, "Xorshift RNGs", 2003).
    dice: Cell<u32>,
    /// Under which the counts were made: what a parent counted before it forked is the parent's.
    generation: Cell<u64>,
    shm: Cell<Option<Shm>>,
}

thread_local! {
    static PENDING: Pending = const {
        Pending {
            counts: [const { Cell::new(0) }; KINDS],
            until_sample: Cell::new(1),
            samples: Cell::new(0),
            dice: Cell::new(0x9e37_79b9),
            generation: Cell::new(0),
            shm: Cell::new(None),
        }
    };
}

/// Says where this thread's counts belong from now on.
pub fn attach(shm: Shm) {
    PENDING.with(|pending| {
        if pending.shm.get() != Some(shm) {
            pending.flush();
            pending.shm.set(Some(shm));
        }
    });
}

/// Where this thread's counts belong.
#[must_use]
pub fn attached() -> Option<Shm> {
    PENDING.with(|pending| pending.shm.get())
}

/// Hands in what was counted, and lets go of the place.
pub fn detach() {
    PENDING.with(|pending| {
        pending.flush();
        pending.shm.set(None);
    });
}

/// Hands in what was counted.
pub fn flush() {
    PENDING.with(Pending::flush);
}

/// Counts a decision. Says whether it is in the sample.
#[inline]
pub fn count(algorithm: Algorithm, source: Source, outcome: Outcome) -> bool {
    PENDING.with(|pending| {
        if pending.generation.get() != process::generation() {
            pending.forked();
        }
        let cell = &pending.counts[kind(algorithm, source, outcome)];
        cell.set(cell.get().wrapping_add(1));
        let left = pending.until_sample.get() - 1;
        pending.until_sample.set(left);
        if left == 0 {
            pending.sample();
        }
        left == 0
    })
}

impl Pending {
    #[cold]
    fn flush(&self) {
        self.samples.set(0);
        let Some(shm) = self.shm.get() else { return };
        if self.generation.get() != process::generation() {
            self.forked();
        }
        let tally = shm.tally();
        for (kind, cell) in self.counts.iter().enumerate() {
            match cell.replace(0) {
                0 => {}
                count => tally.add(kind, count),
            }
        }
    }

    #[cold]
    fn forked(&self) {
        self.counts.iter().for_each(|cell| cell.set(0));
        self.generation.set(process::generation());
    }

    /// Draws when the next sample is due: in [`SAMPLED`] decisions on average, at no rhythm that an
    /// application could have as well.
    #[cold]
    fn sample(&self) {
        let mut x = self.dice.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.dice.set(x);
        self.until_sample.set(1 + x % (2 * SAMPLED - 1));
        self.samples.set(self.samples.get() + 1);
        if self.samples.get() >= BATCH / SAMPLED {
            self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::shm::{MIN_SIZE, Region, RegionConfig};

    #[test]
    fn every_kind_has_a_place_of_its_own() {
        let kinds = ALGORITHMS.iter().flat_map(|&algorithm| {
            SOURCES.iter().flat_map(move |&source| {
                OUTCOMES.iter().map(move |&outcome| kind(algorithm, source, outcome))
            })
        });
        assert!(kinds.eq(0..KINDS));
        let region = Region::map(&RegionConfig { size: MIN_SIZE, file: None }).unwrap();
        let shm = Box::leak(Box::new(region)).shm(0);
        assert!(decisions(shm).map(|(a, s, o, _)| kind(a, s, o)).eq(0..KINDS));
    }
}
