//! `rate_limit_identity()`, and what a request remembers of the identities that it was given: enough
//! to find what the same client was called the days before, while the request runs and nowhere else.

use std::cell::RefCell;
use std::collections::VecDeque;

use ext_php_rs::ffi::{zend_function_entry, zend_internal_arg_info};
use zeroize::Zeroizing;

use super::call::{Args, Return, native};
use super::salt::Salts;
use super::zend::{self, MAY_BE_STRING, Thrown, plain};
use super::{day_keys, settings, value};
use crate::clock;
use crate::core::identity::{DIGITS, hashed_as};
use crate::core::limit::{Algorithm, Limit};
use crate::core::midnight::earlier_days;
use crate::core::time::{DAY, Day, Micros, day};

/// Identities that are remembered at a time: far more than a request asks for, few enough for a
/// script that never ends.
const MOST_GIVEN: usize = 1024;

const ARGUMENTS: &[zend_internal_arg_info] = &[
    zend::returns(2, plain(MAY_BE_STRING)),
    zend::arg(c"ip", plain(MAY_BE_STRING)),
    zend::arg(c"endpoint", plain(MAY_BE_STRING)),
];
/// The function under its name.
pub const FUNCTION: zend_function_entry =
    zend::function(c"rate_limit_identity", native!(rate_limit_identity), ARGUMENTS, 0);
/// The function under the name that the userland function had.
pub const ALIAS: zend_function_entry =
    zend::function(c"rateLimitIdentity", native!(rate_limit_identity), ARGUMENTS, 0);

thread_local!(static GIVEN: RefCell<VecDeque<Given>> = const { RefCell::new(VecDeque::new()) });

/// An identity that was given out.
struct Given {
    /// The identity, and after it the client as it was hashed. Wiped when dropped.
    bytes: Zeroizing<Vec<u8>>,
    length: usize,
    at: Micros,
    salts: Salts,
}

fn rate_limit_identity(args: &mut Args<'_>, out: &mut Return) -> Result<(), Thrown> {
    args.expect(2, 2)?;
    let (ip, endpoint) = (args.string(1)?, args.string(2)?);
    let (at, salts) = (clock::wall(), Salts::in_force()?);
    let client = hashed_as(ip, settings::ipv6_prefix());
    let hash = salts.of(day(at))?.hash(client.as_bytes(), at);

    let bytes = Zeroizing::new([&hash, &b":"[..], endpoint, client.as_bytes()].concat());
    let given = Given { bytes, length: hash.len() + 1 + endpoint.len(), at, salts };
    out.set(value::new_string(given.identity()));
    given.remember();
    Ok(())
}

/// What the client of an identity was called on the days before, as far as that may still count in
/// this limit's window, the oldest day first. Nothing for a string that [`rate_limit_identity`] did
/// not return in this request.
#[inline(always)]
pub fn earlier(
    identity: &[u8],
    algorithm: Algorithm,
    limit: Limit,
) -> Result<Vec<Vec<u8>>, Thrown> {
    if has_earlier(identity, algorithm, limit) {
        find_earlier(identity, algorithm, limit)
    } else {
        Ok(Vec::new())
    }
}

/// Whether [`earlier`] may find anything. Cheap: the clock is not asked.
pub fn has_earlier(identity: &[u8], algorithm: Algorithm, limit: Limit) -> bool {
    GIVEN.with(|given| {
        // In use: entered from a signal handler.
        let Ok(given) = given.try_borrow() else { return false };
        // It was not earlier then than it is now.
        given
            .iter()
            .rev()
            .find(|given| given.identity() == identity)
            .is_some_and(|given| earlier_days(algorithm, limit, day(given.at), given.at) > 0)
    })
}

#[cold]
fn find_earlier(
    identity: &[u8],
    algorithm: Algorithm,
    limit: Limit,
) -> Result<Vec<Vec<u8>>, Thrown> {
    GIVEN.with(|given| {
        let Ok(given) = given.try_borrow() else { return Ok(Vec::new()) }; // as above
        match given.iter().rev().find(|given| given.identity() == identity) {
            Some(given) => given.earlier(algorithm, limit),
            None => Ok(Vec::new()),
        }
    })
}

/// Forgets whom this request was about, and the days' keys. At its end.
pub fn end_request() {
    GIVEN.with(|given| given.try_borrow_mut().map(|mut given| given.clear()).ok());
    day_keys::end_request();
}

impl Given {
    fn identity(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn remember(self) {
        GIVEN.with(|given| {
            let Ok(mut given) = given.try_borrow_mut() else { return }; // as above
            if given.len() == MOST_GIVEN {
                given.pop_front();
            }
            given.push_back(self);
        });
    }

    fn earlier(&self, algorithm: Algorithm, limit: Limit) -> Result<Vec<Vec<u8>>, Thrown> {
        let day = day(self.at);
        let days = earlier_days(algorithm, limit, day, clock::wall());
        (1..=days).rev().map(|back| self.on(day - back)).collect()
    }

    /// What this client was called for the same endpoint on another day.
    fn on(&self, day: Day) -> Result<Vec<u8>, Thrown> {
        let client = &self.bytes[self.length..];
        let hash = self.salts.of(day)?.hash(client, Micros::from(day) * DAY);
        Ok([&hash, &self.bytes[DIGITS..self.length]].concat())
    }
}
