//! What the extension's own connection costs beside the same bytes over a bare socket, and what a
//! log costs the server as a list beside a sorted set.
//!
//! Run as `taskset -c 0 cargo bench --bench redis`: client and server on one core, since the wake-up
//! of a second one is most of a round trip on a virtual machine. Prints medians over interleaved
//! rounds; only the ratios mean anything.
//!
//! Not measured: PHP's side of a call, other clients, the network.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use rate_limit::clock;
use rate_limit::core::limit::Algorithm;
use rate_limit::core::time::{Micros, SECOND};
use rate_limit::store::Store;
use rate_limit::store::redis::{
    COUNTER, ClockMode, LOG_SORTED_SET, Layout, Naming, Options, RedisStore, Script, connection,
};
use support::redis::{Redis, call};
use support::server::{Admin, PROGRAMS, Server};

const ROUNDS: usize = 41;
const CALLS: u32 = 500;

fn main() {
    let server = Server::redis();
    println!("native call / the same bytes over a bare socket (reach: 1.06)");
    for (name, unix) in [("unix", true), ("TCP", false)] {
        for algorithm in [Algorithm::Log, Algorithm::Counter] {
            let (native, bare, ratio) = against_bare(&server, unix, algorithm);
            println!("{name:5} {algorithm:?} denied: {native:.2} us / {bare:.2} us = {ratio:.3}");
        }
    }
    println!(
        "\nserver time a decision, list / sorted set (reach: 0.75 at 100; 1.10 at 10 and 1000)"
    );
    for limit in [10, 100, 1_000] {
        let mut rounds: Vec<(f64, f64)> = (0..9)
            .map(|_| {
                (
                    server_time(&server, Layout::List, limit),
                    server_time(&server, Layout::SortedSet, limit),
                )
            })
            .collect();
        rounds.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let (list, set) = rounds[9 / 2];
        println!("limit {limit:4}: {list:.2} us / {set:.2} us = {:.3}", list / set);
    }
    println!("\nserver bytes an identity, log as a list (reach: 100 + 11 a call)");
    for program in PROGRAMS {
        let server = Server::start(program, &[]);
        for limit in [10, 100] {
            let bytes = |layout| memory(&server, layout, limit);
            let (list, set) = (bytes(Layout::List), bytes(Layout::SortedSet));
            let reach = 100 + 11 * limit;
            println!("{program}, limit {limit}: list {list}, reach {reach}, sorted set {set}");
        }
    }
}

fn store(server: &Server, unix: bool, layout: Layout) -> Redis {
    let dsn = if unix { server.unix() } else { server.tcp() };
    let naming = Naming { layout, ..Naming::default() };
    RedisStore::new(
        connection(&dsn.endpoint, Options { timeout: SECOND }),
        naming,
        ClockMode::Server,
    )
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn timed(mut one: impl FnMut()) -> f64 {
    let before = clock::steady();
    (0..CALLS).for_each(|_| one());
    (clock::steady() - before) as f64 / f64::from(CALLS)
}

fn against_bare(server: &Server, unix: bool, algorithm: Algorithm) -> (f64, f64, f64) {
    server.admin().say("FLUSHALL");
    let mut store = store(server, unix, Layout::SortedSet);
    let call = call(algorithm, b"0123456789abcdef01234567:trending", 100, 3_600, 1);
    while store.attempt(&call).unwrap().allowed {}
    let now = clock::wall();
    let window = 3_600 * SECOND;
    let id = "0123456789abcdef01234567:trending";
    let bytes = match algorithm {
        Algorithm::Log => command(
            &LOG_SORTED_SET,
            &[format!("rl:log:{id}")],
            &[now, now - window, 100, 3_601_000],
        ),
        Algorithm::Counter => {
            let index = now / window;
            let keys = [index - 1, index].map(|i| format!("rl:cnt:{id}:{i}"));
            command(&COUNTER, &keys, &[window, 100, now % window])
        }
    };
    let mut bare = Bare::connect(server, unix);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let native = timed(|| assert!(!store.attempt(&call).unwrap().allowed));
        rounds.push((native, timed(|| bare.exchange(&bytes))));
    }
    let median_of = |part: fn(&(f64, f64)) -> f64| median(rounds.iter().map(part).collect());
    (median_of(|r| r.0), median_of(|r| r.1), median_of(|r| r.0 / r.1))
}

