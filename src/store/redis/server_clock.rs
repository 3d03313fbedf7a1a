//! The time that calls are stamped with: the host's clock, corrected by its measured distance from
//! the server's, so that hosts with skewed clocks agree.
//!
//! A sample is a `TIME` between two readings of the steady clock, and takes the server's answer as
//! that of the middle: it is off by at most half of what passed between the readings.
//!
//! 1. A distance from the host's wall clock that is below this error counts as zero.
//! 2. The stamp never steps back while the connection's process lives: where the corrected clock
//!    falls behind, the stamp goes on at half speed until it has been caught up with.
//! 3. Between samples the steady clock counts, so that setting the host's clock moves nothing.
//! 4. Where the server refuses `TIME`, the host's wall clock alone.

use std::cell::Cell;

use crate::clock;
use crate::core::time::{Micros, SECOND};

/// How long a sample holds, microseconds.
const SAMPLE_HOLDS: Micros = 10 * SECOND;

/// Whether stamps are corrected (`rate_limit.clock`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ClockMode {
    /// By the distance from the server's clock.
    #[default]
    Server,
    /// Not at all.
    Host,
}

/// What is known about a server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was not asked yet.
    Nothing,
    /// The server's clock minus the host's wall clock when it was last asked, microseconds; 0 where
    /// the distance is below its own measurement error.
    Distance(i64),
    /// The server does not tell.
    Refused,
}

/// The corrected clock of one server, as one thread sees it.
#[derive(Debug)]
pub struct ServerClock {
    known: Cell<Known>,
    /// Stamp minus steady clock, while a distance is known.
    offset: Cell<i64>,
    sampled: Cell<Option<Micros>>,
    /// The last stamp, and the steady clock then.
    last: Cell<(Micros, Micros)>,
}

impl Default for ServerClock {
    fn default() -> Self {
        Self {
            known: Cell::new(Known::Nothing),
            offset: Cell::new(0),
            sampled: Cell::new(None),
            last: Cell::new((0, 0)),
        }
    }
}

impl ServerClock {
    /// What is known about the server's clock.
    #[must_use]
    pub fn known(&self) -> Known {
        self.known.get()
    }

    /// Whether the server must be asked before the next stamp. A refusal holds until [`Self::renew`].
    #[must_use]
    pub(super) fn due(&self, steady: Micros) -> bool {
        self.sampled.get().is_none_or(|at| {
            self.known.get() != Known::Refused && steady.saturating_sub(at) >= SAMPLE_HOLDS
        })
    }

    /// Says that the server may be another one, after a new connection.
    pub fn renew(&self) {
        self.sampled.set(None);
    }

    /// Takes the server's answer to a `TIME` that was sent when the steady clock showed `sent` and
    /// answered when it showed `received`.
    pub(super) fn sample(&self, server: Option<Micros>, sent: Micros, received: Micros) {
        self.sampled.set(Some(received));
        let Some(server) = server else { return self.known.set(Known::Refused) };
        let error = (received - sent) / 2 + 1;
        let by_server = server as i64 - (sent + (received - sent) / 2) as i64;
        let by_host = clock::wall() as i64 - clock::steady() as i64;
        let before = self.offset.get();
        let offset = if by_server.abs_diff(by_host) <= error {
            by_host
        } else if matches!(self.known.get(), Known::Distance(_))
            && by_server.abs_diff(before) <= error
        {
            before
        } else {
            by_server
        };
        self.offset.set(offset);
        self.known.set(Known::Distance(offset - by_host));
    }

    /// The stamp of a call made when the steady clock shows `steady`.
    #[must_use]
    pub fn stamp(&self, mode: ClockMode, steady: Micros) -> Micros {
        let target = match (mode, self.known.get()) {
            (ClockMode::Server, Known::Distance(_)) => {
                steady.wrapping_add_signed(self.offset.get())
            }
            _ => clock::wall(),
        };
        let (stamp, then) = self.last.get();
        // The steady clock goes back only where a test has set it.
        let floor = steady.checked_sub(then).map_or(0, |passed| stamp + passed / 2);
        let stamp = target.max(floor);
        self.last.set((stamp, steady));
        stamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample of a server whose clock is `ahead` of the host's, over a round trip of `took`.
    fn sampled(clock: &ServerClock, ahead: i64, took: Micros) {
        let steady = clock::steady();
        let server = clock::wall().wrapping_add_signed(ahead) - took / 2;
        clock.sample(Some(server), steady - took, steady);
    }

    #[test]
    fn a_host_is_corrected_by_its_distance() {
        let clock = ServerClock::default();
        sampled(&clock, -61 * SECOND as i64, 200);
        let Known::Distance(distance) = clock.known() else { panic!() };
        assert!(distance.abs_diff(-61 * SECOND as i64) < 1_000_000);
        let wall = clock::wall();
        let stamp = clock.stamp(ClockMode::Server, clock::steady());
        assert!(stamp.abs_diff(wall - 61 * SECOND) < 1_000_000);
        assert!(ServerClock::default().stamp(ClockMode::Host, clock::steady()) >= wall);
    }

    #[test]
    fn a_distance_below_its_error_is_none() {
        let clock = ServerClock::default();
        sampled(&clock, 40_000, 100_000);
        assert_eq!(clock.known(), Known::Distance(0));
        sampled(&clock, 60_000, 100_000);
        assert_ne!(clock.known(), Known::Distance(0));
    }

    #[test]
    fn a_stamp_rises_at_once_and_falls_behind_at_half_speed() {
        let clock = ServerClock::default();
        let at = clock::steady();
        sampled(&clock, 0, 0);
        let first = clock.stamp(ClockMode::Server, at);
        sampled(&clock, 100 * SECOND as i64, 0);
        let risen = clock.stamp(ClockMode::Server, at);
        assert!(risen - first > 99 * SECOND);
        sampled(&clock, 0, 0);
        assert_eq!(clock.stamp(ClockMode::Server, at), risen);
        assert_eq!(clock.stamp(ClockMode::Server, at + 10 * SECOND), risen + 5 * SECOND);
        let caught_up = clock.stamp(ClockMode::Server, at + 300 * SECOND);
        assert!(caught_up.abs_diff(first + 300 * SECOND) < SECOND);
    }

    #[test]
    fn a_sample_holds_ten_seconds_and_a_refusal_until_the_next_connection() {
        let clock = ServerClock::default();
        assert!(clock.due(0));
        clock.sample(Some(clock::wall()), 5, 7);
        assert!(!clock.due(7 + SAMPLE_HOLDS - 1));
        assert!(clock.due(7 + SAMPLE_HOLDS));
        clock.sample(None, 8, 9);
        assert_eq!(clock.known(), Known::Refused);
        assert!(!clock.due(Micros::MAX));
        clock.renew();
        assert!(clock.due(10));
    }
}
