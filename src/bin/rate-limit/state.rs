//! One identity under all three algorithms at once. The log and the counter are decided by the
//! functions that the extension decides by; the fixed window is there to compare with.
//!
//! Each algorithm goes its own way: what one denies it does not record, whatever the others do. All
//! times that any of them admitted stand in one queue, each with a bit for each algorithm, so that
//! it is known at each instant how many units each has let pass within the true trailing window.

use std::collections::VecDeque;

use rate_limit::core::counter::{self, Counts, Position};
use rate_limit::core::limit::{Cost, Limit};
use rate_limit::core::log;
use rate_limit::core::time::Micros;

/// What a request is decided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Algorithm {
    /// Exact: never more than the limit in any window.
    Log,
    /// Two numbers an identity, an estimate.
    Counter,
    /// A count that starts anew at each multiple of the window: for comparison, the extension has none.
    Fixed,
}

impl Algorithm {
    /// All of them, in the order in which every array here has them.
    pub const ALL: [Self; 3] = [Self::Log, Self::Counter, Self::Fixed];

    /// As on the command line and in JSON.
    pub fn name(self) -> &'static str {
        ["log", "counter", "fixed"][self as usize]
    }
}

/// One value for each of [`Algorithm::ALL`].
pub type Each<T> = [T; 3];

/// What was decided about one request.
pub struct Outcome {
    /// Whether it passes.
    pub admitted: Each<bool>,
    /// Units that this algorithm let pass within the trailing window before it.
    pub trailing: Each<u32>,
    /// Units that this algorithm sees, the request itself included if it passes.
    pub seen: Each<u64>,
}

/// What one identity has used.
#[derive(Default)]
pub struct State {
    /// Admitted times, oldest first: the time times 8, and which algorithms admitted it.
    passed: VecDeque<u64>,
    trailing: Each<u32>,
    /// `floor(time / window)` of the newest request.
    index: u64,
    counter: [u32; 2],
    fixed: u32,
}

impl State {
    /// Decides on a request at `now`, no earlier than the one before.
    pub fn attempt(&mut self, limit: Limit, now: Micros) -> Outcome {
        self.pass_time(limit, now);
        let Position { elapsed, .. } = Position::of(limit, now);
        let [curr, prev] = self.counter.map(u64::from);
        let counts = Counts { curr, prev };
        let trailing = self.trailing;
        let admitted = [
            log::admits(limit, trailing[0].into(), Cost::ONE),
            counter::admits(counts, limit, Cost::ONE, elapsed),
            log::admits(limit, self.fixed.into(), Cost::ONE),
        ];
        let before =
            [trailing[0].into(), counter::estimate(counts, limit, elapsed), self.fixed.into()];
        self.record(admitted, now);
        Outcome {
            admitted,
            trailing,
            seen: std::array::from_fn(|i| before[i] + u64::from(admitted[i])),
        }
    }

    /// Forgets what no longer counts at `now`.
    fn pass_time(&mut self, limit: Limit, now: Micros) {
        let horizon = log::horizon(limit, now);
        while let Some(&entry) = self.passed.front().filter(|&&entry| Some(entry >> 3) <= horizon) {
            self.passed.pop_front();
            for (i, count) in self.trailing.iter_mut().enumerate() {
                *count -= (entry >> i & 1) as u32;
            }
        }
        let index = Position::of(limit, now).index;
        if index > self.index {
            let curr = self.counter[0];
            self.counter = [0, if index == self.index + 1 { curr } else { 0 }];
            self.fixed = 0;
            self.index = index;
        }
    }

    fn record(&mut self, admitted: Each<bool>, now: Micros) {
        let bits = admitted.map(u32::from);
        for (count, bit) in self.trailing.iter_mut().zip(bits) {
            *count += bit;
        }
        self.counter[0] += bits[1];
        self.fixed += bits[2];
        if admitted.contains(&true) {
            let mask = (0..3).map(|i| u64::from(bits[i]) << i).sum::<u64>();
            self.passed.push_back(now << 3 | mask); // times end before 2^58: the year 9999
        }
    }
}
