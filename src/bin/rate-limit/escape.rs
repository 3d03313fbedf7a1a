//! What clients wrote into a log, made harmless.

use std::net::IpAddr;

/// Bytes of a text that are shown at most.
const SHOWN: usize = 100;

/// `text` in printable ASCII, other bytes as `\x1b`, its beginning if it is long: no terminal takes
/// it for a command.
pub fn printable(text: &[u8]) -> String {
    let shown = &text[..text.len().min(SHOWN)];
    let more = if shown.len() < text.len() { "..." } else { "" };
    let mut printable = String::with_capacity(shown.len());
    for &byte in shown {
        match byte {
            b' '..=b'~' => printable.push(byte.into()),
            _ => printable.extend(byte.escape_ascii().map(char::from)),
        }
    }
    printable + more
}

/// `text` with every address in it replaced. An address cut off by the text's end is cut off whole.
pub fn without_addresses(text: &[u8]) -> Vec<u8> {
    let part_of_address = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':');
    let is_address =
        |word: &[u8]| str::from_utf8(word).is_ok_and(|word| word.parse::<IpAddr>().is_ok());
    let mut out = Vec::with_capacity(text.len());
    for word in text.chunk_by(|a, b| part_of_address(a) == part_of_address(b)) {
        out.extend_from_slice(if is_address(word) { b"(address)" } else { word });
    }
    out
}

/// `text` for HTML, in an element or in a quoted attribute.
pub fn html(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, char| {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_printable_commands_a_terminal() {
        let shown = printable("\x1b]0;x\x07\r\n\0\u{9b}31m\u{202e}".as_bytes());
        assert!(shown.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '), "{shown}");
        assert_eq!(printable(&[b'a'; 101]), format!("{}...", "a".repeat(100)));
    }

    #[test]
    fn addresses_are_replaced_wherever_they_stand() {
        let line =
            b"192.0.2.1 - 2001:db8::1,[::ffff:192.0.2.1]:80 {\"ip\":\"192.0.2.7\"} /1.2.3 12:30";
        let expected = b"(address) - (address),[(address)]:80 {\"ip\":\"(address)\"} /1.2.3 12:30";
        assert_eq!(without_addresses(line), expected);
    }

    #[test]
    fn markup_is_text() {
        assert_eq!(html(r#"<a b="c" d='e'>&"#), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
    }
}
