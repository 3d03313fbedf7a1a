//! The connection to Redis on its bad days: servers that stop, close, restart, lie or refuse, and
//! processes that fork. No answer is late, no hit is counted twice.
#![cfg(feature = "redis")]

mod support;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use rate_limit::core::limit::Algorithm;
use rate_limit::core::time::{Micros, SECOND};
use rate_limit::store::redis::{
    ClockMode, Dsn, Known, Layout, Naming, Options, RedisStore, connection,
};
use rate_limit::store::{Call, Store, StoreError};
use rate_limit::{clock, process};
use support::network::{Hanging, Proxy, liar};
use support::redis::{Redis, call, store};
use support::server::{Server, free_port};

const SHORT: Micros = SECOND / 10;

fn hit() -> Call<'static> {
    call(Algorithm::Log, b"a", 1_000, 3_600, 1)
}

fn with(dsn: &Dsn, timeout: Micros, mode: ClockMode) -> Redis {
    let transport = connection(&dsn.endpoint, Options { timeout });
    RedisStore::new(transport, Naming::default(), mode)
}

fn parse(dsn: &str) -> Dsn {
    Dsn::parse(dsn).unwrap()
}

/// Units used of [`hit`]'s budget, as the server's own commands say.
fn counted(server: &Server) -> i64 {
    server.admin().number("ZCARD rl:log:a")
}

/// What a call gave and how long it took, at most a tenth above the timeout and what a busy machine
/// adds.
fn in_time(store: &mut Redis) -> StoreError {
    let before = clock::steady();
    let error = store.attempt(&hit()).unwrap_err();
    let took = clock::steady() - before;
    assert!(took <= SHORT + SHORT / 10 + 50_000, "took {took} us");
    error
}

#[test]
fn an_idle_connection_that_the_server_closed_is_no_failure() {
    let server = Server::with(&["--timeout", "1"]);
    for dsn in [server.unix(), server.tcp()] {
        let mut store = store(&dsn, Layout::SortedSet);
        for _ in 0..50 {
            store.attempt(&hit()).unwrap();
            server.admin().say("CLIENT KILL TYPE normal");
        }
        store.attempt(&hit()).unwrap();
        std::thread::sleep(Duration::from_millis(2_500));
        assert_eq!(server.admin().say("CLIENT LIST").matches(" addr=").count(), 1, "closed");
        store.attempt(&hit()).unwrap();
    }
    assert_eq!(counted(&server), 2 * 52);
}

#[test]
fn one_connection_serves_all_limiters_of_a_thread() {
    let server = Server::redis();
    for _ in 0..20 {
        store(&server.tcp(), Layout::SortedSet).attempt(&hit()).unwrap();
        store(&server.tcp(), Layout::List).attempt(&hit()).unwrap();
    }
    assert_eq!(server.admin().say("CLIENT LIST").matches(" addr=").count(), 2, "ours and this one");
}

#[test]
fn a_flushed_script_is_loaded_again_and_counted_once() {
    let server = Server::redis();
    let mut store = store(&server.unix(), Layout::SortedSet);
    for n in 1..=3 {
        server.admin().say("SCRIPT FLUSH");
        store.attempt(&hit()).unwrap();
        assert_eq!(counted(&server), n);
    }
}

#[test]
fn a_restarted_server_is_found_again_after_one_failure_at_most() {
    let mut server = Server::redis();
    let mut store = store(&server.unix(), Layout::SortedSet);
    store.attempt(&hit()).unwrap();
    server.restart();
    store.attempt(&hit()).unwrap();
    assert_eq!(counted(&server), 1, "the state is gone, the script loaded, the hit counted");
}

#[test]
fn a_reply_that_was_lost_is_an_error_and_counted_once() {
    let server = Server::redis();
    let proxy = Proxy::to(server.socket());
    let mut store =
        with(&parse(&format!("redis://127.0.0.1:{}", proxy.port)), SECOND, ClockMode::Host);
    store.attempt(&hit()).unwrap();
    proxy.cut_next_reply();
    let error = store.attempt(&hit()).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    assert_eq!(counted(&server), 2);
    store.attempt(&hit()).unwrap();
    assert_eq!(counted(&server), 3);
}

#[test]
fn a_stopped_server_is_answered_for_in_time_and_counts_nothing_twice() {
    let server = Server::redis();
    for (n, dsn) in [server.unix(), server.tcp()].iter().enumerate() {
        let mut store = with(dsn, SHORT, ClockMode::Server);
        store.attempt(&hit()).unwrap();
        server.pause();
        for _ in 0..3 {
            assert!(matches!(in_time(&mut store), StoreError::Timeout { after_ms: 100, .. }));
        }
        server.resume();
        store.attempt(&hit()).unwrap();
        // The first of the three was sent; the others could not even ask for the time.
        assert_eq!(counted(&server), 3 * (n as i64 + 1));
    }
}

