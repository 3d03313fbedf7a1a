//! Replies as what was asked for.

use super::resp::{Reply, Value};
use super::socket::Failure;
use crate::core::time::{Micros, SECOND};

/// What a script returned: exactly as many integers as `into` takes.
pub(super) fn integers(answer: &Reply<'_>, into: &mut [i64]) -> Result<(), Failure> {
    let wrong = || unexpected("the integers of a script", answer);
    let Reply::Array(length, values) = answer else { return Err(wrong()) };
    if *length != into.len() {
        return Err(wrong());
    }
    for (slot, value) in into.iter_mut().zip(values) {
        let Value::Integer(number) = value else { return Err(wrong()) };
        *slot = *number;
    }
    Ok(())
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
