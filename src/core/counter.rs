//! The sliding window counter: two numbers an identity, approximate.
//!
//! ```text
//! e       = now mod W
//! est     = curr + floor(prev * (W - e) / W)
//! allowed = est + c <= L; then curr += c, and otherwise nothing
//! ```
//!
//! `curr` and `prev` are the admitted units of the window `floor(now / W)` and of the one before.
//! Worked: L 60, W 60 s, prev 60, curr 12, e 12 s. est = 12 + floor(60 * 48 / 60) = 60, so one more
//! unit is denied; a microsecond later est is 12 + floor(47.99...) = 59 and it passes.
//!
//! The estimate takes the previous window's units as spread evenly over it. Where a client spent
//! them all at its end, up to 2 L units can pass within one true trailing window.
//!
//! With nobody else admitted, `est` only falls as time passes, also over the start of a window:
//! at its last instant the previous window weighs nothing, and at the first of the next `curr`
//! has become `prev` at full weight. So each "least d" has one answer, found by [`falls_to`].

use super::limit::{Cost, Limit};
use super::time::Micros;
use super::verdict::{Glance, Verdict, can_ever_pass, fits, left};

/// Admitted units of one identity, as a store holds them, before this call's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Units admitted in the window in which the call is decided.
    pub curr: u64,
    /// Units admitted in the window before it.
    pub prev: u64,
}

impl Counts {
    /// The same units as of `windows` windows later.
    #[must_use]
    #[inline]
    pub fn moved(self, windows: u64) -> Self {
        match windows {
            0 => self,
            1 => Self { prev: self.curr, curr: 0 },
            _ => Self::default(),
        }
    }
}

/// What two identities of one client have used together, as of one window.
impl std::ops::Add for Counts {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self { curr: self.curr + other.curr, prev: self.prev + other.prev }
    }
}

/// Where an instant lies among the windows that start at multiples of `W` since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// `floor(now / W)`.
    pub index: u64,
    /// `now mod W`, microseconds.
    pub elapsed: Micros,
}

impl Position {
    /// The position of `now`.
    #[must_use]
    #[inline]
    pub fn of(limit: Limit, now: Micros) -> Self {
        Self { index: now / limit.window(), elapsed: now % limit.window() }
    }

    /// The position in which a call stamped `self` is decided when window `newest` has already
    /// begun for this identity: a call that was overtaken counts at the start of that window.
    #[must_use]
    #[inline]
    pub fn no_earlier_than(self, newest: u64) -> Self {
        if newest > self.index { Self { index: newest, elapsed: 0 } } else { self }
    }
}

/// The estimated number of units in the window that ends at `elapsed` into the current one.
#[must_use]
#[inline]
pub fn estimate(counts: Counts, limit: Limit, elapsed: Micros) -> u64 {
    counts.curr + carried(counts.prev, limit.window(), elapsed)
}

/// Whether `cost` is admitted on top of `counts`.
#[must_use]
#[inline]
pub fn admits(counts: Counts, limit: Limit, cost: Cost, elapsed: Micros) -> bool {
    // Whatever is carried is at most `prev`: mostly there is no need to divide while others wait.
    fits(limit, counts.curr + counts.prev, cost)
        || fits(limit, estimate(counts, limit, elapsed), cost)
}

/// The verdict of an attempt that found `counts`. When it allows, the store must have added the
/// cost to `curr` in the same atomic step.
#[must_use]
#[inline(always)]
pub fn attempt(counts: Counts, limit: Limit, cost: Cost, elapsed: Micros) -> Verdict {
    let used = estimate(counts, limit, elapsed);
    if !fits(limit, used, cost) {
        return seen(counts, used, limit, cost, elapsed);
    }
    let after = Counts { curr: counts.curr + cost.units(), ..counts };
    let used = used + cost.units();
    Verdict { allowed: true, retry_after: Some(0), ..seen(after, used, limit, cost, elapsed) }
}

/// What [`attempt`] comes to for `check()`, without the waits: they take most of its time.
#[must_use]
#[inline]
pub fn glance(counts: Counts, limit: Limit, cost: Cost, elapsed: Micros) -> Glance {
    let used = estimate(counts, limit, elapsed);
    let allowed = fits(limit, used, cost);
    let taken = if allowed { cost.units() } else { 0 };
    Glance { allowed, remaining: left(limit, used + taken) }
}

/// The verdict of a peek that found `counts`: as [`attempt`] would decide, about the state as it is.
#[must_use]
#[inline]
pub fn peek(counts: Counts, limit: Limit, cost: Cost, elapsed: Micros) -> Verdict {
    seen(counts, estimate(counts, limit, elapsed), limit, cost, elapsed)
}

/// The verdict about a state of which `used`, its estimate, is known.
#[inline(always)]
fn seen(counts: Counts, used: u64, limit: Limit, cost: Cost, elapsed: Micros) -> Verdict {
    let until = |target| least_wait(counts, limit, elapsed, target);
    let allowed = fits(limit, used, cost);
    Verdict {
        allowed,
        limit: limit.max(),
        remaining: left(limit, used),
        retry_after: match (allowed, can_ever_pass(limit, cost)) {
            (true, _) => Some(0),
            (false, true) => Some(until(u64::from(limit.max()) - cost.units())),
            (false, false) => None,
        },
        replenish_after: used.checked_sub(1).map_or(0, until),
        reset_after: until(0),
    }
}

/// `floor(prev * (W - e) / W)`, in 64 bits where the product fits and in 128 where it does not.
#[inline]
fn carried(prev: u64, window: Micros, elapsed: Micros) -> u64 {
    let share = window - elapsed;
    match prev.checked_mul(share) {
        Some(product) => product / window,
        None => (u128::from(prev) * u128::from(share) / u128::from(window)) as u64, // at most prev
    }
}

/// The least d >= 0 for which the estimate is at most `target` at `elapsed + d`, nobody else admitted.
#[inline]
fn least_wait(counts: Counts, limit: Limit, elapsed: Micros, target: u64) -> Micros {
    let window = limit.window();
    match target.checked_sub(counts.curr) {
        Some(room) => falls_to(counts.prev, window, room).saturating_sub(elapsed),
        None => window - elapsed + falls_to(counts.curr, window, target),
    }
}

/// The least e in `0..=W` for which `floor(units * (W - e) / W) <= target`.
///
/// `floor(x) <= t` means `x < t + 1`, so `W - e < (t + 1) * W / units`, and the largest such whole
/// `W - e` is `ceil((t + 1) * W / units) - 1`.
#[inline]
fn falls_to(units: u64, window: Micros, target: u64) -> Micros {
    if units <= target {
        return 0;
    }
    let share = match (target + 1).checked_mul(window) {
        Some(product) => product.div_ceil(units),
        None => (u128::from(target + 1) * u128::from(window)).div_ceil(u128::from(units)) as u64, // at most W
    };
    window - (share - 1)
}
