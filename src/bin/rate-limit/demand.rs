//! The smallest limit that touches at most a given share of clients, in one pass.
//!
//! Until a client is denied for the first time, every algorithm has recorded all its requests. So a
//! limit touches a client if and only if it is smaller than what the algorithm would have seen at
//! some instant under no limit: the most requests in a trailing window for the log, the largest
//! estimate for the counter, the most requests in a window for fixed. That number is the client's
//! need. Each limit then touches the clients whose need is above it, and no sweep has to read the
//! log again.

use std::str::FromStr;

use rate_limit::core::limit::Limit;
use rate_limit::core::time::Micros;

use crate::state::{Each, State};

/// The largest limit that is tried: it bounds what is remembered of one client.
pub const MAX_LIMIT: u32 = 100_000;

/// A share of the clients, in billionths, below 1: 0.29 * 100 is 28.999999999999996.
#[derive(Clone, Copy, Debug)]
pub struct Share(u64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, billionths) = match text.strip_suffix('%') {
            Some(percent) => (percent.trim_end(), 1e7),
            None => (text, 1e9),
        };
        match number.parse::<f64>().map(|share| (share * billionths).round()) {
            Ok(share) if (0.0..1e9).contains(&share) => Ok(Self(share as u64)),
            _ => Err(format!("must be a share below 1, such as 0.01 or 1%, {text:?} given")),
        }
    }
}

impl Share {
    /// The most out of `all` that are no more than this share.
    fn of(self, all: usize) -> usize {
        (all as u128 * u128::from(self.0) / 1_000_000_000) as usize // below `all`
    }

    /// In per cent.
    pub fn percent(self) -> f64 {
        self.0 as f64 / 1e7
    }
}

/// What one identity needs.
#[derive(Default)]
pub struct Demand {
    unlimited: State,
    /// The smallest limits that would never have denied it, at most [`MAX_LIMIT`] + 1.
    pub need: Each<u32>,
}

impl Demand {
    /// Takes note of a request at `now`.
    pub fn count(&mut self, limit: Limit, now: Micros) {
        let widest = Limit::new(MAX_LIMIT.into(), limit.window_seconds().into());
        let outcome = self.unlimited.attempt(widest.expect("both are in range"), now);
        for (i, need) in self.need.iter_mut().enumerate() {
            let seen = if outcome.admitted[i] { outcome.seen[i] } else { u64::from(MAX_LIMIT) + 1 };
            *need = (*need).max(seen as u32); // at most MAX_LIMIT + 1
        }
    }
}

/// The needs of a policy's clients, sorted.
pub struct Needs(Each<Vec<u32>>);

impl Needs {
    /// The needs of some clients.
    pub fn new(clients: impl Iterator<Item = Each<u32>> + Clone) -> Self {
        Self(std::array::from_fn(|i| {
            let mut needs: Vec<u32> = clients.clone().map(|need| need[i]).collect();
            needs.sort_unstable();
            needs
        }))
    }

    /// How many clients there are.
    pub fn clients(&self) -> usize {
        self.0[0].len()
    }

    /// How many clients a limit touches.
    pub fn touched(&self, limit: u32) -> Each<usize> {
        self.0.each_ref().map(|needs| needs.len() - needs.partition_point(|&need| need <= limit))
    }

    /// The smallest limits that touch at most `share` of the clients; `None` above [`MAX_LIMIT`].
    pub fn smallest(&self, share: Share) -> Each<Option<u32>> {
        self.0.each_ref().map(|needs| {
            let untouched = needs.len() - share.of(needs.len());
            let limit = untouched.checked_sub(1).map_or(0, |last| needs[last]);
            Some(limit).filter(|&limit| limit <= MAX_LIMIT)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_and_below_one() {
        for (text, of_100) in [("0", 0), ("0.29", 29), ("29%", 29), ("0.289", 28), ("99.9 %", 99)] {
            assert_eq!(text.parse::<Share>().unwrap().of(100), of_100, "{text}");
        }
        for bad in ["", "1", "100%", "-0.1", "NaN", "x"] {
            assert!(bad.parse::<Share>().unwrap_err().contains(&format!("{bad:?} given")));
        }
    }

    #[test]
    fn the_smallest_limit_touches_no_more_than_the_share_and_one_less_does() {
        let needs = Needs::new([3, 9, 1, 3, 7].map(|need| [need; 3]).into_iter());
        for (share, limit) in
            [("0", 9), ("0.19", 9), ("0.2", 7), ("0.4", 3), ("0.6", 3), ("0.8", 1)]
        {
            let share: Share = share.parse().unwrap();
            assert_eq!(needs.smallest(share)[0], Some(limit));
            assert!(needs.touched(limit)[0] <= share.of(5));
            assert!(needs.touched(limit - 1)[0] > share.of(5));
        }
    }

    #[test]
    fn a_need_above_what_is_tried_is_no_number() {
        let mut demand = Demand::default();
        let limit = Limit::new(1, 60).unwrap();
        (0..u64::from(MAX_LIMIT)).for_each(|now| demand.count(limit, now));
        assert_eq!(demand.need, [MAX_LIMIT; 3]);
        (0..2).for_each(|_| demand.count(limit, 59_000_000));
        assert_eq!(demand.need, [MAX_LIMIT + 1; 3]);
        let needs = Needs::new([demand.need].into_iter());
        assert_eq!(needs.smallest("0".parse().unwrap()), [None; 3]);
    }
}
