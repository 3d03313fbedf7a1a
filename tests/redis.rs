//! What the Redis store decides and writes, on real servers: Lua against the corpus, against the
//! model and against core.
#![cfg(feature = "redis")]

mod support;

use std::cell::{Cell, RefCell};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rate_limit::core::counter::{self, Counts};
use rate_limit::core::identity::Key;
use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::time::{DAY, Micros, SECOND};
use rate_limit::store::redis::{ClockMode, Layout, Naming, Options, RedisStore, connection};
use rate_limit::store::{Call, Store, StoreError};
use support::conformance::{self, Timed};
use support::midnight;
use support::redis::{TIMEOUT, call, everywhere, store};
use support::server::{Admin, Server};

const BOTH: [Algorithm; 2] = [Algorithm::Log, Algorithm::Counter];
/// The start of a window of 10 s and of 60 s, in the past of any server.
const THEN: Micros = 1_790_000_040 * SECOND;

#[test]
fn lua_decides_as_the_corpus_says() {
    everywhere(|store, _| conformance::decides_as_the_corpus_says(store));
}

/// The longest of those sequences stays below 2^53 microseconds, which is where Lua ends.
#[test]
fn lua_decides_as_the_naive_model() {
    everywhere(|store, _| {
        conformance::decides_as_the_naive_model(store, 150, 0..3_000_000_000 * SECOND);
    });
}

/// The identities of two days lie in different slots of a Cluster, so that there, too, each is asked
/// by itself.
#[test]
fn lua_knows_a_client_over_midnight() {
    everywhere(|store, _| midnight::decides_as_one_unbroken_identity(store, 100, 20_000));
}

#[test]
fn the_first_key_that_is_offered_for_a_day_holds_until_it_is_of_no_more_use() {
    everywhere(|store, server| {
        let (day, admin) = (20_000, server.admin());
        let noon = Micros::from(day) * DAY + DAY / 2;
        let mut salt = |byte: u8, now| store.store.salt(day, &Key::new([byte; 32]), now).unwrap();
        assert_eq!(*salt(0xff, noon), [0xff; 32], "all bits of all words");
        assert_eq!(*salt(2, noon), [0xff; 32]);
        let left = admin.number("PTTL rl:salt:2024-10-04") as u64 * 1_000;
        let expected = DAY / 2 + 4 * DAY + SECOND;
        assert!(left <= expected && expected - left < 5 * SECOND, "{left}");
        admin.say("DEL rl:salt:2024-10-04");
        assert_eq!(*salt(2, noon), [2; 32]);
        // A host whose clock is years ahead asks for nothing that stays.
        admin.say("DEL rl:salt:2024-10-04");
        salt(3, Micros::MAX >> 1);
        assert!(admin.number("PTTL rl:salt:2024-10-04") <= 1_000);

        admin.say("SET rl:salt:2024-10-04 short");
        let error = store.store.salt(day, &Key::new([4; 32]), noon).unwrap_err();
        assert!(matches!(error, StoreError::Key { .. }), "{error}");
    });
}

#[test]
fn ten_calls_in_one_microsecond_are_ten_entries() {
    everywhere(|store, _| {
        let call = call(Algorithm::Log, b"burst", 10, 10, 1);
        for n in (0..10).rev() {
            let verdict = store.attempt_at(&call, THEN).unwrap();
            assert_eq!((verdict.allowed, verdict.remaining), (true, n));
        }
        assert!(!store.attempt_at(&call, THEN).unwrap().allowed);
    });
}

/// Also where two calls' members would begin with the same digits.
#[test]
fn every_unit_is_an_entry_of_its_own() {
    everywhere(|store, _| {
        let same_digits = THEN + 8_388_608;
        for (at, cost, remaining) in
            [(THEN, 1_000, 4_000), (THEN, 3, 3_997), (same_digits, 1_000, 2_997), (THEN, 1, 2_996)]
        {
            let call = call(Algorithm::Log, b"units", 5_000, 60, cost);
            assert_eq!(store.attempt_at(&call, at).unwrap().remaining, remaining);
        }
    });
}

