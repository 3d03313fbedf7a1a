//! One call of a script, written as it goes over the wire, so that nothing is copied on the way there.

use std::ops::Range;

use zeroize::Zeroize;

use super::decimal::Decimal;
use super::resp;
use super::script::{SALT, Script};

/// Room for three keys with most prefixes and identities, so that it is asked for once, in bytes.
const ROOM: usize = 512;

/// `EVALSHA digest keys key ... argument ...`. Kept between calls, so that only the first allocates.
#[derive(Debug)]
pub struct Request {
    script: &'static Script,
    wire: Vec<u8>,
    keys: usize,
    /// Where keys and arguments lie in `wire`.
    parts: Vec<Range<usize>>,
    /// Where the last of those that [`Request::part`] added begins, its length included.
    frame: usize,
    kept: Kept,
}

/// Two numbers that most calls have as well.
#[derive(Debug, Default)]
struct Kept {
    numbers: [u64; 2],
    wire: Vec<u8>,
    /// Where their digits lie in `wire`.
    parts: [Range<usize>; 2],
}

impl Default for Request {
    fn default() -> Self {
        // `begin` says which script.
        Self {
            script: &SALT,
            wire: Vec::new(),
            keys: 0,
            parts: Vec::new(),
            frame: 0,
            kept: Kept::default(),
        }
    }
}

impl Request {
    /// Begins a call with so many keys, 1 to 9, and then so many arguments.
    pub(super) fn begin(&mut self, script: &'static Script, keys: usize, arguments: usize) {
        self.script = script;
        self.keys = keys;
        self.parts.clear();
        self.wire.clear();
        self.wire.reserve(ROOM);
        resp::command(&mut self.wire, 3 + keys + arguments);
        self.wire.extend_from_slice(script.head());
        self.wire.extend_from_slice(&[b'$', b'1', b'\r', b'\n', b'0' + keys as u8, b'\r', b'\n']);
    }

    /// Adds a key or an argument.
    pub(super) fn part(&mut self, bytes: &[u8]) {
        self.frame = self.wire.len();
        resp::head(&mut self.wire, b'$', bytes.len());
        let start = self.wire.len();
        self.wire.extend_from_slice(bytes);
        self.parts.push(start..start + bytes.len());
        self.wire.extend_from_slice(b"\r\n");
    }

    /// Adds a number.
    pub(super) fn number(&mut self, mut number: Decimal) {
        let length = number.as_bytes().len();
        self.wire.extend_from_slice(number.as_part());
        let end = self.wire.len() - 2;
        self.parts.push(end - length..end);
    }

    /// Adds two numbers that belong to the limiter and not to the call. They are written only where they
    /// were not those of the last call.
    pub(super) fn limits(&mut self, numbers: [u64; 2]) {
        if self.kept.wire.is_empty() || self.kept.numbers != numbers {
            self.kept = Kept::of(numbers);
        }
        let start = self.wire.len();
        self.wire.extend_from_slice(&self.kept.wire);
        for part in &self.kept.parts {
            self.parts.push(start + part.start..start + part.end);
        }
    }

    /// Adds the part that was added last once more, with the whole number that it ends with, from -1
    /// on, one higher.
    pub(super) fn one_higher(&mut self) {
        let last = self.parts.last().cloned().unwrap_or_default();
        let (frame, end) = (self.frame, self.wire.len());
        let moved = end - frame;
        let copy = last.start + moved..last.end + moved;
        if matches!(self.wire[..last.end], [.., b'0'..=b'9', b'0'..=b'8']) {
            self.wire.extend_from_within(frame..end);
            self.wire[copy.end - 1] += 1;
            self.frame = end;
            self.parts.push(copy);
        } else {
            // One window in ten, and in the first ones there are.
            let text = &self.wire[last];
            let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let negative = digits < text.len() && text[text.len() - digits - 1] == b'-';
            let (before, number) = text.split_at(text.len() - digits - usize::from(negative));
            let number: i64 = str::from_utf8(number).ok().and_then(|n| n.parse().ok()).unwrap_or(0);
            let higher = [before, Decimal::signed(number + 1).as_bytes()].concat();
            self.part(&higher);
        }
    }

