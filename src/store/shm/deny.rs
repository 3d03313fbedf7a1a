//! Denials that hold: what another store said, until time alone can turn it around.
//!
//! A denial is four instants: until when it is believed, and when the verdict's three waits end. Its
//! sixth of a bucket is written without a lock, word by word. `check` is the exclusive or of the
//! identity's tag with a mixture of the other words and of the bucket's count of resets; a reader
//! that finds its own tag by undoing that has read words that belong together, to it, and to no time
//! before a reset. Anything else, a half-written denial included, is as if nothing were remembered.
//! (The trick is known from chess programs' tables: R. Hyatt and T. Mann, "A lock-less transposition
//! table implementation", 2002.)

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use super::layout::{Denial as Slot, DenyBucket};
use crate::core::time::{Micros, SECOND};
use crate::core::verdict::Verdict;
use crate::store::{Denial, Ticket};

/// For how long a denial is believed at the most: until then a `reset` on another host, a deleted
/// key or a failover goes unnoticed.
const LONGEST: Micros = 10 * SECOND;

impl DenyBucket {
    /// See [`crate::store::Host::denial`]. `limit` is the verdict's.
    pub fn find(&self, place: u64, tag: u64, limit: u32, now: Micros) -> Denial {
        // Acquire: pairs with the AcqRel in `forget`; so that whoever knows of a reset sees it.
        let resets = self.resets.load(Acquire);
        self.denials
            .iter()
            .find_map(|slot| slot.read(tag, resets, limit, now))
            .map_or(Denial::Unknown(Some(Ticket { place, tag, resets })), Denial::Holds)
    }

    /// See [`crate::store::Host::remember`].
    pub fn remember(&self, ticket: Ticket, verdict: &Verdict, asked: Micros) {
        let Some(retry_after) = verdict.retry_after else { return };
        let believed = asked + retry_after.min(LONGEST);
        let words = [
            believed,
            asked + retry_after,
            asked + verdict.replenish_after,
            asked + verdict.reset_after,
        ];
        let soonest_over = |slot: &&Slot| slot.until.load(Relaxed); // any choice is right
        let Some(slot) = self.denials.iter().min_by_key(soonest_over) else { return };
        slot.write(ticket.tag ^ mixture(words, ticket.resets), words);
    }

    /// See [`crate::store::Host::forget`]. Costs the bucket's other identities their denials, too.
    pub fn forget(&self) {
        self.resets.fetch_add(1, AcqRel); // pairs with the Acquire in `find`
    }
}

/// Relaxed throughout: `check` finds out words that do not belong together.
impl Slot {
    fn read(&self, tag: u64, resets: u64, limit: u32, now: Micros) -> Option<Verdict> {
        let check = self.check.load(Relaxed);
        let words =
            [&self.until, &self.retry, &self.replenish, &self.reset].map(|w| w.load(Relaxed));
        let [until, retry, replenish, reset] = words;
        (check ^ mixture(words, resets) == tag && now < until).then(|| Verdict {
            allowed: false,
            limit,
            remaining: 0,
            retry_after: Some(retry.saturating_sub(now)),
            replenish_after: replenish.saturating_sub(now),
            reset_after: reset.saturating_sub(now),
        })
    }

    fn write(&self, check: u64, [until, retry, replenish, reset]: [u64; 4]) {
        self.check.store(check, Relaxed);
        self.until.store(until, Relaxed);
        self.retry.store(retry, Relaxed);
        self.replenish.store(replenish, Relaxed);
        self.reset.store(reset, Relaxed);
    }
}

/// Depends on every bit of every word. The multiplier is 2^64 divided by the golden ratio.
fn mixture(words: [u64; 4], resets: u64) -> u64 {
    words
        .iter()
        .fold(resets, |sum, word| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket() -> DenyBucket {
        // SAFETY: every field is an atomic, for which zero is a value (layout, invariants 1 and 2).
        unsafe { std::mem::zeroed() }
    }

    fn denied(retry: Micros, replenish: Micros, reset: Micros) -> Verdict {
        Verdict {
            allowed: false,
            limit: 5,
            remaining: 0,
            retry_after: Some(retry),
            replenish_after: replenish,
            reset_after: reset,
        }
    }

    fn ticket(bucket: &DenyBucket, tag: u64, now: Micros) -> Ticket {
        match bucket.find(0, tag, 5, now) {
            Denial::Unknown(Some(ticket)) => ticket,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_denial_holds_with_falling_waits_until_a_unit_could_pass() {
        let bucket = bucket();
        bucket.remember(ticket(&bucket, 9, 100), &denied(50, 40, 90), 100);
        assert_eq!(bucket.find(0, 9, 5, 100), Denial::Holds(denied(50, 40, 90)));
        assert_eq!(bucket.find(0, 9, 5, 149), Denial::Holds(denied(1, 0, 41)));
        ticket(&bucket, 9, 150);
        ticket(&bucket, 8, 100);
    }

    #[test]
    fn a_long_denial_is_asked_about_again_after_ten_seconds() {
        let bucket = bucket();
        bucket.remember(ticket(&bucket, 9, 0), &denied(60 * SECOND, 60 * SECOND, 60 * SECOND), 0);
        let last = 10 * SECOND - 1;
        let wait = 60 * SECOND - last;
        assert_eq!(bucket.find(0, 9, 5, last), Denial::Holds(denied(wait, wait, wait)));
        ticket(&bucket, 9, 10 * SECOND);
    }

    #[test]
    fn a_denial_that_was_asked_for_before_a_reset_is_not_remembered() {
        let bucket = bucket();
        let asked = ticket(&bucket, 9, 100);
        bucket.forget();
        bucket.remember(asked, &denied(50, 50, 50), 100);
        ticket(&bucket, 9, 101);
    }

    #[test]
    fn words_that_do_not_belong_together_are_nobodys() {
        let bucket = bucket();
        bucket.remember(ticket(&bucket, 9, 100), &denied(50, 50, 50), 100);
        let slot = bucket.denials.iter().find(|slot| slot.until.load(Relaxed) != 0).unwrap();
        for word in [&slot.check, &slot.until, &slot.retry, &slot.replenish, &slot.reset] {
            let before = word.load(Relaxed);
            word.store(before ^ 1, Relaxed);
            ticket(&bucket, 9, 101);
            word.store(before, Relaxed);
        }
        assert!(matches!(bucket.find(0, 9, 5, 101), Denial::Holds(_)));
    }

    #[test]
    fn six_identities_of_a_bucket_are_remembered_and_the_seventh_replaces_the_soonest_over() {
        let bucket = bucket();
        for tag in 1..=7 {
            let wait = 100 + tag;
            bucket.remember(ticket(&bucket, tag, 0), &denied(wait, wait, wait), 0);
        }
        let held = |tag| matches!(bucket.find(0, tag, 5, 1), Denial::Holds(_));
        assert_eq!(
            (1..=7).map(held).collect::<Vec<_>>(),
            [false, true, true, true, true, true, true]
        );
    }
}
