//! The pool of lines: who has which, and how they come back.

use std::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Relaxed, Release},
};

use super::layout::{Hands, Line, LogBucket, LogSlot, Stats, Stripe};
use super::log_word::LogWord;

/// Owners that one search looks at before it gives up.
const PROBES: usize = 1024;
/// Marks, in an owner, a line that the log's word reaches; see [`Lines::free_garbage`].
const REACHED: u32 = 1 << 31;

/// The sections that logs are made of.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    pub buckets: &'a [LogBucket],
    pub owners: &'a [AtomicU32],
    pub lines: &'a [Line],
    pub hands: &'a Hands,
    pub stats: &'a Stats,
}

impl<'a> Lines<'a> {
    /// Line `number`; another one if there is no such line (layout, invariant 3).
    pub fn line(self, number: u32) -> &'a Line {
        &self.lines[(number as usize).min(self.lines.len() - 1)]
    }

    /// Slot `number`, if there is one.
    pub fn slot(self, number: u32) -> Option<&'a LogSlot> {
        let number = number as usize;
        self.buckets.get(number / super::layout::BUCKET).map(|b| &b.0[number % b.0.len()])
    }

    /// Makes a free line that of slot `number`, whose stripe is held. `None`: none was found.
    pub fn claim(self, number: u32, stripe: &Stripe) -> Option<u32> {
        let hint = stripe.line.load(Relaxed); // hints: any value is right
        if self.take(hint, number) {
            // What was freed together is still linked.
            stripe.line.store(self.line(hint).next.load(Relaxed), Relaxed);
            return Some(hint);
        }
        let count = self.owners.len();
        let start = self.hands.line.load(Relaxed) as usize;
        let probed = PROBES.min(count);
        let found = (start..start + probed).find(|&at| self.take((at % count) as u32, number));
        let next = found.map_or(start + probed, |at| at + 1) % count;
        self.hands.line.store(next as u32, Relaxed);
        found.map(|at| (at % count) as u32)
    }

    fn take(self, line: u32, number: u32) -> bool {
        let Some(owner) = self.owners.get(line as usize) else { return false };
        // Acquire: pairs with the Release in `give`; so that what this owner writes into the line
        // comes after whatever the last one read there. Release: after the stripe says which slot.
        let taken = owner.load(Relaxed) == 0
            && owner.compare_exchange(0, number + 1, AcqRel, Relaxed).is_ok();
        if taken {
            self.stats.lines.fetch_add(1, Relaxed); // a statistic
        }
        taken
    }

    fn give(self, line: u32, number: u32) {
        let Some(owner) = self.owners.get(line as usize) else { return };
        // Release: pairs with the Acquire in `take`.
        if owner.compare_exchange(number + 1, 0, Release, Relaxed).is_ok() {
            self.stats.lines.fetch_sub(1, Relaxed); // a statistic
        }
    }

    /// Frees `count` lines of slot `number` from line `first` on, whose stripe is held, and which
    /// the slot's word no longer reaches.
    pub fn free(self, first: u32, count: u32, number: u32, stripe: &Stripe) {
        let mut line = first;
        for _ in 0..count.min(self.lines.len() as u32) {
            let next = self.line(line).next.load(Relaxed); // read before it is anybody else's
            self.give(line, number);
            line = next;
        }
        if count > 0 {
            stripe.line.store(first, Relaxed); // a hint
        }
    }

    /// After a worker died while it changed slot `number`, whose stripe is held: frees every line
    /// that the slot owns and its word does not reach (layout, invariant 9).
    ///
    /// Done again from the start if this worker dies as well.
    pub fn free_garbage(self, number: u32) {
        let Some(slot) = self.slot(number) else { return };
        let log = LogWord::read(slot.word.load(Relaxed)); // written only with the stripe held
        let mine = number + 1;
        let mut line = log.first;
        for _ in 0..log.lines().min(self.lines.len() as u32) {
            if let Some(owner) = self.owners.get(line as usize) {
                // Relaxed, here and below: only a holder of the stripe changes an owner that is
                // this slot's.
                let _ = owner.compare_exchange(mine, mine | REACHED, Relaxed, Relaxed);
            }
            line = self.line(line).next.load(Relaxed);
        }
        for (line, owner) in self.owners.iter().enumerate() {
            match owner.load(Relaxed) {
                seen if seen == mine => self.give(line as u32, number),
                seen if seen == mine | REACHED => owner.store(mine, Relaxed),
                _ => {}
            }
        }
    }
}