    /// The script that is called.
    #[must_use]
    pub fn script(&self) -> &'static Script {
        self.script
    }

    /// The keys; at least one.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.parts[..self.keys].iter().map(|part| &self.wire[part.clone()])
    }

    /// The first key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.wire[self.parts[0].clone()]
    }

    /// The arguments.
    pub fn arguments(&self) -> impl Iterator<Item = &[u8]> {
        self.parts[self.keys..].iter().map(|part| &self.wire[part.clone()])
    }

    /// The whole command.
    pub(super) fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// Wipes what it says.
    pub(super) fn wipe(&mut self) {
        self.wire.zeroize();
    }
}

impl Kept {
    fn of(numbers: [u64; 2]) -> Self {
        let mut wire = Vec::new();
        let parts = numbers.map(|number| {
            let mut number = Decimal::unsigned(number);
            let length = number.as_bytes().len();
            wire.extend_from_slice(number.as_part());
            wire.len() - 2 - length..wire.len() - 2
        });
        Self { numbers, wire, parts }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::COUNTER;
    use super::*;

    fn wire(request: &Request) -> String {
        String::from_utf8(request.wire().to_vec()).unwrap()
    }

    #[test]
    fn a_request_is_a_command_of_strings_and_knows_its_parts() {
        let mut request = Request::default();
        for _ in 0..2 {
            request.begin(&COUNTER, 1, 2);
            request.part(b"a\r\nkey of so many bytes");
            request.number(Decimal::signed(-7));
            request.number(Decimal::unsigned(1_796_083_200_000_000));
            let sha1 = std::str::from_utf8(COUNTER.sha1()).unwrap();
            let expected = format!(
                "*6\r\n$7\r\nEVALSHA\r\n$40\r\n{sha1}\r\n$1\r\n1\r\n$23\r\na\r\nkey of so many bytes\r\n\
                 $2\r\n-7\r\n$16\r\n1796083200000000\r\n"
            );
            assert_eq!(wire(&request), expected);
            assert_eq!(request.keys().collect::<Vec<_>>(), [b"a\r\nkey of so many bytes"]);
            let arguments: Vec<&[u8]> = request.arguments().collect();
            assert_eq!(arguments, [&b"-7"[..], b"1796083200000000"]);
        }
    }

    #[test]
    fn limits_are_written_as_numbers_are_and_again_when_they_change() {
        let mut request = Request::default();
        for limits in [[60, 100], [60, 100], [60, 0], [7, 0], [1_000_000, 123_456_789_012]] {
            let mut whole = Request::default();
            for request in [&mut request, &mut whole] {
                request.begin(&COUNTER, 1, 3);
                request.part(b"a");
            }
            request.limits(limits);
            limits.iter().for_each(|&limit| whole.number(Decimal::unsigned(limit)));
            for request in [&mut request, &mut whole] {
                request.number(Decimal::unsigned(5));
            }
            assert_eq!(wire(&request), wire(&whole));
            assert!(request.arguments().eq(whole.arguments()));
        }
    }

    #[test]
    fn a_part_is_followed_by_one_that_is_one_higher() {
        for number in (-1_i64..1_200).chain([29_737_299, 99_999_999, u32::MAX.into()]) {
            let (mut request, mut whole) = (Request::default(), Request::default());
            for request in [&mut request, &mut whole] {
                request.begin(&COUNTER, 3, 0);
                request.part(format!("a9:{number}").as_bytes());
            }
            request.one_higher();
            request.one_higher();
            whole.part(format!("a9:{}", number + 1).as_bytes());
            whole.part(format!("a9:{}", number + 2).as_bytes());
            assert_eq!(wire(&request), wire(&whole));
            assert!(request.keys().eq(whole.keys()));
        }
    }
}