#[test]
fn a_host_that_drops_packets_is_answered_for_in_time() {
    let hanging = Hanging::new();
    let mut store =
        with(&parse(&format!("redis://127.0.0.1:{}", hanging.port)), SHORT, ClockMode::Server);
    assert!(matches!(in_time(&mut store), StoreError::Timeout { .. }));
}

#[test]
fn where_nothing_listens_the_answer_is_immediate_and_names_the_address() {
    for dsn in [
        format!("redis://:secret@127.0.0.1:{}", free_port()),
        "redis+unix://user:secret@/nowhere/socket".to_owned(),
    ] {
        let error = in_time(&mut with(&parse(&dsn), SHORT, ClockMode::Server));
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("127.0.0.1") || text.contains("/nowhere/socket"), "{text}");
        assert!(!text.contains("secret") && !text.contains("user"), "{text}");
    }
}

#[test]
fn what_is_no_reply_to_the_script_is_an_error_and_ends_the_connection() {
    for pieces in [
        vec![&b"+PONG\r\n"[..]],
        vec![b"*4\r\n:1\r\n:0\r\n:0\r\n:0\r\n"],
        vec![b"*5\r\n:1\r\n:0\r\n:0\r\n:0\r\n$1\r\nx\r\n"],
        vec![b"*5\r\n:1\r\n:0\r\n:0\r\n:0\r\n:0\r\n:7\r\n"],
        vec![b"$999999999\r\n"],
        vec![b"*999999999\r\n"],
        vec![b"HTTP/1.1 400 Bad Request\r\n"],
        vec![b"\0\0\0\0"],
    ] {
        let port = liar(pieces.clone());
        let mut store = with(&parse(&format!("redis://127.0.0.1:{port}")), SECOND, ClockMode::Host);
        for _ in 0..2 {
            let error = store.attempt(&hit()).unwrap_err();
            assert!(matches!(error, StoreError::Protocol { .. }), "{pieces:?}: {error:?}");
        }
    }
    let port = liar(vec![b"*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n"]);
    let mut store = with(&parse(&format!("redis://127.0.0.1:{port}")), SECOND, ClockMode::Host);
    let denied_without_reason = store.attempt(&hit());
    assert!(matches!(denied_without_reason, Err(StoreError::Protocol { .. })));
    // In pieces it is a reply like any other; cut short it is a broken connection.
    let port = liar(vec![b"*5\r\n:1\r\n:", b"0\r\n:0\r\n:0\r", b"\n:0\r\n"]);
    let mut store = with(&parse(&format!("redis://127.0.0.1:{port}")), SECOND, ClockMode::Host);
    assert!(store.attempt(&hit()).unwrap().allowed);
    let port = liar(vec![b"*5\r\n:1\r\n:"]);
    let mut store = with(&parse(&format!("redis://127.0.0.1:{port}")), SECOND, ClockMode::Host);
    assert!(matches!(store.attempt(&hit()), Err(StoreError::Unavailable { .. })));
}

#[test]
fn users_passwords_and_databases_are_those_of_the_dsn() {
    let server = Server::with(&["--requirepass", "p@ss"]);
    let admin = server.admin();
    admin.say("AUTH p@ss");
    admin.say("ACL SETUSER app on >word ~rl:* +@all -time");
    let at = |credentials: &str, rest: &str| {
        parse(&format!("redis://{credentials}127.0.0.1:{}{rest}", server.port))
    };
    let mut store = with(&at(":p%40ss@", "/3"), SECOND, ClockMode::Server);
    store.attempt(&hit()).unwrap();
    assert!(matches!(store.clock(), Known::Distance(_)));
    admin.say("SELECT 3");
    assert_eq!(admin.keys(), ["rl:log:a"]);

    let mut store = with(&at("app:word@", ""), SECOND, ClockMode::Server);
    store.attempt(&hit()).unwrap();
    assert_eq!(store.clock(), Known::Refused);
    // Without the server's clock, what left the window is kept for one more.
    admin.say("SELECT 0");
    let call = call(Algorithm::Log, b"b", 10, 60, 1);
    for (minute, entries) in [(0, 1), (1, 2), (2, 2), (9, 1)] {
        let verdict = store.attempt_at(&call, (1_000 + minute) * 60 * SECOND).unwrap();
        assert_eq!((verdict.remaining, admin.number("ZCARD rl:log:b")), (9, entries));
    }

    for (credentials, database, code) in [
        ("", "", "NOAUTH"),
        (":no@", "", "WRONGPASS"),
        ("app:no@", "", "WRONGPASS"),
        (":p%40ss@", "/99", "ERR"),
    ] {
        let error = with(&at(credentials, database), SECOND, ClockMode::Server)
            .attempt(&hit())
            .unwrap_err();
        assert!(
            matches!(&error, StoreError::Server { message, .. } if message.starts_with(code)),
            "{error:?}"
        );
    }
}

