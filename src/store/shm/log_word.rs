//! The 16 bytes that say what a log holds, and the 6 bytes that say when an entry was.
//!
//! ```text
//! 127  100 99  96 95      64 63        32 31         0
//! |  era  | head |  length  | last line | first line |
//! ```
//!
//! An entry keeps the low 48 bits of its time; the era is the newest entry's time without its low
//! 40. So the newest entry's time is whole, and any other's is the nearest before it that has its
//! low bits, which is right because entries are within a window, at most 2^45, of the newest when
//! that is written. No time is ever taken for another that lies 2^48 microseconds (9 years) off.

use super::layout::{ENTRIES, Line};
use crate::core::time::Micros;
use std::sync::atomic::Ordering::{Relaxed, Release};

const ERA: u32 = 40;
const LOW: Micros = (1 << 48) - 1;

/// What a log's word says. A length of 0 makes the rest meaningless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogWord {
    /// The line of the oldest entry.
    pub first: u32,
    /// The line of the newest entry.
    pub last: u32,
    /// Entries.
    pub length: u32,
    /// Where the oldest entry stands in its line, below [`ENTRIES`].
    pub head: u32,
    /// Time of the newest entry >> 40, 24 bits.
    pub era: u32,
}

impl LogWord {
    pub fn read(word: u128) -> Self {
        Self {
            first: word as u32,
            last: (word >> 32) as u32,
            length: (word >> 64) as u32,
            head: ((word >> 96) as u32 & 15).min(ENTRIES - 1),
            era: (word >> 100) as u32,
        }
    }

    pub fn word(self) -> u128 {
        u128::from(self.first)
            | (u128::from(self.last) << 32)
            | (u128::from(self.length) << 64)
            | (u128::from(self.head) << 96)
            | (u128::from(self.era) << 100)
    }

    /// Lines that the entries lie in.
    pub fn lines(self) -> u32 {
        if self.length == 0 { 0 } else { self.end().div_ceil(ENTRIES) }
    }

    /// Where the entry after the newest stands in the last line; 0 where that is full.
    pub fn tail(self) -> u32 {
        if self.length == 0 { 0 } else { self.end() % ENTRIES }
    }

    /// Entries' places from the first line's start to after the newest. A garbled length cannot
    /// make it overflow.
    fn end(self) -> u32 {
        self.length.saturating_add(self.head)
    }

    /// The time of the newest entry, which stands in line `last`.
    pub fn newest(self, last: &Line) -> Micros {
        let place = (self.tail() + ENTRIES - 1) % ENTRIES;
        (Micros::from(self.era) << ERA) | (last.low_bits(place) & ((1 << ERA) - 1))
    }

    /// The era of a newest entry at `time`.
    pub fn era(time: Micros) -> u32 {
        (time >> ERA) as u32
    }
}

impl Line {
    /// The time of the entry at `place`, which is at most 2^48 before `newest`.
    pub fn entry(&self, place: u32, newest: Micros) -> Micros {
        newest.wrapping_sub(newest.wrapping_sub(self.low_bits(place)) & LOW)
    }

    /// Makes the entry at `place` one of `time`.
    pub fn write(&self, place: u32, time: Micros) {
        // Release: pairs with the fence in `Logs::denied`; so that whoever reads an entry of a log
        // that this line was of before knows that it was.
        self.low[place as usize].store(time as u32, Release);
        self.high[place as usize].store((time >> 32) as u16, Release);
    }

    fn low_bits(&self, place: u32) -> Micros {
        let (low, high) = (&self.low[place as usize], &self.high[place as usize]);
        (Micros::from(high.load(Relaxed)) << 32) | Micros::from(low.load(Relaxed)) // see `Logs::denied`
    }
}