#[test]
fn a_call_that_was_overtaken_is_decided_in_the_new_window() {
    everywhere(|store, server| {
        let call = call(Algorithm::Counter, b"late", 10, 60, 3);
        store.attempt_at(&call, THEN - 2 * SECOND).unwrap();
        store.attempt_at(&call, THEN).unwrap();
        let late = store.attempt_at(&call, THEN - SECOND).unwrap();
        assert_eq!((late.allowed, late.remaining), (true, 1)); // 3 + 3 + floor(3 * 60 / 60)
        // From the new window's start: its 6 units weigh 1 until 10 s before the end of the next.
        assert_eq!(late.reset_after, 110 * SECOND + 1);
        let admin = server.admin();
        let index = THEN / (60 * SECOND);
        assert_eq!(admin.say(&format!("GET rl:cnt:late:{index}")), "$1\r\n6\r\n");
        assert_eq!(admin.say(&format!("GET rl:cnt:late:{}", index - 1)), "$1\r\n3\r\n");
    });
}

/// Any counts that a key can hold, where a double would round and where it would not.
#[test]
fn lua_divides_as_exactly_as_core() {
    everywhere(|store, server| {
        let admin = server.admin();
        let numbers = (
            prop_oneof![0..=1_i64 << 31, 0..=1_i64 << 53],
            prop_oneof![0..100_i64, 0..=1_i64 << 31],
            prop_oneof![1..100_i64, Just(31_536_000)],
            (0..=i64::from(i32::MAX), 1..50_i64),
            0.0..1.0_f64,
        );
        let store = RefCell::new(store);
        TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() })
            .run(&numbers, |(prev, curr, seconds, (max, cost), part)| {
                let (limit, cost) = (
                    Limit::new(max, seconds).unwrap(),
                    Cost::new(cost, Algorithm::Counter).unwrap(),
                );
                let elapsed = (limit.window() as f64 * part) as Micros;
                let (index, now) = (9, 9 * limit.window() + elapsed);
                admin.say("FLUSHALL");
                admin.say(&format!("SET rl:cnt:n:{} {prev}", index - 1));
                admin.say(&format!("SET rl:cnt:n:{index} {curr}"));
                let call = Call {
                    algorithm: Algorithm::Counter,
                    identity: b"n",
                    earlier: &[],
                    limit,
                    cost,
                };
                let counts = Counts { curr: curr as u64, prev: prev as u64 };
                let expected = counter::attempt(counts, limit, cost, elapsed);
                let verdict = store.borrow_mut().attempt_at(&call, now).unwrap();
                prop_assert_eq!(verdict, expected);
                Ok(())
            })
            .unwrap();
    });
}

#[test]
fn keys_are_named_as_the_userland_classes_name_them() {
    let server = Server::redis();
    let admin = server.admin();
    let name = |cluster, layout, algorithm, identity: &[u8]| {
        let naming = Naming { prefix: b"app:".to_vec(), cluster, layout };
        let transport = connection(&server.unix().endpoint, Options { timeout: TIMEOUT });
        let mut store = RedisStore::new(transport, naming, ClockMode::Server);
        let call = call(algorithm, identity, 5, 60, 1);
        store.peek(&call).unwrap();
        assert!(admin.keys().is_empty(), "peek wrote a key");
        store.attempt_at(&call, THEN).unwrap();
        let keys = admin.keys();
        store.reset_at(&call, THEN).unwrap();
        assert!(admin.keys().is_empty(), "reset left a key");
        let [key] = &keys[..] else { panic!("{keys:?}") };
        key.clone()
    };
    let (set, list) = (Layout::SortedSet, Layout::List);
    let index = THEN / (60 * SECOND);
    let (plain, long) = ([b'x'; 512], [b'x'; 513]);
    let sha = "35ade0090e64e74d6ad04204009c23a4e34b82bdf0f4f317fbcc5f26f9b10241";
    let x = "x".repeat(512);
    for (cluster, layout, identity, expected) in [
        (false, set, &b"a b{c}"[..], "rl:log:a b{c}"),
        (true, set, b"", "rl:log:"),
        (false, list, b"a", "rl:list:a"),
        (false, set, &plain, &format!("rl:log:{x}")),
        (false, set, &long, &format!("rl:logh:{sha}")),
        (false, list, &long, &format!("rl:listh:{sha}")),
    ] {
        let key = name(cluster, layout, Algorithm::Log, identity);
        assert_eq!(key, format!("app:{expected}"));
    }
    for (cluster, identity, expected) in [
        (false, &b"a:b"[..], "rl:cnt:a:b"),
        (false, b"", "rl:cnt:"),
        (false, &long, &format!("rl:cnth:{sha}")),
        (true, b"a{b}c", "rl:cnt:{0c81d082effbfc200f529870c4baa760}"),
    ] {
        let key = name(cluster, set, Algorithm::Counter, identity);
        assert_eq!(key, format!("app:{expected}:{index}"));
    }
}

