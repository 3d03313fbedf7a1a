//! What `rate-limit replay` reads, and what a hostile log can do to it, which is nothing.

mod support;

use std::fs;

use serde_json::json;
use support::tool::{DAY, Folder, denied, gzip, line, lines, refusal, report, run};

#[test]
fn logs_in_every_form_and_order_give_one_result() {
    let folder = Folder::new("forms");
    let plain: Vec<String> =
        (0..200).map(|i| line(&format!("192.0.2.{}", i % 3), i, "/a?q=1")).collect();
    let expected = report(&["--limit", "5"], plain.concat().as_bytes());
    assert_ne!(denied(&expected)[0], (0, 0));

    let crlf = plain.concat().replace('\n', "\r\n");
    let common = plain.concat().replace(" \"-\" \"agent\"", "");
    let json: String = (0..200)
        .map(|i| {
            json!({ "time": DAY + i, "ip": format!("192.0.2.{}", i % 3), "uri": "/a?q=1" })
                .to_string()
                + "\n"
        })
        .collect();
    let unended = plain.concat().trim_end().to_owned();
    for text in [&crlf, &common, &json, &unended, &plain.concat().replace('\n', "\n\n")] {
        for input in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
            let mut actual = report(&["--limit", "5", "-"], &input);
            actual["worst"]["clients"] = expected["worst"]["clients"].clone(); // pseudonyms
            assert_eq!(actual, expected);
        }
    }

    // Rotated, the newest first; and of two hosts, line by line.
    let newer = folder.file("access.log", plain[120..].concat().as_bytes());
    let older = folder.file("access.log.1.gz", &gzip(plain[..120].concat().as_bytes()));
    let [even, odd] = [0, 1].map(|host| {
        let lines: String = plain.iter().skip(host).step_by(2).cloned().collect();
        folder.file(&format!("host{host}.log"), lines.as_bytes())
    });
    for files in [[&newer, &older], [&even, &odd]] {
        let files = files.map(|file| file.to_str().unwrap());
        let actual = report(&[&["--limit", "5"], &files[..]].concat(), b"");
        assert_eq!(denied(&actual), denied(&expected));
        assert_eq!([&actual["requests"], &actual["late"]], [200, 0]);
    }
}

#[test]
fn fields_of_json_lines_can_be_named() {
    let log = r#"{"who":{"addr":"192.0.2.1"},"when":"2026-12-01T00:00:00Z","what":"GET /a HTTP/1.1","ip":"192.0.2.9"}"#;
    let names = ["--json-client", "who.addr", "--json-time", "when", "--json-path", "what"];
    let report =
        report(&[&["--limit", "0", "--show-addresses"], &names[..]].concat(), log.as_bytes());
    assert_eq!(report["worst"]["clients"][0]["name"], "192.0.2.1");
    assert_eq!(report["worst"]["routes"][0]["name"], "/a");
}

#[test]
fn addresses_are_told_only_on_request_and_pseudonyms_hold_for_one_run() {
    let log = lines("192.0.2.77", &[0])
        + "192.0.2.77 2001:db8::77 is no log line\n"
        + &lines("198.51.100.7", &[1]);
    let folder = Folder::new("addresses");
    let page = folder.path("report.html");
    let html = ["--html", page.to_str().unwrap(), "--limit", "0"];
    let told = |arguments: &[&str]| {
        let text = run(arguments, log.as_bytes()).stdout;
        String::from_utf8(text).unwrap() + &fs::read_to_string(&page).unwrap()
    };
    for arguments in [&html[..], &[&html[..], &["--json"]].concat()] {
        let text = told(arguments);
        for address in ["192.0.2.77", "198.51.100.7", "2001:db8"] {
            assert!(!text.contains(address), "{text}");
        }
        assert!(told(&[arguments, &["--show-addresses"]].concat()).contains("192.0.2.77"));
    }
    let name = || report(&["--limit", "0"], log.as_bytes())["worst"]["clients"][0]["name"].clone();
    assert_ne!(name(), name());
}