fn command(script: &Script, keys: &[String], args: &[Micros]) -> Vec<u8> {
    let sha1 = String::from_utf8(script.sha1().to_vec()).unwrap();
    let mut parts = vec!["EVALSHA".to_owned(), sha1, keys.len().to_string()];
    parts.extend_from_slice(keys);
    parts.extend(args.iter().map(Micros::to_string));
    let strings = parts.iter().map(|part| format!("${}\r\n{part}\r\n", part.len()));
    format!("*{}\r\n{}", parts.len(), strings.collect::<String>()).into_bytes()
}

/// The least that an exchange can be: send, wait in the way that is quickest, receive.
enum Bare {
    Unix(UnixStream),
    Tcp(std::net::TcpStream),
}

impl Bare {
    fn connect(server: &Server, unix: bool) -> Self {
        if unix {
            return Self::Unix(UnixStream::connect(server.socket()).unwrap());
        }
        let stream = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self::Tcp(stream)
    }

    fn exchange(&mut self, bytes: &[u8]) {
        let mut reply = [0; 256];
        let received = match self {
            Self::Unix(stream) => {
                use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
                use std::os::fd::AsFd;
                stream.write_all(bytes).unwrap();
                let mut waiting = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
                poll(&mut waiting, PollTimeout::NONE).unwrap();
                stream.read(&mut reply).unwrap()
            }
            Self::Tcp(stream) => {
                stream.write_all(bytes).unwrap();
                stream.read(&mut reply).unwrap()
            }
        };
        assert!(reply[..received].starts_with(b"$"), "{:?}", &reply[..received]);
    }
}

/// Mean microseconds of the script in the server, while a full window slides: each call admits one
/// unit and finds one that has left.
fn server_time(server: &Server, layout: Layout, limit: i64) -> f64 {
    let admin = server.admin();
    admin.say("FLUSHALL");
    let mut store = store(server, true, layout);
    let call = call(Algorithm::Log, b"0123456789abcdef01234567:trending", limit, 1, 1);
    let gap = SECOND / limit as u64;
    let mut now = clock::wall() - 20_000 * gap - SECOND;
    let mut slide = |n| {
        for _ in 0..n {
            now += gap;
            assert!(store.attempt_at(&call, now).unwrap().allowed);
        }
    };
    slide(2 * limit);
    admin.say("CONFIG RESETSTAT");
    slide(3_000);
    per_call(&admin)
}

fn per_call(admin: &Admin) -> f64 {
    let stats = admin.say("INFO commandstats");
    let line = stats.lines().find(|line| line.starts_with("cmdstat_evalsha:")).unwrap();
    let field = line.split(',').find_map(|f| f.strip_prefix("usec_per_call=")).unwrap();
    field.parse().unwrap()
}

/// What `limit` calls of one identity add to the server's memory, its share of the table included.
fn memory(server: &Server, layout: Layout, limit: i64) -> i64 {
    const IDENTITIES: i64 = 4_096;
    let admin = server.admin();
    admin.say("FLUSHALL SYNC");
    let used = || -> i64 {
        let info = admin.say("INFO memory");
        info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap().parse().unwrap()
    };
    let mut store = store(server, true, layout);
    store.peek(&call(Algorithm::Log, b"first", 1, 1, 1)).unwrap();
    let before = used();
    for n in 0..IDENTITIES {
        let identity = format!("0123456789abcdef01{n:06}:trending");
        let call = call(Algorithm::Log, identity.as_bytes(), limit, 3_600, 1);
        for _ in 0..limit {
            store.attempt(&call).unwrap();
        }
    }
    (used() - before) / IDENTITIES
}
