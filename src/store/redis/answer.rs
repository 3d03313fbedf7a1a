//! Replies as what was asked for.

use super::resp::{Reply, Value};
use super::socket::Failure;
use crate::core::time::{Micros, SECOND};

/// What a script returned: exactly as many integers as `into` takes, in an array or in one string.
pub(super) fn integers(answer: &Reply<'_>, into: &mut [i64]) -> Result<(), Failure> {
    let wrong = || unexpected("the integers of a script", answer);
    match answer {
        Reply::One(Value::Text(text)) => {
            numbers(text, into).map_err(|unreadable| match unreadable {
                Unreadable::State => Failure::Server(NO_NUMBERS.to_owned()),
                Unreadable::Reply => wrong(),
            })
        }
        Reply::Array(length, values) if *length == into.len() => {
            for (slot, value) in into.iter_mut().zip(values) {
                let Value::Integer(number) = value else { return Err(wrong()) };
                *slot = *number;
            }
            Ok(())
        }
        _ => Err(wrong()),
    }
}

/// What is said of [`Unreadable::State`], in the words of a server's error about one key.
pub const NO_NUMBERS: &str = "WRONGTYPE a key holds something else than whole numbers";

/// Why a string does not hold the numbers of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It comes from a script, which found no numbers where there should be some.
    State,
    /// It comes from no script.
    Reply,
}

/// Fills `into` from a string of exactly so many numbers with a space between two, in decimal or, after
/// `0x`, in hex. Fractions are left out. The first is 0 or 1.
///
/// # Errors
/// [`Unreadable`] where it is something else.
pub fn numbers(text: &[u8], into: &mut [i64]) -> Result<(), Unreadable> {
    let [b'0' | b'1', b' ', ..] = text else { return Err(Unreadable::Reply) };
    let (mut slots, mut rest) = (into.iter_mut(), text);
    loop {
        let (mut number, mut digits) = (0_i64, 0);
        while let Some(digit @ b'0'..=b'9') = rest.get(digits) {
            number = number.wrapping_mul(10).wrapping_add((digit - b'0').into());
            digits += 1;
        }
        let after = rest.get(digits);
        if !(1..=MOST_DIGITS).contains(&digits) || after.is_some_and(|&byte| byte != b' ') {
            digits = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
            number = unusual(&rest[..digits]).ok_or(Unreadable::State)?;
        }
        *slots.next().ok_or(Unreadable::State)? = number;
        match rest.get(digits + 1..) {
            Some(next) => rest = next,
            None if slots.next().is_none() => return Ok(()),
            None => return Err(Unreadable::State),
        }
    }
}

/// Digits that surely fit.
const MOST_DIGITS: usize = 18;

/// A number that is not just digits.
#[inline(never)]
fn unusual(word: &[u8]) -> Option<i64> {
    if let [b'0', b'x', digits @ ..] = word {
        let digit =
            |sum: i64, &byte: &u8| Some(sum << 4 | i64::from(char::from(byte).to_digit(16)?));
        return if digits.len() == 8 { digits.iter().try_fold(0, digit) } else { None };
    }
    // A score that a userland limiter wrote as a float, and whatever else Lua has read as a number.
    let number: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (number.abs() < 2_f64.powi(53)).then_some(number as i64)
}

/// The answer to `TIME`.
pub(super) fn seconds_and_micros(answer: &Reply<'_>) -> Result<Micros, Failure> {
    let number = |value: &Value<'_>| match value {
        Value::Text(text) => std::str::from_utf8(text).ok()?.parse::<Micros>().ok(),
        _ => None,
    };
    let time = match answer {
        Reply::Array(2, [seconds, micros, ..]) => number(seconds).zip(number(micros)),
        _ => None,
    };
    // Until the year 9999, so that nothing overflows.
    time.filter(|&(seconds, micros)| seconds < 253_402_300_800 && micros < SECOND)
        .map(|(seconds, micros)| seconds * SECOND + micros)
        .ok_or_else(|| unexpected("a time", answer))
}

/// What a server answered to a command that is no limiter's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A null.
    Nil,
    /// A number.
    Integer(i64),
    /// A string.
    Text(Vec<u8>),
    /// An array; errors in it are null.
    Array(Vec<Self>),
}

impl Answer {
    pub(super) fn of(reply: &Reply<'_>) -> Self {
        let one = |value: &Value<'_>| match value {
            Value::Integer(number) => Self::Integer(*number),
            Value::Text(text) => Self::Text(text.to_vec()),
            Value::Nil | Value::Error(_) => Self::Nil,
        };
        match reply {
            Reply::One(value) => one(value),
            Reply::Array(length, values) => {
                Self::Array(values.iter().take(*length).map(one).collect())
            }
        }
    }
}

/// `+OK`.
pub(super) fn okay(answer: &Reply<'_>) -> Result<(), Failure> {
    match answer {
        Reply::One(Value::Text(b"OK")) => Ok(()),
        other => Err(unexpected("OK", other)),
    }
}

/// A string.
pub(super) fn text(answer: &Reply<'_>) -> Result<String, Failure> {
    match answer {
        Reply::One(Value::Text(text)) => Ok(String::from_utf8_lossy(text).into_owned()),
        other => Err(unexpected("a string", other)),
    }
}

/// A reply of another shape.
pub(super) fn unexpected(expected: &str, answer: &Reply<'_>) -> Failure {
    let came = match answer {
        Reply::One(Value::Integer(_)) => "a number".to_owned(),
        Reply::One(Value::Text(_)) => "a string".to_owned(),
        Reply::One(Value::Error(_)) => "an error".to_owned(),
        Reply::One(Value::Nil) => "nothing".to_owned(),
        Reply::Array(length, _) => format!("an array of {length}"),
    };
    Failure::Protocol(format!("expected {expected}, got {came}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_string_holds_the_numbers_of_a_script() {
        let read = |text: &str| {
            let mut into = [0; 3];
            numbers(text.as_bytes(), &mut into).map(|()| into)
        };
        assert_eq!(read("1 0x0000002a 1796083200000000"), Ok([1, 42, 1_796_083_200_000_000]));
        assert_eq!(read("0 -7 12.9"), Ok([0, -7, 12]));
        assert_eq!(
            read("0 4.192e+6 1796127233379461.2"),
            Ok([0, 4_192_000, 1_796_127_233_379_461])
        );
        for state in [
            "1 2",
            "1 2 3 4",
            "1 2 ",
            "1 2 x",
            "1 nan 2",
            "1 inf 2",
            "1 1e300 2",
            "0 0x 0",
            "0 0x0000002g 0",
            "0 . 0",
            "0 99999999999999999999 0",
            "0  1",
        ] {
            assert_eq!(read(state), Err(Unreadable::State), "{state}");
        }
        for reply in ["", "1", "OK", "QUEUED", "2 0 0", "11 0 0"] {
            assert_eq!(read(reply), Err(Unreadable::Reply), "{reply}");
        }
    }
}
