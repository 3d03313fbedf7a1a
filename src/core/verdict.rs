//! The answer to one call.

use super::limit::{Cost, Limit};
use super::time::Micros;

/// What was decided and when that changes. All spans are microseconds from the time of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the call may pass.
    pub allowed: bool,
    /// The limit that was applied, in units.
    pub limit: u32,
    /// Units left after this call; 0 to `limit`.
    pub remaining: u32,
    /// Until this cost could be admitted if nobody else is; 0 when allowed; `None`: never.
    pub retry_after: Option<Micros>,
    /// Until `remaining` would grow if nobody else is admitted; 0 when nothing is used.
    pub replenish_after: Micros,
    /// Until nothing would be used any more; 0 when nothing is.
    pub reset_after: Micros,
}

/// What `check()` shows of a [`Verdict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Whether the call may pass.
    pub allowed: bool,
    /// Units left after this call; 0 to the limit.
    pub remaining: u32,
}

impl From<Verdict> for Glance {
    fn from(Verdict { allowed, remaining, .. }: Verdict) -> Self {
        Self { allowed, remaining }
    }
}

/// Units left of `limit` when `used` are taken, never below 0.
pub(super) fn left(limit: Limit, used: u64) -> u32 {
    u64::from(limit.max()).saturating_sub(used) as u32 // at most `limit.max()`, which is a u32
}

/// Whether `cost` more units fit where `used` are taken.
pub(super) fn fits(limit: Limit, used: u64, cost: Cost) -> bool {
    used.checked_add(cost.units()).is_some_and(|total| total <= u64::from(limit.max()))
}

/// Whether this cost can pass at all, at any time.
#[must_use]
pub fn can_ever_pass(limit: Limit, cost: Cost) -> bool {
    fits(limit, 0, cost)
}
