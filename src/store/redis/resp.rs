//! The part of the Redis protocol (RESP2) that a limiter speaks: commands of plain strings, and
//! replies of at most one flat array. Anything longer or deeper is no reply to what was sent.

use super::decimal::{Decimal, PAIRS};

/// Most elements of an array.
pub(super) const MOST_ELEMENTS: usize = 8;
/// Longest reply, in bytes: a Cluster describes its nodes in one string.
pub(super) const LONGEST_REPLY: usize = 64 * 1024;

/// Appends a whole command.
pub(super) fn encode(out: &mut Vec<u8>, parts: &[&[u8]]) {
    command(out, parts.len());
    parts.iter().for_each(|part| bulk(out, part));
}

/// Appends the head of a command of `parts` strings.
pub(super) fn command(out: &mut Vec<u8>, parts: usize) {
    head(out, b'*', parts);
}

/// Appends one string of a command.
pub(super) fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    head(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Appends a line that tells a kind and a length.
pub(super) fn head(out: &mut Vec<u8>, kind: u8, length: usize) {
    match length {
        0..=9 => out.extend_from_slice(&[kind, b'0' + length as u8, b'\r', b'\n']),
        10..=99 => {
            let [tens, ones] = PAIRS[length];
            out.extend_from_slice(&[kind, tens, ones, b'\r', b'\n']);
        }
        _ => {
            out.push(kind);
            out.extend_from_slice(Decimal::unsigned(length as u64).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// One value of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// `:`
    Integer(i64),
    /// `+` or `$`
    Text(&'a [u8]),
    /// `-`
    Error(&'a [u8]),
    /// A null string or array.
    Nil,
}

/// A whole reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply<'a> {
    /// A single value.
    One(Value<'a>),
    /// An array: its length, and that many values.
    Array(usize, [Value<'a>; MOST_ELEMENTS]),
}

/// Reads the reply that `input` begins with, and how many bytes it takes. `None`: more must come.
///
/// # Errors
/// What is wrong with it, where no more input could make it a reply.
pub(super) fn parse(input: &[u8]) -> Result<Option<(Reply<'_>, usize)>, &'static str> {
    if let Some(text) = short(input) {
        return Ok(Some((Reply::One(Value::Text(text)), input.len())));
    }
    let mut rest = input;
    let reply = match read(&mut rest)? {
        Some(reply) => reply,
        None if input.len() >= LONGEST_REPLY => return Err("too long"),
        None => return Ok(None),
    };
    Ok(Some((reply, input.len() - rest.len())))
}

/// The string of up to 99 bytes that `input` is the whole of: what scripts answer.
#[inline]
fn short(input: &[u8]) -> Option<&[u8]> {
    let digit = |byte: &u8| usize::from(byte - b'0');
    let (length, rest) = match input {
        [b'$', n @ b'0'..=b'9', b'\r', rest @ ..] => (digit(n), rest),
        [b'$', m @ b'1'..=b'9', n @ b'0'..=b'9', b'\r', rest @ ..] => {
            (10 * digit(m) + digit(n), rest)
        }
        _ => return None,
    };
    let [b'\n', text @ .., b'\r', b'\n'] = rest else { return None };
    (text.len() == length).then_some(text)
}

fn read<'a>(rest: &mut &'a [u8]) -> Result<Option<Reply<'a>>, &'static str> {
    if rest.first() != Some(&b'*') {
        return Ok(value(rest)?.map(Reply::One));
    }
    let Some(line) = line(rest)? else { return Ok(None) };
    let length = match number(&line[1..])? {
        -1 => return Ok(Some(Reply::One(Value::Nil))),
        length => usize::try_from(length).ok().filter(|&n| n <= MOST_ELEMENTS),
    };
    let length = length.ok_or("an array of a length that was not asked for")?;
    let mut values = [Value::Nil; MOST_ELEMENTS];
    for slot in &mut values[..length] {
        match value(rest)? {
            Some(value) => *slot = value,
            None => return Ok(None),
        }
    }
    Ok(Some(Reply::Array(length, values)))
}

fn value<'a>(rest: &mut &'a [u8]) -> Result<Option<Value<'a>>, &'static str> {
    let Some(line) = line(rest)? else { return Ok(None) };
    let text = &line[1..];
    match line[0] {
        b':' => Ok(Some(Value::Integer(number(text)?))),
        b'+' => Ok(Some(Value::Text(text))),
        b'-' => Ok(Some(Value::Error(text))),
        b'$' => match number(text)? {
            -1 => Ok(Some(Value::Nil)),
            length => string(rest, length),
        },
        _ => Err("not a reply"),
    }
}

/// The bytes of a string whose length was announced, and the line end after them.
fn string<'a>(rest: &mut &'a [u8], length: i64) -> Result<Option<Value<'a>>, &'static str> {
    let length = usize::try_from(length).ok().filter(|&n| n < LONGEST_REPLY);
    let length = length.ok_or("a string of a length that was not asked for")?;
    let Some(after) = rest.get(length..length + 2) else { return Ok(None) };
    if after != b"\r\n" {
        return Err("a string without an end");
    }
    let (text, after) = rest.split_at(length);
    *rest = &after[2..];
    Ok(Some(Value::Text(text)))
}

/// The next line, without its end: the type and what follows it, so never empty.
fn line<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, &'static str> {
    let Some(&kind) = rest.first() else { return Ok(None) };
    if !b":+-$*".contains(&kind) {
        return Err("not a reply");
    }
    let Some(end) = rest.iter().position(|&b| b == b'\r') else { return Ok(None) };
    match rest.get(end + 1) {
        None => Ok(None),
        Some(b'\n') => {
            let (line, after) = rest.split_at(end);
            *rest = &after[2..];
            Ok(Some(line))
        }
        Some(_) => Err("a line without an end"),
    }
}

fn number(text: &[u8]) -> Result<i64, &'static str> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let add = |number: i64, &byte: &u8| match byte {
        // Downwards, since the least number has no positive counterpart.
        b'0'..=b'9' => number.checked_mul(10)?.checked_sub(i64::from(byte - b'0')),
        _ => None,
    };
    let number = if digits.is_empty() { None } else { digits.iter().try_fold(0, add) };
    number
        .and_then(|number| if negative { Some(number) } else { number.checked_neg() })
        .ok_or("a number that is none")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(input: &[u8]) -> Reply<'_> {
        let (reply, used) = parse(input).unwrap().unwrap();
        assert_eq!(used, input.len());
        reply
    }

    #[test]
    fn commands_are_arrays_of_strings() {
        let mut out = Vec::new();
        encode(&mut out, &[b"GET", b"a\r\n\0b"]);
        assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$5\r\na\r\n\0b\r\n");
    }

    #[test]
    fn replies_are_read_as_what_they_are() {
        assert_eq!(whole(b":-7\r\n"), Reply::One(Value::Integer(-7)));
        assert_eq!(whole(b"+PONG\r\n"), Reply::One(Value::Text(b"PONG")));
        assert_eq!(whole(b"-ERR no\r\n"), Reply::One(Value::Error(b"ERR no")));
        assert_eq!(whole(b"$2\r\n\r\n\r\n"), Reply::One(Value::Text(b"\r\n")));
        assert_eq!(whole(b"$-1\r\n"), Reply::One(Value::Nil));
        assert_eq!(whole(b"*-1\r\n"), Reply::One(Value::Nil));
        let Reply::Array(2, values) = whole(b"*2\r\n:1\r\n$1\r\n2\r\n") else { panic!() };
        assert_eq!(values[..2], [Value::Integer(1), Value::Text(b"2")]);
    }

    #[test]
    fn what_no_limiter_asked_for_is_refused_at_once() {
        for bad in [
            "*9\r\n",
            "*-2\r\n",
            "$65536\r\n",
            "$99999999999999999999\r\n",
            "$-2\r\n",
            "*1\r\n*1\r\n",
            "HTTP/1.1 400",
            "%1\r\n",
            ":1x\r\n",
            ":\r\n",
            "$1\r\nabc",
            "+a\rb",
            "",
        ] {
            let result = parse(bad.as_bytes());
            assert_eq!(result.is_err(), !bad.is_empty(), "{bad:?} gave {result:?}");
        }
        assert!(parse(&vec![b'+'; LONGEST_REPLY]).is_err());
    }

    proptest! {
        #[test]
        fn no_input_panics(input in prop::collection::vec(
            prop_oneof![prop::sample::select(b"*$:+-\r\n0123456789".to_vec()), any::<u8>()], 0..64,
        )) {
            if let Ok(Some((_, used))) = parse(&input) {
                prop_assert!(used <= input.len());
            }
        }

        #[test]
        fn a_string_is_the_same_however_long(text in prop::collection::vec(any::<u8>(), 0..130)) {
            let mut input = Vec::new();
            bulk(&mut input, &text);
            prop_assert_eq!(parse(&input), Ok(Some((Reply::One(Value::Text(&text)), input.len()))));
            for cut in 0..input.len() {
                prop_assert_eq!(parse(&input[..cut]), Ok(None));
            }
        }

        #[test]
        fn a_reply_is_the_same_however_it_is_cut(
            numbers in prop::collection::vec(any::<i64>(), 0..=MOST_ELEMENTS),
            text in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut input = format!("*{}\r\n", numbers.len()).into_bytes();
            for (i, number) in numbers.iter().enumerate() {
                if i % 2 == 0 {
                    input.extend_from_slice(format!(":{number}\r\n").as_bytes());
                } else {
                    bulk(&mut input, &text);
                }
            }
            for cut in 0..input.len() {
                prop_assert_eq!(parse(&input[..cut]), Ok(None));
            }
            let (reply, used) = parse(&input).unwrap().unwrap();
            prop_assert_eq!(used, input.len());
            let Reply::Array(length, values) = reply else { panic!() };
            prop_assert_eq!(length, numbers.len());
            for (i, number) in numbers.iter().enumerate() {
                let expected = if i % 2 == 0 { Value::Integer(*number) } else { Value::Text(&text) };
                prop_assert_eq!(values[i], expected);
            }
        }
    }
}