/// A server that does not know `AUTH` quotes what it was sent.
#[test]
fn no_error_quotes_a_credential() {
    let server = Server::with(&["--rename-command", "AUTH", ""]);
    let dsn = parse(&format!("redis://someone:secret@127.0.0.1:{}", server.port));
    let error = with(&dsn, SECOND, ClockMode::Server).attempt(&hit()).unwrap_err();
    assert!(matches!(error, StoreError::Server { .. }), "{error:?}");
    for text in [error.to_string(), format!("{error:?}"), format!("{dsn:?}")] {
        assert!(!text.contains("secret") && !text.contains("someone"), "{text}");
    }
}

#[test]
fn a_server_that_cannot_write_is_broken_and_not_a_denial() {
    let server = Server::redis();
    let admin = server.admin();
    let mut store = with(&server.unix(), SECOND, ClockMode::Server);
    for (before, after, code) in [
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY"),
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OOM"),
    ] {
        store.attempt(&hit()).unwrap();
        admin.say(before);
        let error = store.attempt(&hit()).unwrap_err();
        assert!(
            matches!(&error, StoreError::Server { message, .. } if message.contains(code)),
            "{error:?}"
        );
        admin.say(after);
    }
    store.attempt(&hit()).unwrap();
}

#[test]
fn a_server_that_runs_somebody_elses_endless_script_is_broken() {
    let server = Server::with(&["--busy-reply-threshold", "20"]);
    let admin = server.admin();
    let mut store = with(&server.unix(), SECOND, ClockMode::Server);
    store.attempt(&hit()).unwrap();
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| server.admin().ask(&[b"EVAL", b"while true do end", b"0"]));
        std::thread::sleep(Duration::from_millis(200));
        let answer = store.attempt(&hit());
        admin.send("SCRIPT KILL");
        answer
    });
    let busy = |message: &str| message.starts_with("BUSY");
    assert!(
        matches!(&answer, Err(StoreError::Server { message, .. }) if busy(message)),
        "{answer:?}"
    );
    store.attempt(&hit()).unwrap();
}

#[test]
fn a_fork_shares_the_budget_and_no_connection() {
    // SAFETY: the handler only adds to an atomic.
    unsafe { libc::pthread_atfork(None, None, Some(child)) };
    extern "C" fn child() {
        process::forked();
    }
    let server = Server::redis();
    for dsn in [server.unix(), server.tcp()] {
        server.admin().say("FLUSHALL");
        let mut store = with(&dsn, 5 * SECOND, ClockMode::Server);
        store.attempt(&hit()).unwrap();
        let hundred = |store: &mut Redis| (0..100).all(|_| store.attempt(&hit()).is_ok());
        // SAFETY: the child uses what the parent has initialised and leaves by _exit.
        let id = unsafe { libc::fork() };
        if id == 0 {
            let ended = i32::from(!hundred(&mut store));
            // SAFETY: ends the child without the parent's exit handlers.
            unsafe { libc::_exit(ended) };
        }
        assert!(hundred(&mut store));
        let mut status = -1;
        // SAFETY: `id` is this process's child, and `status` outlives the call.
        unsafe { libc::waitpid(id, &raw mut status, 0) };
        assert_eq!(status, 0, "the child failed");
        assert_eq!(counted(&server), 201);
    }
}

/// LiteSpeed runs request shutdown, and so applications' code, inside a signal handler.
#[test]
fn a_call_inside_a_signal_handler_crosses_no_replies() {
    static DSN: OnceLock<Dsn> = OnceLock::new();
    static INNER: AtomicU32 = AtomicU32::new(0);
    extern "C" fn handler(_: i32) {
        let mut store = with(DSN.get().unwrap(), 5 * SECOND, ClockMode::Server);
        INNER.store(store.attempt(&hit()).unwrap().remaining, SeqCst);
    }
    let server = Server::redis();
    let mut store = with(DSN.get_or_init(|| server.unix()), 5 * SECOND, ClockMode::Server);
    store.attempt(&hit()).unwrap();
    // SAFETY: the handler interrupts this thread in poll(2) alone, where it may do anything.
    unsafe { libc::signal(libc::SIGUSR1, handler as extern "C" fn(i32) as libc::sighandler_t) };
    // SAFETY: has no preconditions.
    let this_thread = unsafe { libc::pthread_self() };
    server.pause();
    let outer = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            // SAFETY: the thread waits for this one to end.
            unsafe { libc::pthread_kill(this_thread, libc::SIGUSR1) };
            std::thread::sleep(Duration::from_millis(100));
            server.resume();
        });
        store.attempt(&hit()).unwrap().remaining
    });
    let mut remaining = [outer, INNER.load(SeqCst)];
    remaining.sort();
    assert_eq!(remaining, [997, 998]);
    assert_eq!(store.attempt(&hit()).unwrap().remaining, 996);
    assert_eq!(counted(&server), 4);
}
