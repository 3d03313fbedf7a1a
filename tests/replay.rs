//! `rate-limit replay` as an operator runs it: what it counts, against numbers worked out by hand,
//! a naive model and a real log; and what a hostile log can do to it, which is nothing.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::read::{GzDecoder, GzEncoder};
use proptest::prelude::*;
use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::time::SECOND;
use serde_json::{Value, json};
use support::model::Model;

const DAY: u64 = 1_796_083_200; // 2026-12-01T00:00:00Z

/// A line at `second` of 1 December 2026.
fn line(client: &str, second: u64, path: &str) -> String {
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{client} - - [01/Dec/2026:{hour:02}:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"agent\"\n"
    )
}

fn lines(client: &str, seconds: &[u64]) -> String {
    seconds.iter().map(|&second| line(client, second, "/")).collect()
}

fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rate-limit"))
        .arg("replay")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input)); // fails where the tool refuses before the end
        child.wait_with_output().unwrap()
    })
}

fn report(arguments: &[&str], input: &[u8]) -> Value {
    let output = run(&[&["--json"], arguments].concat(), input);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert_eq!(error, "", "nothing but results where there is no terminal");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refusal(arguments: &[&str], input: &[u8], code: i32) -> String {
    let output = run(arguments, input);
    assert_eq!(output.status.code(), Some(code));
    assert_eq!(output.stdout, b"");
    String::from_utf8(output.stderr).unwrap()
}

/// Denied requests and clients of log, counter and fixed.
fn denied(report: &Value) -> Vec<(u64, u64)> {
    let of = |name: &str, what: &str| report["algorithms"][name][what].as_u64().unwrap();
    ["log", "counter", "fixed"].map(|name| (of(name, "denied"), of(name, "denied_clients"))).into()
}

/// The same, by asking of every request which of those admitted before it still count.
fn counted(requests: &[(u64, String)], limit: Limit) -> Vec<(u64, u64)> {
    let window = limit.window() / SECOND;
    let mut sorted = requests.to_vec();
    sorted.sort_by_key(|(time, _)| *time);
    let totals = |admits: &mut dyn FnMut(&str, u64) -> bool| {
        let mut denied: BTreeMap<&str, u64> = BTreeMap::new();
        for (time, client) in &sorted {
            if !admits(client, *time) {
                *denied.entry(client).or_default() += 1;
            }
        }
        (denied.values().sum(), denied.len() as u64)
    };
    let mut models: BTreeMap<(String, bool), Model> = BTreeMap::new();
    let mut model = |algorithm| {
        totals(&mut |client, time| {
            let key = (client.to_owned(), algorithm == Algorithm::Log);
            let model = models.entry(key).or_insert_with(|| Model::new(algorithm));
            model.attempt(limit, Cost::ONE, time * SECOND).allowed
        })
    };
    let (log, counter) = (model(Algorithm::Log), model(Algorithm::Counter));
    let mut windows: BTreeMap<(String, u64), u32> = BTreeMap::new();
    let fixed = totals(&mut |client, time| {
        let count = windows.entry((client.to_owned(), time / window)).or_default();
        let admitted = *count < limit.max();
        *count += u32::from(admitted);
        admitted
    });
    vec![log, counter, fixed]
}

#[test]
fn a_small_log_gives_the_numbers_worked_out_by_hand() {
    // L 2, W 60 s. 192.0.2.1: all admit 50 and 55.
    //   65   log: 50 and 55 count, denied. counter: 0 + floor(2 * 55 / 60) = 1, admitted. fixed: 0, admitted.
    //   66   log: denied.                  counter: 1 + floor(2 * 54 / 60) = 2, denied.   fixed: 1, admitted.
    //   70   log: denied.                  counter: 1 + floor(2 * 50 / 60) = 2, denied.   fixed: 2, denied.
    //   111  log: 55 counts, admitted.     counter: 1 + floor(2 * 9 / 60) = 1, admitted.  fixed: 2, denied.
    // 2001:db8::/64: three addresses are one client, and everybody denies its third request.
    let log = lines("192.0.2.1", &[50, 55, 65, 66, 70])
        + &lines("2001:db8::1", &[100])
        + &lines("2001:DB8:0:0:ffff::2", &[101])
        + "not a line of a log\n"
        + &lines("2001:db8::3", &[102])
        + &lines("::ffff:192.0.2.1", &[111]);
    let report = report(&["--limit", "2"], log.as_bytes());
    assert_eq!(report["requests"], 9);
    assert_eq!(report["clients"], 2);
    assert_eq!(report["unparsed"], 1);
    assert_eq!(denied(&report), [(4, 2), (3, 2), (3, 2)]);
    // counter let 65 (after 50 and 55) and 111 (after 55 and 65) pass over a full window, fixed 65 and 66.
    let of = |what: &str| {
        ["log", "counter", "fixed"].map(|name| report["algorithms"][name][what].clone())
    };
    assert_eq!(of("over"), [0, 2, 2]);
    assert_eq!(of("early"), [0, 0, 0]);
    assert_eq!(of("peak"), [2, 3, 4].map(|admitted| json!({ "admitted": admitted, "limit": 2 })));
}

#[test]
fn a_real_log_gives_the_numbers_of_an_independent_count() {
    let folder = std::env::var_os("RATE_LIMIT_TRACES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces"),
        PathBuf::from,
    );
    let trace = folder.join("nasa-1995-08-01.log.gz");
    let Ok(packed) = fs::read(&trace) else {
        eprintln!("SKIPPED: {} is not there; RATE_LIMIT_TRACES names its folder", trace.display());
        return;
    };
    let mut text = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    let requests: Vec<(u64, String)> = text
        .lines()
        .map(|line| {
            let (client, rest) = line.split_once(' ').unwrap();
            let clock = rest.split_once("01/Aug/1995:").unwrap().1;
            let part = |at: usize| clock[at..at + 2].parse::<u64>().unwrap();
            (807_235_200 + part(0) * 3600 + part(3) * 60 + part(6), client.to_owned())
        })
        .collect();
    let expected = counted(&requests, Limit::new(20, 60).unwrap());
    assert_eq!(expected, [(42, 8), (29, 6), (19, 3)]);
    let report = report(&["--limit", "20", trace.to_str().unwrap()], b"");
    assert_eq!(denied(&report), expected);
    assert_eq!([&report["requests"], &report["clients"], &report["unparsed"]], [30_969, 2_365, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Bursts, pauses and disorder of several clients, each line at most a window late.
    #[test]
    fn any_log_is_counted_as_the_naive_model_counts_it(
        calls in prop::collection::vec((0_u64..4, prop_oneof![4 => 0_u64..4, 1 => 0_u64..200], 0_u64..40), 1..300),
        max in 0_i64..12, window in 40_i64..90,
    ) {
        let (mut now, mut log, mut requests) = (300, String::new(), Vec::new());
        for (client, gap, late) in calls {
            now += gap;
            let client = format!("192.0.2.{client}");
            log += &line(&client, now - late, "/");
            requests.push((DAY + now - late, client));
        }
        let report = report(&["--limit", &max.to_string(), "--window", &window.to_string()], log.as_bytes());
        prop_assert_eq!(report["requests"].as_u64(), Some(requests.len() as u64));
        prop_assert_eq!(denied(&report), counted(&requests, Limit::new(max, window).unwrap()));
    }

    /// The limit that is suggested touches few enough clients, and one less does not.
    #[test]
    fn a_suggested_limit_is_the_smallest(
        calls in prop::collection::vec((0_u32..10, 0_u64..9), 1..200), share in 0_u64..100,
    ) {
        let (mut now, mut log) = (0, String::new());
        for (client, gap) in calls {
            now += gap;
            log += &line(&format!("192.0.2.{client}"), now, "/");
        }
        let ask = |arguments: &[&str]| report(arguments, log.as_bytes());
        let found = ask(&["--suggest", &format!("{share}%")]);
        let most = found["clients"].as_u64().unwrap() * share / 100;
        for (i, name) in ["log", "counter", "fixed"].into_iter().enumerate() {
            let limit = found["policies"][0]["suggestion"]["limit"][name].as_u64().unwrap();
            let touched = |limit: u64| denied(&ask(&["--limit", &limit.to_string()]))[i].1;
            prop_assert!(touched(limit) <= most);
            prop_assert!(touched(limit - 1) > most);
        }
    }
}

#[test]
fn a_line_that_comes_more_than_a_window_late_is_counted_and_left_out() {
    let log = lines("192.0.2.1", &[100, 300, 250, 239, 360, 299]);
    let report = report(&["--limit", "1", "--window", "60"], log.as_bytes());
    assert_eq!([&report["requests"], &report["late"]], [5, 1]);
    let text = run(&["--window", "60"], log.as_bytes()).stdout;
    assert!(
        String::from_utf8(text).unwrap().contains("1 requests stood more than a window behind")
    );
}

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
fn a_route_has_its_own_limit_and_budget() {
    let at = |second, path| line("192.0.2.1", second, path);
    let log = at(0, "/a/1") + &at(1, "/a/2") + &at(2, "/b") + &at(3, "/c") + &at(4, "/b");
    let count = |arguments: &[&str]| denied(&report(arguments, log.as_bytes()))[0].0;
    assert_eq!(count(&["--limit", "2"]), 3, "one budget");
    assert_eq!(count(&["--limit", "2", "--route", "/a/*=1/60"]), 2, "/a/2 and the second /b");
    assert_eq!(count(&["--limit", "1", "--by", "ip,route"]), 1, "the second /b");
    assert_eq!(
        count(&["--limit", "1", "--by", "ip,route", "--route", "/a/*=1/60"]),
        2,
        "a pattern is one route"
    );
    assert_eq!(
        count(&["--limit", "0", "--route", "/a/1=9/1", "--route", "/a/*=0/60"]),
        4,
        "the first wins"
    );
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

#[test]
fn memory_does_not_grow_with_the_lines() {
    let chunk: String =
        (0..100_000).map(|i| line(&format!("192.0.2.{}", i % 250), i / 2, "/")).collect();
    let script = "ulimit -v 32768 && exec \"$0\" replay --json -"; // KiB; the input is 40 MB
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_rate-limit")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            for day in 1..=4 {
                stdin
                    .write_all(chunk.replace("01/Dec", &format!("{day:02}/Dec")).as_bytes())
                    .unwrap();
            }
        });
        child.wait_with_output().unwrap()
    });
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!([&report["requests"], &report["clients"]], [400_000, 250]);
}

#[test]
fn a_wrong_command_line_names_the_value_and_the_rule() {
    for (arguments, said) in [
        (&["--limit", "-1"][..], "--limit must be between 0 and 2147483647, -1 given"),
        (&["--window", "0"], "--window must be between 1 and 31536000 seconds, 0 given"),
        (&["--route", "/a"], "\"/a\" given"),
        (&["--suggest", "2"], "\"2\" given"),
        (&["--ipv6-prefix", "0"], "must be between 1 and 128, \"0\" given"),
        (&["--by", "user"], "'user'"),
    ] {
        let actual = refusal(arguments, b"", 2);
        assert!(actual.contains(said), "{actual}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    GzEncoder::new(bytes, flate2::Compression::fast()).read_to_end(&mut packed).unwrap();
    packed
}

/// A folder for one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rate-limit-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
