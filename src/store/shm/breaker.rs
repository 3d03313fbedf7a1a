//! Which endpoints are left alone: one word an endpoint, changed by compare-and-swap.
//!
//! ```text
//! 63                52 51                                0
//! | failures in a row | instant of the next try, steady µs |
//! ```
//!
//! Below the number of failures that opens the breaker the instant means nothing. From it on nobody
//! asks before the instant; whoever comes first after it moves it on by an interval and asks. So one
//! worker asks in each interval, and the death of one that was asking changes nothing.
//!
//! Beside it stands what the copy of the endpoint's state needs: see [`crate::store::Host`].

use std::sync::atomic::Ordering::Relaxed;

use super::layout::{BREAKERS, Breaker};
use crate::core::time::Micros;
use crate::store::Gate;

const INSTANT: u32 = 52;
const MOST: u64 = (1 << (64 - INSTANT)) - 1;
/// By how much a clock must be off before it is written down again, microseconds: so that workers
/// do not write the same line on each call.
const NOTEWORTHY: u64 = 1_000;

/// Relaxed throughout: all that matters is in the one word, and nothing is published by it.
impl Breaker {
    /// The record of the endpoint with these hash bits: its own, a new one, or, where there are
    /// more endpoints than records, one that it shares.
    pub fn of(records: &[Self; BREAKERS], tag: u64) -> &Self {
        let tag = tag.max(1);
        let first = tag as usize % BREAKERS;
        (0..BREAKERS)
            .map(|i| &records[(first + i) % BREAKERS])
            .find(|record| {
                let owner = record.tag.load(Relaxed);
                owner == tag
                    || owner == 0
                        && match record.tag.compare_exchange(0, tag, Relaxed, Relaxed) {
                            Ok(_) => true,
                            Err(owner) => owner == tag,
                        }
            })
            .unwrap_or(&records[first])
    }

    /// See [`crate::store::Host::gate`].
    pub fn gate(&self, now: Micros, interval: Micros) -> Gate {
        let seen = self.word.load(Relaxed);
        let next = instant(seen);
        let open = Gate::Open { debts: self.debts_until.load(Relaxed) > now };
        if next == 0 {
            return open;
        }
        if next > now {
            return Gate::Shut(next - now);
        }
        match self.word.compare_exchange(
            seen,
            word(failures(seen), now + interval),
            Relaxed,
            Relaxed,
        ) {
            Ok(_) => open,
            Err(_) => Gate::Shut(interval), // another worker asks
        }
    }

    /// See [`crate::store::Host::answered`].
    pub fn answered(&self) {
        if self.word.load(Relaxed) != 0 {
            self.word.store(0, Relaxed);
        }
    }

    /// See [`crate::store::Host::failed`]. Says whether this is the first failure in a row.
    pub fn failed(&self, now: Micros, most: u32, interval: Micros) -> bool {
        self.failures.fetch_add(1, Relaxed); // a statistic
        let failed = |seen: u64| {
            let count = failures(seen) + 1;
            let opens = count >= u64::from(most) && instant(seen) <= now;
            Some(word(count, if opens { now + interval } else { instant(seen) }))
        };
        let before = self.word.fetch_update(Relaxed, Relaxed, failed);
        before.is_ok_and(|seen| failures(seen) == 0)
    }

    /// Where it is left alone: in how many microseconds after `now` it is asked again.
    pub fn next_try(&self, now: Micros) -> Option<Micros> {
        let next = instant(self.word.load(Relaxed));
        (next > 0).then(|| next.saturating_sub(now))
    }

    /// Until `until` an identity may have a debt.
    pub fn debts(&self, until: Micros) {
        self.debts_until.fetch_max(until, Relaxed);
    }

