//! The sliding window log: exact, one remembered time a unit.
//!
//! ```text
//! used           = entries with t > now - W
//! allowed        = used + c <= L; then c entries are recorded at now, and otherwise none
//! remaining      = L - used - c if allowed, else max(0, L - used)
//! retryAfter     = (the (used + c - L)-th oldest counting entry) + W - now, when denied
//! replenishAfter = oldest counting entry (this call's included) + W - now
//! resetAfter     = newest counting entry (this call's included) + W - now
//! ```
//!
//! Worked: L 2, W 60 s, entries at 0 s and 10 s, asked at 20 s with c 1. Both count, 2 + 1 > 2:
//! denied. The (2 + 1 - 2) = 1st oldest is at 0 s, so `retryAfter` is 0 + 60 - 20 = 40 s.
//!
//! A store answers with [`Facts`]; it decides admission by [`admits`] (or, in Lua, by the same
//! comparison) in the same atomic step in which it counts and records.

use super::limit::{Cost, Limit};
use super::time::Micros;
use super::verdict::{Verdict, can_ever_pass, fits, left};

/// What a store saw of one identity's log in the atomic step, before this call's own entries.
///
/// The three times are meaningless, and may be anything, when `used` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Entries that count.
    pub used: u64,
    /// Time of the oldest entry that counts.
    pub oldest: Micros,
    /// Time of the newest entry that counts.
    pub newest: Micros,
    /// Time of the [`blocking`]-th oldest entry that counts; read only when this call is denied.
    pub blocking: Micros,
}

/// Whether `cost` is admitted where `used` entries count.
#[must_use]
pub fn admits(limit: Limit, used: u64, cost: Cost) -> bool {
    fits(limit, used, cost)
}

/// Which entry that counts, from the oldest (1), must leave before a denied `cost` passes.
/// `None` where it is not denied, or can never pass.
#[must_use]
pub fn blocking(limit: Limit, used: u64, cost: Cost) -> Option<u64> {
    (can_ever_pass(limit, cost) && !admits(limit, used, cost))
        .then(|| used + cost.units() - u64::from(limit.max()))
}

/// The oldest time that no longer counts at `now`: an entry counts if and only if it is later.
/// `None` where the window reaches before the epoch, so that everything counts.
#[must_use]
pub fn horizon(limit: Limit, now: Micros) -> Option<Micros> {
    now.checked_sub(limit.window())
}

/// The verdict of an attempt that saw `facts` at `now`.
#[must_use]
pub fn attempt(facts: Facts, limit: Limit, cost: Cost, now: Micros) -> Verdict {
    if !admits(limit, facts.used, cost) {
        return peek(facts, limit, cost, now);
    }
    let (oldest, newest) =
        if facts.used == 0 { (now, now) } else { (facts.oldest, facts.newest.max(now)) };
    Verdict {
        allowed: true,
        limit: limit.max(),
        remaining: left(limit, facts.used + cost.units()),
        retry_after: Some(0),
        replenish_after: until_leaves(oldest, limit, now),
        reset_after: until_leaves(newest, limit, now),
    }
}

/// The verdict of a peek that saw `facts` at `now`: as [`attempt`] would decide, about the state
/// as it is.
#[must_use]
pub fn peek(facts: Facts, limit: Limit, cost: Cost, now: Micros) -> Verdict {
    let allowed = admits(limit, facts.used, cost);
    let until = |entry| if facts.used == 0 { 0 } else { until_leaves(entry, limit, now) };
    Verdict {
        allowed,
        limit: limit.max(),
        remaining: left(limit, facts.used),
        retry_after: match (allowed, can_ever_pass(limit, cost)) {
            (true, _) => Some(0),
            (false, true) => Some(until(facts.blocking)),
            (false, false) => None,
        },
        replenish_after: until(facts.oldest),
        reset_after: until(facts.newest),
    }
}

/// The facts about a client whose entries lie in several logs, each older than the next: those of
/// its earlier identities, and its `own`. See [`super::midnight`].
///
/// An entry of `own` that blocks is the same with and without older entries before it. For an older
/// one, `nth` reads the time of the `n`-th oldest entry that counts of `earlier[log]`; it is called only
/// for a denied call that costs more than one unit, or whose limit was lowered.
///
/// # Errors
/// Those of `nth`.
pub fn join<E>(
    earlier: &[Facts],
    own: Facts,
    limit: Limit,
    cost: Cost,
    nth: impl FnOnce(usize, u64) -> Result<Micros, E>,
) -> Result<Facts, E> {
    let before = used(earlier);
    if before == 0 {
        return Ok(own);
    }
    let logs = || earlier.iter().chain([&own]).filter(|facts| facts.used > 0);
    let oldest = logs().map(|facts| facts.oldest).min().unwrap_or(own.oldest);
    let newest = logs().map(|facts| facts.newest).max().unwrap_or(own.newest);
    let used = before + own.used;
    let blocking = match blocking(limit, used, cost) {
        None => 0,
        Some(1) => oldest,
        Some(n) if n > before => own.blocking,
        Some(n) => {
            let (log, n) = place(earlier, n);
            nth(log, n)?
        }
    };
    Ok(Facts { used, oldest, newest, blocking })
}

/// Entries that count in all of `logs`.
#[must_use]
pub fn used(logs: &[Facts]) -> u64 {
    logs.iter().map(|facts| facts.used).sum()
}

/// In which of `logs` the `n`-th oldest entry of all lies, and which it is there, from 1.
fn place(logs: &[Facts], mut n: u64) -> (usize, u64) {
    let mut log = 0;
    while n > logs[log].used {
        n -= logs[log].used;
        log += 1;
    }
    (log, n)
}

/// A limit at which the `n`-th oldest of `used` entries is what blocks a call of cost 1.
#[must_use]
pub fn blocked_by(limit: Limit, used: u64, n: u64) -> Limit {
    limit.with_max((used + 1).saturating_sub(n) as u32) // a log has fewer than 2^32 entries
}

/// How long after `now` an entry recorded at `entry` stops counting.
fn until_leaves(entry: Micros, limit: Limit, now: Micros) -> Micros {
    (entry + limit.window()).saturating_sub(now)
}
