//! Hosts whose clocks differ, with real processes under faketime.
#![cfg(feature = "redis")]

mod support;

use std::process::Command;

use rate_limit::clock;
use rate_limit::core::limit::Algorithm;
use rate_limit::core::time::SECOND;
use rate_limit::store::Store;
use rate_limit::store::redis::{ClockMode, Dsn, Known, Naming, Options, RedisStore, connection};
use support::redis::call;
use support::server::Server;

/// What a host says about its calls, a line each. faketime stops a process whose number belonged to one
/// of its own that was killed; nothing has run then, and the next has another number.
fn host(server: &Server, offset: &str, mode: &str, algorithm: &str) -> Vec<String> {
    let run = || {
        let output = Command::new("faketime")
            .args(["-f", offset])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "one_host", "--ignored", "--nocapture"])
            .env("SOCKET", server.socket())
            .env("CLOCK", mode)
            .env("ALGORITHM", algorithm)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter_map(|line| line.strip_prefix("host: ")).map(str::to_owned).collect()
    };
    (0..3).map(|_| run()).find(|said: &Vec<String>| !said.is_empty()).unwrap_or_default()
}

/// Run by the tests below, in a process of its own.
#[test]
#[ignore = "needs to be called by the other tests"]
fn one_host() {
    let dsn = Dsn::parse(&format!("redis+unix://{}", std::env::var("SOCKET").unwrap())).unwrap();
    let mode = match std::env::var("CLOCK").unwrap().as_str() {
        "host" => ClockMode::Host,
        _ => ClockMode::Server,
    };
    let algorithm = match std::env::var("ALGORITHM").unwrap().as_str() {
        "log" => Algorithm::Log,
        _ => Algorithm::Counter,
    };
    let transport = connection(&dsn.endpoint, Options { timeout: 5 * SECOND });
    let mut store = RedisStore::new(transport, Naming::default(), mode);
    let before = clock::wall();
    for _ in 0..2 {
        let verdict = store.attempt(&call(algorithm, b"shared", 3, 3_600, 1)).unwrap();
        println!("host: {} {}", verdict.allowed, verdict.remaining);
    }
    match store.clock() {
        Known::Distance(distance) => println!("host: {}", (distance as f64 / 1e6).round()),
        other => println!("host: {other:?}"),
    }
    assert!(clock::wall() >= before);
}

#[test]
fn hosts_an_hour_and_a_minute_apart_share_a_budget() {
    let server = Server::redis();
    for algorithm in ["log", "counter"] {
        assert_eq!(host(&server, "+3661s", "server", algorithm), ["true 2", "true 1", "-3661"]);
        assert_eq!(host(&server, "-61s", "server", algorithm), ["true 0", "false 0", "61"]);
        server.admin().say("FLUSHALL");
        // The other way round, and with the correction turned off each is right by its own clock.
        assert_eq!(host(&server, "-3661s", "host", algorithm), ["true 2", "true 1", "Nothing"]);
        assert_eq!(host(&server, "+3661s", "host", algorithm)[0], "true 2", "{algorithm}");
        server.admin().say("FLUSHALL");
    }
}
