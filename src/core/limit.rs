//! What is asked for: how many units, in which window, at which cost. A value of these types is
//! always valid, so nothing after them checks again.

use super::time::{Micros, SECOND};

/// Largest limit, 2^31 - 1 units.
pub const MAX_LIMIT: u32 = i32::MAX as u32;
/// Longest window, one year of 365 days, in seconds.
pub const MAX_WINDOW_SECONDS: u32 = 31_536_000;
/// Largest cost of one call on the log, in units: each unit is an entry of its own.
pub const MAX_LOG_COST: u64 = 1_000;

/// Which of the two algorithms decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Exact: remembers the time of each admitted unit. See [`super::log`].
    Log,
    /// Two numbers an identity, approximate. See [`super::counter`].
    Counter,
}

/// At most `max` units in any `window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    max: u32,
    window_seconds: u32,
}

/// Why a limit, a window or a cost is refused. The text says the rule; the value stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// The limit is outside `0..=MAX_LIMIT`.
    #[error("must be between 0 and {MAX_LIMIT}, {value} given")]
    Max {
        /// What was asked for.
        value: i64,
    },
    /// The window is outside `1..=MAX_WINDOW_SECONDS`.
    #[error("must be between 1 and {MAX_WINDOW_SECONDS} seconds, {value} given")]
    Window {
        /// What was asked for, in seconds.
        value: i64,
    },
    /// The cost is below 1.
    #[error("must be greater than or equal to 1, {value} given")]
    Cost {
        /// What was asked for, in units.
        value: i64,
    },
    /// The cost is above [`MAX_LOG_COST`] on the log.
    #[error("must be between 1 and {MAX_LOG_COST} on a log, {value} given")]
    LogCost {
        /// What was asked for, in units.
        value: i64,
    },
}

impl Limit {
    /// `max` units (0 to [`MAX_LIMIT`]; 0 denies everything) in any `window_seconds` (1 to
    /// [`MAX_WINDOW_SECONDS`]).
    ///
    /// # Errors
    /// [`LimitError::Max`] or [`LimitError::Window`] where a value is out of its range.
    pub fn new(max: i64, window_seconds: i64) -> Result<Self, LimitError> {
        let in_range = |value: i64, least: u32, most: u32| {
            u32::try_from(value).ok().filter(|n| (least..=most).contains(n))
        };
        Ok(Self {
            max: in_range(max, 0, MAX_LIMIT).ok_or(LimitError::Max { value: max })?,
            window_seconds: in_range(window_seconds, 1, MAX_WINDOW_SECONDS)
                .ok_or(LimitError::Window { value: window_seconds })?,
        })
    }

    /// The same window with another number of units, at most [`MAX_LIMIT`].
    #[must_use]
    pub(super) fn with_max(self, max: u32) -> Self {
        Self { max: max.min(MAX_LIMIT), ..self }
    }

    /// Units that any one window may hold.
    #[must_use]
    pub fn max(self) -> u32 {
        self.max
    }

    /// The window's length in microseconds, at most 2^45.
    #[must_use]
    pub fn window(self) -> Micros {
        Micros::from(self.window_seconds) * SECOND
    }

    /// The window's length in seconds.
    #[must_use]
    pub fn window_seconds(self) -> u32 {
        self.window_seconds
    }
}

/// How many units one call takes: at least 1. May be more than a limit, and is then never admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost(u64);

impl Cost {
    /// One unit, what `check()` takes.
    pub const ONE: Self = Self(1);

    /// `value` units: at least 1, and at most [`MAX_LOG_COST`] on a log.
    ///
    /// # Errors
    /// [`LimitError::Cost`] or [`LimitError::LogCost`] outside that range.
    pub fn new(value: i64, algorithm: Algorithm) -> Result<Self, LimitError> {
        match u64::try_from(value) {
            Err(_) | Ok(0) => Err(LimitError::Cost { value }),
            Ok(n) if algorithm == Algorithm::Log && n > MAX_LOG_COST => {
                Err(LimitError::LogCost { value })
            }
            Ok(n) => Ok(Self(n)),
        }
    }

    /// The number of units.
    #[must_use]
    pub fn units(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_outside_their_range_cannot_be_built() {
        assert!(Limit::new(0, 1).is_ok());
        assert!(Limit::new(i64::from(MAX_LIMIT), i64::from(MAX_WINDOW_SECONDS)).is_ok());
        for bad in [-1, i64::from(MAX_LIMIT) + 1, i64::MIN, i64::MAX] {
            assert_eq!(Limit::new(bad, 60), Err(LimitError::Max { value: bad }));
        }
        for bad in [0, -1, i64::from(MAX_WINDOW_SECONDS) + 1, i64::MAX] {
            assert_eq!(Limit::new(1, bad), Err(LimitError::Window { value: bad }));
        }
    }

    #[test]
    fn costs_outside_their_range_cannot_be_built() {
        for algorithm in [Algorithm::Log, Algorithm::Counter] {
            for bad in [0, -1, i64::MIN] {
                assert_eq!(Cost::new(bad, algorithm), Err(LimitError::Cost { value: bad }));
            }
            assert_eq!(Cost::new(1000, algorithm).unwrap().units(), 1000);
        }
        assert_eq!(Cost::new(1001, Algorithm::Log), Err(LimitError::LogCost { value: 1001 }));
        assert!(Cost::new(i64::MAX, Algorithm::Counter).is_ok());
    }
}
