//! What is counted while requests go by. Nothing here grows with their number.

use rate_limit::core::limit::Limit;
use rate_limit::core::time::{Micros, SECOND};

use crate::state::{Algorithm, Each, Outcome};

/// Microseconds in a minute.
pub const MINUTE: Micros = 60 * SECOND;

/// Slots of a timeline at most: past that they are made twice as wide.
const MAX_SLOTS: usize = 480;

/// Requests, and how many of them each algorithm denied.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// All requests.
    pub requests: u64,
    /// Those denied.
    pub denied: Each<u64>,
}

impl Tally {
    /// Counts one request.
    pub fn count(&mut self, admitted: Each<bool>) {
        self.requests += 1;
        for (denied, admitted) in self.denied.iter_mut().zip(admitted) {
            *denied += u64::from(!admitted);
        }
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        for (denied, more) in self.denied.iter_mut().zip(other.denied) {
            *denied += more;
        }
    }
}

/// The worst few of what is offered: those most denied, then those with the most requests.
pub struct Worst<K> {
    by: Algorithm,
    most: usize,
    /// The worst first.
    pub rows: Vec<(K, Tally)>,
}

impl<K> Worst<K> {
    /// Keeps `most` rows.
    pub fn new(by: Algorithm, most: usize) -> Self {
        Self { by, most, rows: Vec::new() }
    }

    /// Keeps a row if anything was denied and it is bad enough; among equals the earlier one stays.
    pub fn offer(&mut self, key: K, tally: Tally) {
        let badness = |tally: &Tally| (tally.denied[self.by as usize], tally.requests);
        let place = self.rows.partition_point(|(_, kept)| badness(kept) >= badness(&tally));
        if place < self.most && tally.denied != [0; 3] {
            self.rows.insert(place, (key, tally));
            self.rows.truncate(self.most);
        }
    }
}

/// The course of time, in at most [`MAX_SLOTS`] slots of a minute or, where that is not enough,
/// of two, four, eight and so on; and the worst minutes.
pub struct Timeline {
    /// When the first slot begins.
    pub start: Micros,
    /// How long each is.
    pub width: Micros,
    /// From the first request's to the last's.
    pub slots: Vec<Tally>,
    /// The worst minutes that are over.
    pub worst: Worst<Micros>,
    minute: (Micros, Tally),
}

impl Timeline {
    /// Nothing yet; `worst` is empty.
    pub fn new(worst: Worst<Micros>) -> Self {
        Self { start: 0, width: MINUTE, slots: Vec::new(), worst, minute: (0, Tally::default()) }
    }

    /// Counts a request at `now`, no earlier than the one before.
    pub fn count(&mut self, now: Micros, admitted: Each<bool>) {
        let minute = now - now % MINUTE;
        if minute != self.minute.0 {
            self.end_minute();
            self.minute.0 = minute;
        }
        self.minute.1.count(admitted);
        self.slot(minute).count(admitted);
    }

    /// Takes the minute that runs among the worst, if it is one of them.
    pub fn end_minute(&mut self) {
        let (minute, tally) = std::mem::take(&mut self.minute);
        self.worst.offer(minute, tally);
    }

    fn slot(&mut self, minute: Micros) -> &mut Tally {
        if self.slots.is_empty() {
            self.start = minute;
        }
        while (minute - self.start) / self.width >= MAX_SLOTS as Micros {
            self.width *= 2;
            self.slots = self
                .slots
                .chunks(2)
                .map(|pair| {
                    let mut sum = Tally::default();
                    pair.iter().for_each(|slot| sum.add(slot));
                    sum
                })
                .collect();
        }
        let at = ((minute - self.start) / self.width) as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, Tally::default());
        }
        &mut self.slots[at]
    }
}

/// How the algorithms differ, from each other and from what they are meant to hold.
#[derive(Default)]
pub struct Difference {
    /// Requests by who denied them: bit 0 of the index the log, bit 1 the counter, bit 2 fixed.
    pub denied_by: [u64; 8],
    /// Requests admitted although the limit was used up within the trailing window: a boundary burst.
    pub over: Each<u64>,
    /// Requests denied although it was not.
    pub early: Each<u64>,
    /// The most that one identity was admitted within a trailing window, as a share of the limit.
    pub peak: Each<Peak>,
}

/// Units admitted within one trailing window, and the limit.
#[derive(Clone, Copy, Default)]
pub struct Peak {
    /// Admitted.
    pub admitted: u32,
    /// Allowed.
    pub limit: u32,
}

impl Difference {
    /// Counts one request.
    pub fn count(&mut self, limit: Limit, outcome: &Outcome) {
        let mut denied_by = 0;
        for i in 0..3 {
            let (admitted, trailing) = (outcome.admitted[i], outcome.trailing[i]);
            let full = trailing >= limit.max();
            denied_by |= usize::from(!admitted) << i;
            self.over[i] += u64::from(admitted && full);
            self.early[i] += u64::from(!admitted && !full);
            if admitted {
                self.peak[i].raise(trailing + 1, limit.max());
            }
        }
        self.denied_by[denied_by] += 1;
    }

    /// Requests that `who` denied and `other` did not.
    pub fn only(&self, who: Algorithm, other: Algorithm) -> u64 {
        let has = |set: usize, algorithm: Algorithm| set >> algorithm as usize & 1 == 1;
        (0..8).filter(|&set| has(set, who) && !has(set, other)).map(|set| self.denied_by[set]).sum()
    }
}

impl Peak {
    fn raise(&mut self, admitted: u32, limit: u32) {
        // admitted / limit > self.admitted / self.limit, without dividing
        let higher = u64::from(admitted) * u64::from(self.limit)
            > u64::from(self.admitted) * u64::from(limit);
        if higher || self.limit == 0 {
            *self = Self { admitted, limit };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_of_any_length_keeps_its_slots_few_and_its_sums() {
        let mut timeline = Timeline::new(Worst::new(Algorithm::Log, 3));
        for day in 0..400 {
            timeline.count(day * 1440 * MINUTE + 59, [day % 2 == 0, true, false]);
        }
        timeline.end_minute();
        assert!(timeline.slots.len() <= MAX_SLOTS && timeline.slots.len() > MAX_SLOTS / 2);
        let sums = timeline.slots.iter().fold(Tally::default(), |mut sum, slot| {
            sum.add(slot);
            sum
        });
        assert_eq!((sums.requests, sums.denied), (400, [200, 0, 400]));
        let worst: Vec<_> =
            timeline.worst.rows.iter().map(|(minute, _)| minute / MINUTE / 1440).collect();
        assert_eq!(worst, [1, 3, 5], "among equals the earlier");
    }

    #[test]
    fn the_highest_peak_is_the_largest_share_of_its_limit() {
        let mut peak = Peak::default();
        for (admitted, limit) in [(1, 100), (3, 2), (4, 3), (20, 100)] {
            peak.raise(admitted, limit);
        }
        assert_eq!((peak.admitted, peak.limit), (3, 2));
    }
}