/// After an admission, after a denial that found one without, and never after a peek.
#[test]
fn every_key_has_a_time_to_live() {
    everywhere(|store, server| {
        let admin = server.admin();
        for algorithm in BOTH {
            admin.say("FLUSHALL");
            let big = call(algorithm, b"ttl", 40, 60, 33);
            store.attempt_at(&big, THEN).unwrap();
            let [key] = &admin.keys()[..] else { panic!() };
            let within = |admin: &Admin, why| {
                let ttl = admin.number(&format!("PTTL {key}"));
                assert!((60_000..=121_000).contains(&ttl), "{algorithm:?} {why}: {ttl} ms");
            };
            within(&admin, "first call");
            admin.say(&format!("PERSIST {key}"));
            store.peek_at(&big, THEN).unwrap();
            assert_eq!(admin.number(&format!("PTTL {key}")), -1, "peek writes nothing");
            assert!(!store.attempt_at(&big, THEN).unwrap().allowed);
            within(&admin, "denied");
            admin.say(&format!("PERSIST {key}"));
            store.attempt_at(&call(algorithm, b"ttl", 40, 60, 1), THEN).unwrap();
            within(&admin, "admitted");
            if algorithm == Algorithm::Counter {
                let later = THEN + 119 * SECOND;
                let next = call(algorithm, b"ttl", 40, 60, 1);
                admin.say(&format!("PERSIST {key}"));
                store.attempt_at(&next, later).unwrap();
                let ttl = || admin.number(&format!("PTTL {key}"));
                assert!((1_000..=2_000).contains(&ttl()), "the first call one window later");
                admin.say(&format!("PERSIST {key}"));
                for _ in 0..16 {
                    store.attempt_at(&next, later).unwrap();
                }
                assert!((1_000..=2_000).contains(&ttl()), "one of sixteen calls");
                admin.keys().iter().for_each(|key| drop(admin.say(&format!("PERSIST {key}"))));
                store.attempt_at(&next, later).unwrap();
                assert!((1_000..=2_000).contains(&ttl()), "neither had one");
            }
        }
    });
}

#[test]
fn a_denied_call_and_a_peek_change_no_state() {
    everywhere(|store, server| {
        let admin = server.admin();
        for algorithm in BOTH {
            admin.say("FLUSHALL");
            let (fits, too_much) =
                (call(algorithm, b"a", 10, 60, 8), call(algorithm, b"a", 10, 60, 5));
            store.attempt_at(&fits, THEN).unwrap();
            let [key] = &admin.keys()[..] else { panic!() };
            let before = admin.ask(&[b"DUMP", key.as_bytes()]);
            for at in [THEN, THEN + SECOND, THEN + 2 * SECOND] {
                assert!(!store.attempt_at(&too_much, at).unwrap().allowed);
                assert!(!store.peek_at(&too_much, at).unwrap().allowed);
                assert!(store.peek_at(&call(algorithm, b"a", 10, 60, 1), at).unwrap().allowed);
            }
            assert_eq!(admin.ask(&[b"DUMP", key.as_bytes()]), before);
            assert_eq!(admin.keys().len(), 1);
        }
    });
}

