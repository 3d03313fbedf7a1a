//! `rate-limit top` and `rate-limit reset`, beside workers that go on deciding.

mod support;

use std::path::Path;
use std::process::Command;

use rate_limit::clock;
use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::store::redis::{Dsn, Layout};
use rate_limit::store::shm::{Region, RegionConfig, Shm, namespace};
use rate_limit::store::{Call, Denial, Host, Store, scope};
use support::server::Server;
use support::tool::Folder;

fn region(file: &Path) -> &'static Region {
    let config = RegionConfig { size: 1 << 20, file: Some(file.to_owned()) };
    Box::leak(Box::new(Region::map(&config).unwrap()))
}

fn user() -> u64 {
    namespace(b"", rustix::process::geteuid().as_raw())
}

fn call(algorithm: Algorithm, identity: &[u8]) -> Call<'_> {
    let limit = Limit::new(3, 3600).unwrap();
    Call { algorithm, identity, earlier: &[], limit, cost: Cost::ONE }
}

/// Calls until it is denied, `denied` times.
fn exhaust(shm: &mut Shm, call: &Call<'_>, denied: u32) {
    let mut left = denied;
    while left > 0 {
        let allowed = shm.attempt(call).unwrap().allowed;
        shm.sample(call, !allowed, false);
        left -= u32::from(!allowed);
    }
}