#[test]
fn what_clients_wrote_reaches_no_terminal_and_no_page() {
    let evil = "/<script>alert(1)</script>'\"&\x1b]0;owned\x07\x1b[31m\0\u{9b}2J\u{202e}";
    let path = evil.replace('"', "\\\"");
    let log = line("192.0.2.1", 0, &path)
        + &line("<b>\x1b[2J", 1, "/")
        + evil
        + "\n"
        + &line("<b>\x1b[2J", 2, &path);
    let folder = Folder::new("hostile");
    let page = folder.path("report.html");
    let html =
        ["--limit", "0", "--show-addresses", "--suggest", "1%", "--html", page.to_str().unwrap()];
    for output in
        [run(&html, log.as_bytes()), run(&[&html[..], &["--json"]].concat(), log.as_bytes())]
    {
        let shown = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(shown.contains("script"), "the route is there");
        assert!(shown.chars().all(|c| c == '\n' || c == ' ' || c.is_ascii_graphic()), "{shown:?}");
    }
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains("&lt;script&gt;") && page.contains("&lt;b&gt;"));
    assert!(!page.contains("<script") && !page.contains("<b>\\"), "{page}");
    assert!(page.chars().all(|c| c == '\n' || c == ' ' || c.is_ascii_graphic()));
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(outside), "the page refers to {outside}");
    }
}

#[test]
fn malformed_lines_are_counted_and_the_first_few_shown() {
    let long = "x".repeat(1 << 20);
    let bad = [
        "garbage",
        "192.0.2.1 - - [01/Dec/2026:00:00:00 +0000] \"GET / HTTP",
        "\0\0\0",
        "{\"ip\":",
        &long,
        "6",
        "7",
    ];
    let log = line("192.0.2.1", 0, "/") + &bad.join("\n") + "\n" + &line("192.0.2.1", 1, "/");
    let report = report(&[], log.as_bytes());
    assert_eq!([&report["requests"], &report["unparsed"]], [2, 7]);
    let shown = report["unparsed_lines"].as_array().unwrap();
    let rules: Vec<_> = shown.iter().map(|line| line["rule"].as_str().unwrap()).collect();
    assert_eq!(
        rules,
        [
            "no quoted request",
            "the request's quote is not closed",
            "no quoted request",
            "not a JSON object",
            "longer than 128 KiB"
        ]
    );
    assert_eq!(shown[1]["place"], "standard input, line 3");
    assert!(shown.iter().all(|line| line["text"].as_str().unwrap().len() < 150));
}

#[test]
fn what_is_no_log_says_so() {
    let folder = Folder::new("no-log");
    let log = folder.file("access.log", lines("192.0.2.1", &[0]).as_bytes());
    let binary: Vec<u8> =
        (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for (name, content) in [
        ("error.log", "2026/12/01 06:00:00 [error] 7#7: *1 open() failed\n".repeat(3).into_bytes()),
        ("binary", binary),
        ("page.gz", gzip(b"<!DOCTYPE html>\n<p>hello")),
    ] {
        let file = folder.file(name, &content);
        let said = refusal(&[log.to_str().unwrap(), file.to_str().unwrap()], b"", 1);
        assert!(said.contains(&format!("{name}: not an access log")), "{said}");
        assert!(said.chars().all(|c| c == '\n' || c == ' ' || c.is_ascii_graphic()), "{said:?}");
    }
    let missing = folder.path("missing.log");
    assert!(refusal(&[missing.to_str().unwrap()], b"", 1).contains("missing.log: cannot be read"));
    assert!(refusal(&[folder.0.to_str().unwrap()], b"", 1).contains("cannot be read"));
}

#[test]
fn an_empty_log_is_a_log() {
    for input in [&b""[..], b"\n\r\n", &gzip(b"")] {
        let report = report(&["--suggest", "1%"], input);
        assert_eq!([&report["requests"], &report["clients"], &report["unparsed"]], [0, 0, 0]);
        let text = String::from_utf8(run(&["--suggest", "1%"], input).stdout).unwrap();
        assert!(text.starts_with("No requests\n") && !text.contains("NaN"), "{text}");
    }
}

#[test]
fn of_damaged_gzip_what_came_before_the_damage_counts() {
    let text: String = (0..20_000).map(|i| line(&format!("192.0.2.{}", i % 251), i, "/")).collect();
    let packed = gzip(text.as_bytes());
    let report = report(&[], &packed[..packed.len() / 2]);
    let requests = report["requests"].as_u64().unwrap();
    assert!((5_000..20_000).contains(&requests), "{requests}");
    let warning = report["warnings"][0].as_str().unwrap();
    assert!(warning.contains("standard input: damaged or cut off after line"), "{warning}");
    assert!(refusal(&[], &packed[..20], 1).contains("standard input: cannot be read"));
}
