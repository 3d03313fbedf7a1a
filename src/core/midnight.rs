//! Over midnight: a client's identity changes with the UTC day, what it has used does not.
//!
//! A call under today's identity counts what the identities of the days before still hold in the
//! window. They are only read, so a verdict is that of one unbroken identity, and no state says that
//! two identities are one client.
//!
//! Worked: a counter of 60 s looks back 120 s at the most, so at 00:01:59 yesterday's identity is
//! read and at 00:02:00 no longer. A counter of 48 h looks back 96 h: four days at any time of day.

use super::limit::{Algorithm, Limit};
use super::time::{DAY, Day, Micros};

/// Longest window that goes over midnight, in seconds: 48 hours. In a longer one a client starts
/// anew each day.
pub const LONGEST_WINDOW: u32 = 2 * 86_400;

/// Most days before an identity's own in which something may lie that counts.
pub const MOST_EARLIER: Day = 4;

/// How many days before `day`, whose identity is asked about at `now`, may hold something that
/// counts: 0 to [`MOST_EARLIER`].
///
/// The `k`-th day before ended `(k - 1)` days before `day` began. It may matter as long as that
/// is less than a window ago in a log, and two windows in a counter.
#[must_use]
pub fn earlier_days(algorithm: Algorithm, limit: Limit, day: Day, now: Micros) -> Day {
    if limit.window_seconds() > LONGEST_WINDOW {
        return 0;
    }
    let span = match algorithm {
        Algorithm::Log => limit.window(),
        Algorithm::Counter => 2 * limit.window(),
    };
    let since_midnight = now.saturating_sub(Micros::from(day) * DAY);
    let days = span.saturating_sub(since_midnight).div_ceil(DAY) as Day; // at most MOST_EARLIER
    days.min(day)
}

/// The instant from which a key made for `day` alone is of no more use.
#[must_use]
pub fn key_expires(day: Day) -> Micros {
    Micros::from(day + 1 + MOST_EARLIER) * DAY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::time::SECOND;

    /// By asking the formulas whether a unit of the last microsecond of each day before counts.
    fn counts(algorithm: Algorithm, limit: Limit, unit: Micros, now: Micros) -> bool {
        match algorithm {
            Algorithm::Log => unit + limit.window() > now,
            Algorithm::Counter => now / limit.window() - unit / limit.window() <= 1,
        }
    }

    #[test]
    fn no_day_is_left_out_that_counts_and_only_the_stretch_after_midnight_looks_back() {
        let day = 20_000;
        let midnight = Micros::from(day) * DAY;
        for seconds in [1, 7, 60, 3_600, 43_200, 86_400, 100_000, 172_800] {
            let limit = Limit::new(1, seconds).unwrap();
            for algorithm in [Algorithm::Log, Algorithm::Counter] {
                let windows = if algorithm == Algorithm::Log { 1 } else { 2 };
                let stretch = windows * limit.window();
                for since in (0..DAY).step_by((7_777 * SECOND + 1) as usize).chain([
                    stretch.saturating_sub(1) % DAY,
                    stretch % DAY,
                    DAY - 1,
                ]) {
                    let now = midnight + since;
                    let days = earlier_days(algorithm, limit, day, now);
                    assert!(days <= MOST_EARLIER);
                    assert_eq!(days > 0, since < stretch, "{algorithm:?} {seconds} {since}");
                    for k in days + 1..=MOST_EARLIER + 2 {
                        let unit = midnight - Micros::from(k - 1) * DAY - 1;
                        assert!(
                            !counts(algorithm, limit, unit, now),
                            "{algorithm:?} {seconds} {k}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_window_beyond_48_hours_starts_anew() {
        let limit = Limit::new(1, i64::from(LONGEST_WINDOW) + 1).unwrap();
        assert_eq!(earlier_days(Algorithm::Counter, limit, 20_000, 20_000 * DAY), 0);
    }

    #[test]
    fn a_key_lives_as_long_as_its_day_may_be_asked_about() {
        let limit = Limit::new(1, i64::from(LONGEST_WINDOW)).unwrap();
        for hour in 0..24 {
            let now = 20_000 * DAY + hour * 3_600 * SECOND;
            let days = earlier_days(Algorithm::Counter, limit, 20_000, now);
            assert!(key_expires(20_000 - days) > now);
        }
    }
}