    /// When the steady clock showed `now`, the endpoint's showed `at`.
    pub fn clock_shows(&self, now: Micros, at: Micros) {
        let ahead = at.wrapping_sub(now);
        if (ahead.wrapping_sub(self.ahead.load(Relaxed)) as i64).unsigned_abs() > NOTEWORTHY {
            self.ahead.store(ahead, Relaxed);
        }
    }

    /// See [`crate::store::Host::time`].
    pub fn time(&self, now: Micros) -> Option<Micros> {
        let ahead = self.ahead.load(Relaxed);
        (ahead != 0).then(|| now.wrapping_add(ahead))
    }
}

fn word(failures: u64, next: Micros) -> u64 {
    (failures.min(MOST) << INSTANT) | (next & ((1 << INSTANT) - 1))
}

fn failures(word: u64) -> u64 {
    word >> INSTANT
}

/// When the endpoint may be asked again; 0: at any time.
fn instant(word: u64) -> Micros {
    word & ((1 << INSTANT) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Gate = Gate::Open { debts: false };

    fn record() -> Breaker {
        // SAFETY: every field is an atomic, for which zero is a value (layout, invariants 1 and 2).
        unsafe { std::mem::zeroed() }
    }

    #[test]
    fn it_opens_after_so_many_failures_in_a_row_and_an_answer_closes_it() {
        let breaker = record();
        assert!(breaker.failed(100, 3, 50));
        breaker.answered();
        assert!(breaker.failed(101, 3, 50), "an answer in between begins a new row");
        assert!(!breaker.failed(102, 3, 50));
        assert_eq!(breaker.gate(103, 50), OPEN);
        assert!(!breaker.failed(104, 3, 50));
        assert_eq!(breaker.gate(104, 50), Gate::Shut(50));
        breaker.answered();
        assert_eq!(breaker.gate(105, 50), OPEN);
    }

    #[test]
    fn one_caller_an_interval_may_ask_and_its_death_changes_nothing() {
        let breaker = record();
        breaker.failed(100, 1, 50);
        assert_eq!(breaker.gate(149, 50), Gate::Shut(1));
        assert_eq!(breaker.gate(150, 50), OPEN);
        assert_eq!(breaker.gate(151, 50), Gate::Shut(49));
        assert_eq!(breaker.gate(200, 50), OPEN, "the one that asked never came back");
    }

    #[test]
    fn calls_in_flight_when_it_opened_do_not_prolong_it() {
        let breaker = record();
        breaker.failed(100, 1, 50);
        breaker.failed(120, 1, 50);
        assert_eq!(breaker.gate(149, 50), Gate::Shut(1));
    }

    #[test]
    fn debts_are_spoken_of_until_they_count_no_more() {
        let breaker = record();
        breaker.debts(150);
        breaker.debts(120);
        assert_eq!(breaker.gate(149, 50), Gate::Open { debts: true });
        assert_eq!(breaker.gate(150, 50), OPEN);
    }

    #[test]
    fn the_endpoints_clock_is_known_to_all_workers_to_a_millisecond() {
        let breaker = record();
        assert_eq!(breaker.time(100), None);
        breaker.clock_shows(10_000, 4_000);
        assert_eq!(breaker.time(20_000), Some(14_000));
        breaker.clock_shows(30_000, 24_900);
        assert_eq!(breaker.time(30_000), Some(24_000), "not worth a write");
        breaker.clock_shows(30_000, 26_000);
        assert_eq!(breaker.time(40_000), Some(36_000));
    }

    #[test]
    fn endpoints_are_told_apart_until_there_are_more_than_records() {
        let records: [Breaker; BREAKERS] = std::array::from_fn(|_| record());
        for tag in 1..=BREAKERS as u64 {
            Breaker::of(&records, tag * 64).failed(100, 1, tag);
        }
        for tag in 1..=BREAKERS as u64 {
            assert_eq!(Breaker::of(&records, tag * 64).gate(100, 1), Gate::Shut(tag));
        }
        Breaker::of(&records, 7).answered();
    }
}