/// What left the window is deleted by the next admission, unless the server's clock says that it
/// still counts for others.
#[test]
fn a_caller_that_is_ahead_deletes_nothing_that_counts_for_others() {
    everywhere(|store, server| {
        let admin = server.admin();
        let call = call(Algorithm::Log, b"skew", 10, 60, 1);
        let length = |admin: &Admin| {
            let [key] = &admin.keys()[..] else { panic!() };
            let command = if key.contains("list") { "LLEN" } else { "ZCARD" };
            admin.number(&format!("{command} {key}"))
        };
        for at in [THEN, THEN + 61 * SECOND] {
            store.attempt_at(&call, at).unwrap();
        }
        assert_eq!(length(&admin), 1, "the first has left the window");

        admin.say("FLUSHALL");
        let now = rate_limit::clock::wall();
        for at in [now, now + 61 * SECOND] {
            assert_eq!(store.attempt_at(&call, at).unwrap().remaining, 9);
        }
        assert_eq!(length(&admin), 2, "the first still counts for everybody else");
        assert_eq!(store.attempt_at(&call, now + SECOND).unwrap().remaining, 7);
    });
}

/// Clocks that step either way, trimming included.
fn list_and_sorted_set_decide_alike(sequences: u32) {
    let server = Server::redis();
    let set = store(&server.unix(), Layout::SortedSet);
    let list = store(&server.unix(), Layout::List);
    let step = prop_oneof![Just(0), Just(1), -1_100_000..2_000_000_i64, 0..300_000_i64];
    let calls =
        prop::collection::vec((0..12_i64, 1..7_i64, step, prop::bool::weighted(0.9)), 1..25);
    let starts = prop_oneof![Just(THEN as i64), Just(rate_limit::clock::wall() as i64)];
    let config = Config { cases: sequences, failure_persistence: None, ..Config::default() };
    let (set, list, count) = (RefCell::new(set), RefCell::new(list), Cell::new(0_u64));
    TestRunner::new(config)
        .run(&(starts, calls), |(start, calls)| {
            count.set(count.get() + 1);
            let identity = format!("sequence {}", count.get());
            let mut now = start;
            for (limit, cost, step, record) in calls {
                now += step;
                let call = call(Algorithm::Log, identity.as_bytes(), limit, 1, cost);
                let (mut set, mut list) = (set.borrow_mut(), list.borrow_mut());
                let decide = |store: &mut support::redis::Redis| {
                    if record {
                        store.attempt_at(&call, now as u64)
                    } else {
                        store.peek_at(&call, now as u64)
                    }
                };
                prop_assert_eq!(decide(&mut list).unwrap(), decide(&mut set).unwrap());
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn list_and_sorted_set_decide_alike_whatever_the_clocks_say() {
    list_and_sorted_set_decide_alike(1_000);
}

#[test]
#[ignore = "needs a minute or two"]
fn list_and_sorted_set_decide_alike_on_100_000_sequences() {
    list_and_sorted_set_decide_alike(100_000);
}

#[test]
fn a_key_of_another_type_is_that_keys_error_alone() {
    everywhere(|store, server| {
        let admin = server.admin();
        let index = THEN / (60 * SECOND);
        for (key, value) in [
            ("rl:log:bad".to_owned(), "text"),
            ("rl:list:bad".to_owned(), "text"),
            (format!("rl:cnt:bad:{index}"), "text"),
            (format!("rl:cnt:bad:{}", index - 1), "-1"),
        ] {
            admin.say(&format!("SET {key} {value}"));
        }
        admin.say(&format!("LPUSH rl:cnt:worse:{} x", index - 1));
        for (algorithm, identity) in [
            (Algorithm::Log, &b"bad"[..]),
            (Algorithm::Counter, b"bad"),
            (Algorithm::Counter, b"worse"),
        ] {
            let error = store.attempt_at(&call(algorithm, identity, 5, 60, 1), THEN).unwrap_err();
            assert!(matches!(error, StoreError::Key { .. }), "{error:?}");
            assert!(!error.concerns_endpoint());
            assert!(store.attempt_at(&call(algorithm, b"good", 5, 60, 1), THEN).unwrap().allowed);
            store.reset(&call(algorithm, b"good", 5, 60, 1)).unwrap();
        }
    });
}

#[test]
fn a_host_whose_clock_is_behind_keeps_a_counter_for_as_long_as_it_needs_it() {
    let server = Server::redis();
    let mut store = store(&server.unix(), Layout::SortedSet);
    let call = call(Algorithm::Counter, b"a", 40, 60, 1);
    let end = (THEN / (60 * SECOND) + 1) * 60 * SECOND;
    store.attempt_at(&call, end - SECOND).unwrap();
    let [key] = &server.admin().keys()[..] else { panic!() };
    let ttl = || server.admin().number(&format!("PTTL {key}"));
    assert!((60_000..=62_000).contains(&ttl()));
    store.attempt_at(&call, end - 50 * SECOND).unwrap();
    assert!((109_000..=111_000).contains(&ttl()));
    store.attempt_at(&call, end - SECOND).unwrap();
    assert!((109_000..=111_000).contains(&ttl()), "it lasts as long as any host needs it");
}

#[test]
fn what_is_no_number_in_a_list_is_that_keys_error_alone() {
    let server = Server::redis();
    let mut store = store(&server.unix(), Layout::List);
    let entry = THEN - SECOND;
    for entries in [format!("{entry} abc"), format!("abc {entry}"), "inf".to_owned()] {
        server.admin().say("FLUSHALL");
        server.admin().say(&format!("RPUSH rl:list:bad {entries}"));
        let error = store.attempt_at(&call(Algorithm::Log, b"bad", 5, 60, 1), THEN).unwrap_err();
        assert!(matches!(error, StoreError::Key { .. }), "{error:?}");
    }
}

#[test]
fn what_lua_reads_as_a_number_is_one() {
    let server = Server::redis();
    let (mut store, admin) = (store(&server.unix(), Layout::SortedSet), server.admin());
    let index = THEN / (60 * SECOND);
    for (before, units) in [("1e1", 10), ("+7", 7), ("7.0", 7), ("-0", 0)] {
        admin.say(&format!("SET rl:cnt:a:{} {before}", index - 1));
        let verdict = store.attempt_at(&call(Algorithm::Counter, b"a", 40, 60, 1), THEN).unwrap();
        assert_eq!(verdict.remaining, 40 - units - 1, "{before}");
        admin.say("FLUSHALL");
    }
    let late = [
        &b"ZADD"[..],
        b"rl:log:a",
        &[(THEN - SECOND).to_string().as_bytes(), b".5"].concat(),
        b"m",
    ];
    admin.ask(&late);
    let log = call(Algorithm::Log, b"a", 40, 60, 1);
    assert_eq!(store.attempt_at(&log, THEN).unwrap().replenish_after, 59 * SECOND);
}

#[test]
fn fifty_threads_at_once_get_exactly_the_limit() {
    let server = Server::redis();
    for (algorithm, layout) in [
        (Algorithm::Log, Layout::SortedSet),
        (Algorithm::Log, Layout::List),
        (Algorithm::Counter, Layout::SortedSet),
    ] {
        let dsn = server.unix();
        let worker = || {
            let mut store = store(&dsn, layout);
            let call = call(algorithm, b"race", 10, 3_600, 1);
            (0..5).filter(|_| store.attempt(&call).unwrap().allowed).count()
        };
        let admitted: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..50).map(|_| scope.spawn(worker)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(admitted, 10, "{algorithm:?} {layout:?}");
    }
}
