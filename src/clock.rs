//! The only place that reads a clock.

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::core::time::{Micros, SECOND};

/// The host's wall clock: microseconds since the Unix epoch. Steps when it is set.
#[must_use]
pub fn wall() -> Micros {
    frozen().unwrap_or_else(|| micros(clock_gettime(ClockId::Realtime)))
}

/// A clock that never steps: microseconds since boot, time in suspend included, the same for all
/// processes of the host.
#[must_use]
pub fn steady() -> Micros {
    frozen().unwrap_or_else(|| micros(clock_gettime(ClockId::Boottime)))
}

/// The steady clock, set once to the wall clock: `offset` is what `wall() - steady()` was then.
/// Never steps, and counts from the Unix epoch.
#[must_use]
pub fn anchored(offset: Micros) -> Micros {
    frozen().unwrap_or_else(|| steady().wrapping_add(offset))
}

/// The clock by which the system waits, microseconds. Good for deadlines only, and never frozen.
#[must_use]
pub fn monotonic() -> Micros {
    micros(clock_gettime(ClockId::Monotonic))
}

fn micros(time: Timespec) -> Micros {
    // Neither clock is before its epoch, and tv_nsec is below a second.
    time.tv_sec as Micros * SECOND + time.tv_nsec as Micros / 1_000
}

#[cfg(not(feature = "frozen-clock"))]
#[inline(always)]
fn frozen() -> Option<Micros> {
    None
}

#[cfg(feature = "frozen-clock")]
pub use freezing::freeze;
#[cfg(feature = "frozen-clock")]
use freezing::frozen;

#[cfg(feature = "frozen-clock")]
mod freezing {
    use crate::core::time::Micros;
    use std::cell::Cell;

    thread_local!(static FROZEN: Cell<Option<Micros>> = const { Cell::new(None) });

    /// Stands every clock of this thread still at `at`, or lets them run again.
    pub fn freeze(at: Option<Micros>) {
        FROZEN.set(at);
    }

    pub(super) fn frozen() -> Option<Micros> {
        FROZEN.get()
    }
}
