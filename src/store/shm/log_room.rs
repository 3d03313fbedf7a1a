//! Room for logs: slots and lines, free ones or those of whoever goes first.
//!
//! To evict somebody takes his stripe as well as the caller's own. It is never waited for, so nobody
//! who holds a stripe waits for another.

use std::sync::atomic::Ordering::{Acquire, Relaxed};

use super::layout::{LogSlot, Stripe};
use super::log_word::LogWord;
use super::logs::{Ask, Logs, stripe};
use super::rank::{self, Meta, Rank};
use crate::core::log;
use crate::core::time::Micros;
use crate::store::StoreError;

/// Tries to get a slot, or a line, each lost to others or to a victim that is in use.
const TRIES: usize = 16;
/// Victims that are compared when lines have run out.
const SAMPLE: usize = 16;
/// Buckets that are looked at to find them.
const BUCKETS_LOOKED_AT: usize = 1024;

impl Logs<'_> {
    /// With the stripe held, makes a slot the identity's.
    pub(super) fn claim_slot(self, ask: &Ask) -> Result<u32, StoreError> {
        let mut passed_over = [u32::MAX; TRIES];
        for nth in 0..TRIES {
            let ranked = ask.buckets.map(|bucket| {
                self.slots(bucket)
                    .filter(|(number, _)| !passed_over.contains(number))
                    .map(|(number, slot)| ((number, slot), self.rank(slot, ask.now)))
            });
            let ((number, slot), rank) = rank::first_to_go(ranked).ok_or(StoreError::Full)?;
            if rank != Rank::Free && self.evict(number, ask.now).is_none() {
                passed_over[nth] = number;
                continue;
            }
            // Acquire: pairs with the Release in `remove`; so that the last owner's log is gone.
            if slot.tag.compare_exchange(0, ask.tag, Acquire, Relaxed).is_ok() {
                self.pool.stats.logs.fetch_add(1, Relaxed); // a statistic
                return Ok(number);
            }
        }
        Err(StoreError::Overtaken)
    }

    /// Frees a slot and its lines, unless its stripe is held or its owner may no longer go.
    /// Returns one of the lines.
    fn evict(self, number: u32, now: Micros) -> Option<u32> {
        let slot = self.pool.slot(number)?;
        let tag = slot.tag.load(Relaxed); // checked again below
        let holding = self.stripes.try_hold(stripe(tag), self.pool)?;
        let rank = self.rank(slot, now);
        if tag == 0 || slot.tag.load(Relaxed) != tag || !rank.may_go() {
            return None;
        }
        let line = LogWord::read(slot.word.load(Relaxed)).first; // written with the stripe held
        self.remove(number, &holding);
        let stats = self.pool.stats;
        let counted = match rank {
            Rank::Live { .. } => &stats.evicted_live,
            _ => &stats.evicted_expired,
        };
        counted.fetch_add(1, Relaxed); // a statistic
        Some(line)
    }

    /// A line for slot `number`, a victim's if none is free.
    pub(super) fn claim_line(
        self,
        number: u32,
        stripe: &Stripe,
        now: Micros,
    ) -> Result<u32, StoreError> {
        for _ in 0..TRIES {
            if let Some(line) = self.pool.claim(number, stripe) {
                return Ok(line);
            }
            let victim = self.victim(number, now).ok_or(StoreError::Full)?;
            if let Some(line) = self.evict(victim, now) {
                stripe.line.store(line, Relaxed); // a hint
            }
        }
        Err(StoreError::Full)
    }

    /// The first to go among some logs that have lines, other than `but`.
    fn victim(self, but: u32, now: Micros) -> Option<u32> {
        let count = self.pool.buckets.len();
        let start = self.pool.hands.victim.load(Relaxed) as usize; // a hint
        let mut looked_at = 0;
        let mut best: Option<(u32, Rank)> = None;
        let mut bucket = start % count;
        for _ in 0..BUCKETS_LOOKED_AT.min(count) {
            for (number, slot) in self.slots(bucket) {
                let idle = LogWord::read(slot.word.load(Relaxed)).length == 0;
                if slot.tag.load(Relaxed) == 0 || idle || number == but {
                    continue;
                }
                looked_at += 1;
                let rank = self.rank(slot, now);
                if rank.may_go() && best.is_none_or(|(_, least)| rank < least) {
                    best = Some((number, rank));
                }
            }
            bucket = (bucket + 1) % count;
            if looked_at >= SAMPLE {
                break;
            }
        }
        self.pool.hands.victim.store(bucket as u32, Relaxed); // a hint
        best.map(|(number, _)| number)
    }

    /// How readily a log is given away. Exact with its stripe held; without it, a guess.
    fn rank(self, slot: &LogSlot, now: Micros) -> Rank {
        let log = LogWord::read(slot.word.load(Relaxed));
        let Some(limit) = Meta::read(&slot.meta).limit().filter(|_| log.length > 0) else {
            return if slot.tag.load(Relaxed) == 0 { Rank::Free } else { Rank::Expired };
        };
        let newest = log.newest(self.pool.line(log.last));
        let oldest = self.pool.line(log.first).entry(log.head, newest);
        let gone = |time| log::horizon(limit, now.max(newest)).is_some_and(|h| time <= h);
        match u64::from(log.length) {
            _ if gone(newest) => Rank::Expired,
            // As many as the limit, but not all of them count any more.
            used if gone(oldest) => {
                Rank::of(used.min(u64::from(limit.max()).saturating_sub(1)).max(1), limit)
            }
            used => Rank::of(used, limit),
        }
    }
}
