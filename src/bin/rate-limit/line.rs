//! One line of a log in nginx's or Apache's common or combined format:
//!
//! ```text
//! 203.0.113.7 - alice [01/Dec/2026:06:00:00 +0000] "GET /a?b HTTP/1.1" 200 1713 "referer" "agent"
//! ```
//!
//! The user may be any text that the client sent, brackets and a forged time included, but never a
//! bare quote: both servers escape those. So a line is read from its first quote outwards.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memrchr};
use rate_limit::core::identity::{self, Ipv6Prefix};
use rate_limit::core::time::Micros;

use crate::timestamp::{CLF_LENGTH, Dates};

/// The longest name of a client, in bytes: a DNS name has at most 253.
const MAX_CLIENT: usize = 255;

/// The longest part of a path that tells routes apart, in bytes.
const MAX_PATH: usize = 512;

/// What a replay needs of a line. The texts are the client's: any bytes.
pub struct Entry<'a> {
    /// When, by the log.
    pub time: Micros,
    /// Address or host name.
    pub client: Cow<'a, [u8]>,
    /// The path without its query, `-` where the request names none.
    pub path: Cow<'a, [u8]>,
}

/// Reads a line, or says which rule it breaks.
pub fn parse<'a>(line: &'a [u8], dates: &mut Dates) -> Result<Entry<'a>, &'static str> {
    let open = bare_quote(line, 0).ok_or("no quoted request")?;
    let close = bare_quote(line, open + 1).ok_or("the request's quote is not closed")?;
    let time = (line[..open].strip_suffix(b"] "))
        .and_then(|head| head.split_last_chunk::<{ CLF_LENGTH + 1 }>())
        .and_then(|(_, time)| dates.clf(time.strip_prefix(b"[")?))
        .ok_or("no time as [dd/Mon/yyyy:hh:mm:ss +hhmm] before the request")?;
    if !matches!(line[close + 1..], [b' ', b'1'..=b'9', b'0'..=b'9', b'0'..=b'9', ..]) {
        return Err("no status after the request");
    }
    Ok(Entry {
        time,
        client: checked_client(client(line).into())?,
        path: path(target(&line[open + 1..close])).into(),
    })
}

/// The first field, or the second where that is an address and the first is not: Apache's
/// `vhost_combined` begins with the server's name and port.
fn client(line: &[u8]) -> &[u8] {
    let mut fields = line.split(|&byte| byte == b' ');
    let (first, second) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    let is_address = |field| identity::client(field, Ipv6Prefix::DEFAULT).is_some();
    if second != b"-" && is_address(second) && !is_address(first) { second } else { first }
}

/// `client` if it can be one's name.
pub fn checked_client(client: Cow<'_, [u8]>) -> Result<Cow<'_, [u8]>, &'static str> {
    match client.len() {
        1..=MAX_CLIENT => Ok(client),
        0 => Err("no client address"),
        _ => Err("a client address longer than 255 bytes"),
    }
}

/// The target of a request line `GET /a?b HTTP/1.1`, or `-` where that is none.
pub fn target(request: &[u8]) -> &[u8] {
    let Some(method_end) = memchr(b' ', request) else { return b"-" };
    let rest = &request[method_end + 1..];
    match memrchr(b' ', rest) {
        Some(end) if rest[end + 1..].starts_with(b"HTTP/") => &rest[..end],
        _ => rest,
    }
}

/// A target without its query, cut at [`MAX_PATH`].
pub fn path(target: &[u8]) -> &[u8] {
    let path = &target[..memchr(b'?', target).unwrap_or(target.len())];
    &path[..path.len().min(MAX_PATH)]
}

/// The first quote from `start` on that no backslash escapes.
fn bare_quote(line: &[u8], start: usize) -> Option<usize> {
    memchr_iter(b'"', &line[start..]).map(|at| start + at).find(|&at| {
        let backslashes = line[start..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
        backslashes % 2 == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(String, String), &'static str> {
        let text = |bytes: Cow<[u8]>| String::from_utf8(bytes.into_owned()).unwrap();
        parse(line.as_bytes(), &mut Dates::default()).map(|e| (text(e.client), text(e.path)))
    }

    #[test]
    fn common_and_combined_lines_are_read() {
        for (request, path) in [
            ("GET /a?token=1 HTTP/1.1", "/a"),
            ("GET /a b HTTP/1.0", "/a b"),
            ("GET /a", "/a"),
            (r#"GET /\"quoted\" HTTP/1.1"#, r#"/\"quoted\""#),
            (r"GET /\\", r"/\\"),
            ("-", "-"),
            ("", "-"),
            (r"\x16\x03\x01", "-"),
        ] {
            for rest in ["200 5", r#"200 5 "-" "agent""#, "404 -"] {
                let line =
                    format!(r#"192.0.2.1 - - [01/Dec/2026:06:00:00 +0000] "{request}" {rest}"#);
                assert_eq!(read(&line), Ok(("192.0.2.1".into(), path.into())), "{line}");
            }
        }
    }

    #[test]
    fn a_virtual_host_before_the_client_is_not_the_client() {
        let request = r#"- [01/Dec/2026:06:00:00 +0000] "GET / HTTP/1.1" 200 5"#;
        for (head, client) in [
            ("example.com:443 192.0.2.1 -", "192.0.2.1"),
            ("192.0.2.1 192.0.2.9", "192.0.2.1"),
            ("a.example.net ident", "a.example.net"),
        ] {
            assert_eq!(read(&format!("{head} {request}")).unwrap().0, client);
        }
    }

    #[test]
    fn a_user_cannot_forge_the_time() {
        let mut dates = Dates::default();
        let line = br#"192.0.2.1 - x [01/Jan/1999:00:00:00 +0000] \"GET / [01/Dec/2026:06:00:00 +0000] "GET /a HTTP/1.1" 200 5"#;
        let entry = parse(line, &mut dates).unwrap();
        assert_eq!(Some(entry.time), dates.clf(b"01/Dec/2026:06:00:00 +0000"));
        assert_eq!(&*entry.path, b"/a");
    }

    #[test]
    fn a_line_that_breaks_a_rule_names_it() {
        for (line, rule) in [
            (
                "192.0.2.1 - - [01/Dec/2026:06:00:00 +0000] GET / HTTP/1.1 200 5",
                "no quoted request",
            ),
            (r#"192.0.2.1 - - [01/Dec/2026:06:00:00 +0000] "GET / HT"#, "not closed"),
            (r#"192.0.2.1 - - [31/Feb/2026:06:00:00 +0000] "GET / HTTP/1.1" 200 5"#, "no time"),
            (r#""GET / HTTP/1.1" 200 5"#, "no time"),
            (r#"192.0.2.1 - - [01/Dec/2026:06:00:00 +0000] "GET / HTTP/1.1" x"#, "no status"),
            (r#" - - [01/Dec/2026:06:00:00 +0000] "GET / HTTP/1.1" 200 5"#, "no client"),
        ] {
            assert!(read(line).unwrap_err().contains(rule), "{line}");
        }
    }
}