/// Exit code, standard output, standard error.
fn tool(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rate-limit")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn top_ranks_by_calls_and_by_denials_and_reset_frees_by_pseudonym() {
    let folder = Folder::new("top");
    let (file, region) = (folder.path("memory"), region(&folder.path("memory")));
    let file = file.to_str().unwrap();
    let (mut ours, mut theirs) = (region.shm(user()), region.shm(namespace(b"theirs", 0)));
    let [log, counter] = [Algorithm::Log, Algorithm::Counter].map(|class| call(class, b"one"));
    exhaust(&mut ours, &log, 20);
    exhaust(&mut theirs, &counter, 40);
    let busy = Call { limit: Limit::new(1_000_000, 60).unwrap(), ..counter };
    for _ in 0..100 {
        ours.sample(&busy, false, true);
    }

    let (code, page, _) = tool(&["top", "--memory-file", file]);
    assert_eq!(code, 0);
    let (busiest, denied) = page.split_once("Most denied").unwrap();
    let rows = |table: &str| -> Vec<Vec<String>> {
        let rows =
            table.lines().filter(|line| line.starts_with("log-") || line.starts_with("counter-"));
        rows.map(|row| row.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let (busiest, denied) = (rows(busiest), rows(denied));
    let numbers = |rows: &[Vec<String>]| -> Vec<[String; 4]> {
        rows.iter().map(|row| [1, 5, 6, 7].map(|n| row[n].clone())).collect()
    };
    // Sixteen times what was sampled.
    assert_eq!(
        numbers(&busiest),
        [
            ["1000000", "1600", "0", "store"],
            ["3", "688", "640", "memory"],
            ["3", "368", "320", "memory"],
        ]
    );
    assert_eq!(numbers(&denied), numbers(&busiest[1..]));

    let pseudonyms = [denied[0][0].as_str(), denied[1][0].as_str()];
    let arguments = ["reset", "--memory-file", file, pseudonyms[0], pseudonyms[1]];
    assert_eq!(tool(&arguments), (0, "freed\n".to_owned(), String::new()));
    for (shm, call) in [(&mut ours, &log), (&mut theirs, &counter)] {
        assert_eq!(shm.peek(call).unwrap().remaining, 3);
    }
}

#[test]
fn reset_frees_this_identity_of_this_class_window_and_namespace_alone() {
    let folder = Folder::new("reset");
    let (file, region) = (folder.path("memory"), region(&folder.path("memory")));
    let file = file.to_str().unwrap();
    let mut namespaces = [region.shm(user()), region.shm(namespace(b"shop", 0))];
    let calls = [Algorithm::Log, Algorithm::Counter].map(|class| call(class, b"one"));
    let mut exhausted = || -> Vec<bool> {
        let all = namespaces.iter_mut().flat_map(|shm| calls.map(|call| (*shm, call)));
        all.map(|(mut shm, call)| !shm.peek(&call).unwrap().allowed).collect()
    };
    for mut shm in [region.shm(user()), region.shm(namespace(b"shop", 0))] {
        calls.iter().for_each(|call| exhaust(&mut shm, call, 1));
    }
    assert_eq!(exhausted(), [true; 4]);
    let reset = |more: &[&str]| {
        tool(&[&["reset", "--memory-file", file, "--identity", "one"], more].concat()).0
    };
    assert_eq!(reset(&["--class", "log", "--window", "3600"]), 0);
    assert_eq!(exhausted(), [false, true, true, true]);
    assert_eq!(reset(&["--class", "counter", "--window", "60"]), 0);
    assert_eq!(exhausted(), [false, true, true, true], "another window is another state");
    assert_eq!(reset(&["--class", "counter", "--window", "3600", "--namespace", "shop"]), 0);
    assert_eq!(exhausted(), [false, true, true, false]);
}

#[test]
fn reset_in_a_store_takes_the_denials_that_this_host_remembers_with_it() {
    let folder = Folder::new("reset-store");
    let shm = region(&folder.path("memory")).shm(user());
    let server = Server::redis();
    let dsn = format!("redis+unix://{}?prefix=p:", server.socket());
    let parsed = Dsn::parse(&dsn).unwrap();
    let scope = scope(&(&parsed.endpoint, &parsed.prefix));
    let mut store = support::redis::store(&parsed, Layout::SortedSet);
    for (class, algorithm) in [("log", Algorithm::Log), ("counter", Algorithm::Counter)] {
        let call = call(algorithm, b"one");
        let denied = loop {
            let verdict = store.attempt(&call).unwrap();
            if !verdict.allowed {
                break verdict;
            }
        };
        let now = clock::steady();
        let Denial::Unknown(Some(ticket)) = shm.denial(scope, &call, now) else { panic!() };
        shm.remember(ticket, &denied, now);
        let file = folder.path("memory");
        let result = tool(&[
            "reset",
            "--store",
            &dsn,
            "--memory-file",
            file.to_str().unwrap(),
            "--identity",
            "one",
            "--class",
            class,
            "--window",
            "3600",
        ]);
        assert_eq!(result, (0, "freed\n".to_owned(), String::new()));
        assert_eq!(store.peek(&call).unwrap().remaining, 3);
        assert!(matches!(shm.denial(scope, &call, clock::steady()), Denial::Unknown(_)));
    }
}

#[test]
fn what_cannot_be_done_is_said_and_no_file_is_made() {
    let folder = Folder::new("refused");
    let missing = folder.path("missing");
    let (code, _, error) = tool(&["top", "--memory-file", missing.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(error.contains("missing: cannot open it: No such file"), "{error}");
    assert!(!missing.exists());
    let other = folder.file("other", b"something else");
    let (code, _, error) = tool(&["top", "--memory-file", other.to_str().unwrap()]);
    assert!(code == 1 && error.contains("must have mode 0600"), "{error}");
    region(&folder.path("memory"));
    let file = folder.path("memory");
    let file = file.to_str().unwrap();
    for arguments in [
        &["reset", "--memory-file", file][..],
        &["reset", "--memory-file", file, "log-1"],
        &["reset", "--memory-file", file, "other-0123456789abcdef"],
        &["reset", "--memory-file", file, "--identity", "one"],
        &["reset", "--memory-file", file, "--identity", "one", "--class", "log", "--window", "0"],
        &["reset", "--identity", "one", "--class", "log", "--window", "60"],
        &["reset", "log-0123456789abcdef"],
        &[
            "reset",
            "--store",
            "redis://:s3cret@h:x",
            "--identity",
            "a",
            "--class",
            "log",
            "--window",
            "1",
        ],
    ] {
        let (code, _, error) = tool(arguments);
        assert_eq!(code, 2, "{arguments:?}: {error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
}
