//! Puts requests in the order of their times. Servers write a line when a request ends, and may
//! stamp it with when it began, so a slow request stands behind younger ones.
//!
//! ```text
//! arrives:   10 11 13 12 99      window 60
//! held back: 10 11 13 and apart, since it is a straggler, 12
//! handed on: when 99 arrives, all that is at most 99 - 60
//! ```
//!
//! A line that is younger than `newest - window` always finds its place. One that is older does so
//! as long as nothing younger than it was handed on, and is too late otherwise.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rate_limit::core::time::Micros;

use crate::names::{ClientId, RouteId};

/// Requests held back at most, whatever the window: 8 MiB of them. More than that within one window
/// (8 700 a second for a minute) are sorted less far.
const CAPACITY: usize = 1 << 19;

/// A request: when, who, what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// When, by the log.
    pub time: Micros,
    /// Whose.
    pub client: ClientId,
    /// For what.
    pub route: RouteId,
}

/// The requests held back.
pub struct Order {
    window: Micros,
    newest: Micros,
    handed_on: Micros,
    in_order: VecDeque<Request>,
    stragglers: BinaryHeap<Reverse<Request>>,
    /// Requests that came too late and were left out.
    pub late: u64,
}

impl Order {
    /// Sorts over `window` microseconds.
    pub fn new(window: Micros) -> Self {
        let (in_order, stragglers) = (VecDeque::new(), BinaryHeap::new());
        Self { window, newest: 0, handed_on: 0, in_order, stragglers, late: 0 }
    }

    /// Takes the next line's request.
    pub fn push(&mut self, request: Request) {
        if request.time < self.handed_on {
            self.late += 1;
        } else if request.time < self.newest {
            self.stragglers.push(Reverse(request));
        } else {
            self.newest = request.time;
            self.in_order.push_back(request);
        }
    }

    /// The next request whose place is certain.
    pub fn pop(&mut self) -> Option<Request> {
        let oldest = self.oldest()?;
        let full = self.in_order.len() + self.stragglers.len() > CAPACITY;
        (full || oldest + self.window <= self.newest).then(|| self.take()).flatten()
    }

    /// The next request when no more are to come.
    pub fn take(&mut self) -> Option<Request> {
        self.handed_on = self.oldest()?;
        match self.stragglers.peek() {
            Some(Reverse(straggler)) if straggler.time == self.handed_on => {
                self.stragglers.pop().map(|Reverse(request)| request)
            }
            _ => self.in_order.pop_front(),
        }
    }

    fn oldest(&self) -> Option<Micros> {
        let straggler = self.stragglers.peek().map(|Reverse(request)| request.time);
        self.in_order.front().map(|request| request.time).into_iter().chain(straggler).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(times: &[Micros], window: Micros) -> (Vec<Micros>, u64) {
        let (mut order, mut out) = (Order::new(window), Vec::new());
        for &time in times {
            order.push(Request { time, client: 0, route: 0 });
            out.extend(std::iter::from_fn(|| order.pop()).map(|request| request.time));
        }
        out.extend(std::iter::from_fn(|| order.take()).map(|request| request.time));
        (out, order.late)
    }

    #[test]
    fn what_is_late_by_less_than_a_window_is_sorted() {
        assert_eq!(
            sorted(&[10, 11, 13, 12, 69, 10, 99], 60),
            (vec![10, 10, 11, 12, 13, 69, 99], 0)
        );
    }

    #[test]
    fn what_is_too_late_is_counted_and_left_out() {
        assert_eq!(sorted(&[10, 20, 80, 19, 20, 70], 60), (vec![10, 20, 20, 70, 80], 1));
    }

    #[test]
    fn no_more_than_the_capacity_is_held_back() {
        let mut order = Order::new(Micros::MAX / 2);
        for time in 0..CAPACITY as Micros + 10 {
            order.push(Request { time, client: 0, route: 0 });
            assert_eq!(order.pop().is_some(), time >= CAPACITY as Micros);
        }
    }
}
