//! What `rate-limit replay` counts, against numbers worked out by hand, a naive model and a real log.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;
use proptest::prelude::*;
use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::time::SECOND;
use serde_json::{Value, json};
use support::model::Model;
use support::tool::{DAY, Folder, denied, line, lines, refusal, report, run};

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

/// The real log, or `None` where it is not at hand.
fn trace() -> Option<PathBuf> {
    let folder = std::env::var_os("RATE_LIMIT_TRACES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces"),
        PathBuf::from,
    );
    let trace = folder.join("nasa-1995-08-01.log.gz");
    if !trace.exists() {
        eprintln!("SKIPPED: {} is not there; RATE_LIMIT_TRACES names its folder", trace.display());
        return None;
    }
    Some(trace)
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
    let Some(trace) = trace() else { return };
    let packed = fs::read(&trace).unwrap();
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
        String::from_utf8(text)
            .unwrap()
            .contains("left out, since they stood more than a window behind younger ones: 1")
    );
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
    let worst =
        &report(&["--limit", "0", "--route", "/a/*=0/60"], log.as_bytes())["worst"]["routes"];
    let names: Vec<_> = worst.as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["/a/*", "/b", "/c"]);

    let needs = |arguments: &[&str]| {
        let report = report(&[&["--suggest", "0"], arguments].concat(), log.as_bytes());
        let policies = report["policies"].as_array().unwrap().iter();
        policies
            .map(|policy| policy["suggestion"]["limit"]["log"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(needs(&[]), [5]);
    assert_eq!(needs(&["--route", "/a/*=1/60"]), [3, 2]);
    assert_eq!(needs(&["--by", "ip,route", "--route", "/a/*=1/60"]), [2, 2], "/b twice, /c once");
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

/// Each command of the guide, on the log that it speaks of, prints what stands there.
#[test]
fn the_guide_shows_what_the_tool_prints() {
    let Some(trace) = trace() else { return };
    let folder = Folder::new("guide");
    fs::copy(trace, folder.path("access.log.gz")).unwrap();
    let guide = include_str!("../docs/choosing-a-limit.md");
    let blocks: Vec<_> = guide.split("```console\n$ rate-limit ").skip(1).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let (command, shown) = block.split_once('\n').unwrap();
        let output = Command::new("sh")
            .args(["-c", &format!("\"$0\" {command}"), env!("CARGO_BIN_EXE_rate-limit")])
            .current_dir(&folder.0)
            .output()
            .unwrap();
        let shown = shown.split_once("```").unwrap().0;
        assert_eq!(String::from_utf8(output.stdout).unwrap(), shown, "{command}");
    }
}
