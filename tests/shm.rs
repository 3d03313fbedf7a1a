//! Shared memory against the corpus and the naive model, and its own promises within one process.
#![cfg(feature = "shm")]

mod support;

use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::time::{Micros, SECOND};
use rate_limit::core::verdict::Verdict;
use rate_limit::store::shm::{Region, RegionConfig, Shm};
use rate_limit::store::{Call, Store, StoreError};
use support::conformance::{self, Timed};
use support::midnight;

fn region(size: usize) -> &'static Region {
    Box::leak(Box::new(Region::map(&RegionConfig { size, file: None }).unwrap()))
}

/// The start of a minute, 1 December 2026.
const START: Micros = 1_796_083_200 * SECOND;

fn call(algorithm: Algorithm, identity: &[u8], max: i64) -> Call<'_> {
    Call { algorithm, identity, earlier: &[], limit: Limit::new(max, 60).unwrap(), cost: Cost::ONE }
}

struct At(Shm);

impl Timed for At {
    fn attempt_at(&mut self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError> {
        self.0.attempt_at(call, now)
    }

    fn peek_at(&mut self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError> {
        self.0.peek_at(call, now)
    }

    fn reset(&mut self, call: &Call<'_>) -> Result<(), StoreError> {
        Store::reset(&mut self.0, call)
    }
}

#[test]
fn shared_memory_decides_as_the_corpus_says() {
    conformance::decides_as_the_corpus_says(&mut At(region(1 << 20).shm(0)));
}

#[test]
fn shared_memory_decides_as_the_naive_model() {
    conformance::decides_as_the_naive_model(&mut At(region(64 << 20).shm(0)), 500, 0..1 << 51);
}

/// Counters asked in two ways, each in a namespace of its own.
struct Twins {
    asked: Shm,
    glanced: Shm,
    glances: u64,
}

impl Timed for Twins {
    fn attempt_at(&mut self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError> {
        let verdict = self.asked.attempt_at(call, now)?;
        let glance =
            (call.algorithm == Algorithm::Counter).then(|| self.glanced.glance_at(call, now));
        match glance.flatten() {
            Some(glance) => {
                assert_eq!(glance, verdict.into(), "{call:?} at {now}");
                self.glances += 1;
            }
            None => assert_eq!(self.glanced.attempt_at(call, now)?, verdict),
        }
        Ok(verdict)
    }

    fn peek_at(&mut self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError> {
        let verdict = self.asked.peek_at(call, now)?;
        assert_eq!(self.glanced.peek_at(call, now)?, verdict, "{call:?} at {now}");
        Ok(verdict)
    }

    fn reset(&mut self, call: &Call<'_>) -> Result<(), StoreError> {
        Store::reset(&mut self.asked, call)?;
        Store::reset(&mut self.glanced, call)
    }
}

#[test]
fn a_glance_decides_and_records_as_an_attempt_does() {
    let region = region(64 << 20);
    let mut twins = Twins { asked: region.shm(1), glanced: region.shm(2), glances: 0 };
    conformance::decides_as_the_corpus_says(&mut twins);
    conformance::decides_as_the_naive_model(&mut twins, 500, 0..1 << 51);
    assert!(twins.glances > 1_000, "{} glances", twins.glances);
}

#[test]
fn algorithm_window_identity_and_namespace_keep_states_apart() {
    let region = region(1 << 20);
    let (ours, theirs) = (region.shm(1), region.shm(2));
    let calls = || {
        [Algorithm::Log, Algorithm::Counter].into_iter().flat_map(|algorithm| {
            [60, 61].into_iter().flat_map(move |seconds| {
                [&b""[..], b"\0", b"a", b"a\0"].into_iter().map(move |identity| {
                    let limit = Limit::new(1, seconds).unwrap();
                    Call { algorithm, identity, earlier: &[], limit, cost: Cost::ONE }
                })
            })
        })
    };
    for call in calls() {
        assert!(ours.attempt_at(&call, START).unwrap().allowed, "{call:?}");
        assert!(!ours.attempt_at(&call, START).unwrap().allowed, "{call:?}");
    }
    assert!(calls().all(|call| theirs.attempt_at(&call, START).unwrap().allowed));
    let [first, ref others @ ..] = calls().collect::<Vec<_>>()[..] else { unreachable!() };
    Store::reset(&mut ours.clone(), &first).unwrap();
    assert!(ours.peek_at(&first, START).unwrap().allowed);
    assert!(others.iter().all(|call| !ours.peek_at(call, START).unwrap().allowed));
    assert!(!theirs.peek_at(&first, START).unwrap().allowed);
}

#[test]
fn a_call_that_was_overtaken_is_decided_in_the_newer_window() {
    let shm = region(1 << 20).shm(0);
    let late = START - 1;
    for algorithm in [Algorithm::Counter, Algorithm::Log] {
        let call = call(algorithm, b"a", 2);
        assert!(shm.attempt_at(&call, START).unwrap().allowed);
        assert_eq!(shm.attempt_at(&call, late).unwrap().remaining, 0);
        assert!(!shm.attempt_at(&call, late).unwrap().allowed);
        assert!(!shm.attempt_at(&call, START + 1).unwrap().allowed);
    }
}

#[test]
fn a_log_idle_for_nine_years_is_empty() {
    let shm = region(1 << 20).shm(0);
    let call = call(Algorithm::Log, b"a", 1);
    assert!(shm.attempt_at(&call, START).unwrap().allowed);
    for later in [1 << 40, 1 << 48, (1 << 48) + SECOND] {
        assert!(shm.peek_at(&call, START + later).unwrap().allowed, "{later}");
    }
}

#[test]
fn what_a_region_cannot_hold_is_refused_with_the_setting() {
    let error = |size| Region::map(&RegionConfig { size, file: None }).err().unwrap().to_string();
    assert_eq!(
        error(4096),
        "rate_limit.memory_size must be at least 1048576 bytes (1M), 4096 given"
    );
    assert!(error(1 << 60).starts_with("rate_limit.memory_size: cannot map 1152921504606846976"));

    let shm = region(1 << 20).shm(0);
    let most = ((1 << 20) / 4 - 64) / 8;
    assert!(shm.attempt_at(&call(Algorithm::Log, b"a", most), START).unwrap().allowed);
    let too_large = call(Algorithm::Log, b"a", most + 1);
    let error = shm.attempt_at(&too_large, START).unwrap_err();
    assert!(matches!(error, StoreError::LogTooLarge { .. }));
    assert!(error.to_string().contains("rate_limit.memory_size (1048576 bytes)"), "{error}");
    assert!(shm.peek_at(&too_large, START).is_err());
}

#[test]
fn a_log_at_the_largest_limit_fits_and_is_exact() {
    let shm = region(1 << 20).shm(0);
    let limit = ((1 << 20) / 4 - 64) / 8;
    let spend = |units: i64, at| {
        let cost = Cost::new(units, Algorithm::Log).unwrap();
        shm.attempt_at(&Call { cost, ..call(Algorithm::Log, b"a", limit) }, at).unwrap()
    };
    for n in 0..limit / 1_000 {
        assert!(spend(1_000, START + n as u64).allowed);
    }
    assert!(!spend(1_000, START + SECOND).allowed);
    let verdict = spend(limit % 1_000, START + SECOND);
    assert!(verdict.allowed && verdict.remaining == 0);
    assert_eq!(spend(1_000, START + SECOND).retry_after, Some(59 * SECOND));
    assert_eq!(spend(1, START + 60 * SECOND + 4).remaining, 5 * 1_000 - 1);
}

#[test]
fn an_identity_costs_what_was_promised() {
    let region = region(4 << 20);
    let (shm, ids) = (region.shm(0), region.usage().counters.of * 2 / 3 + 1);
    for n in 0..ids {
        shm.attempt_at(&call(Algorithm::Counter, &n.to_le_bytes(), 9), START).unwrap();
    }
    let counters = region.usage();
    assert_eq!((counters.evicted_live, counters.counters.used), (0, ids));
    // Of the counters' own part of the region, empty slots included.
    assert!(counters.counters.of * 32 <= 48 * ids);

    for limit in [100, 1_000, 10_000] {
        let before = region.usage().used_bytes;
        for n in 0..limit {
            let call = call(Algorithm::Log, b"a", limit);
            assert!(shm.attempt_at(&call, START + n as Micros).unwrap().allowed);
        }
        assert!(region.usage().used_bytes - before <= 64 + 8 * limit as u64, "limit {limit}");
        Store::reset(&mut shm.clone(), &call(Algorithm::Log, b"a", limit)).unwrap();
    }
}

#[test]
fn a_table_at_ten_times_its_capacity_answers_every_call() {
    for algorithm in [Algorithm::Counter, Algorithm::Log] {
        let region = region(1 << 20);
        let (shm, usage) = (region.shm(0), region.usage());
        let slots = if algorithm == Algorithm::Counter { usage.counters } else { usage.logs };
        for n in 0..10 * slots.of {
            let identity = n.to_le_bytes();
            let verdict = shm.attempt_at(&call(algorithm, &identity, 5), START + n).unwrap();
            assert_eq!((verdict.allowed, verdict.remaining), (true, 4));
        }
        let usage = region.usage();
        assert!(usage.evicted_live >= 9 * slots.of && usage.evicted_expired == 0, "{usage:?}");
    }
}

#[test]
fn the_expired_go_before_the_living() {
    for algorithm in [Algorithm::Counter, Algorithm::Log] {
        let region = region(1 << 20);
        let (shm, usage) = (region.shm(0), region.usage());
        let slots = if algorithm == Algorithm::Counter { usage.counters } else { usage.logs }.of;
        for n in 0..4 * slots {
            shm.attempt_at(&call(algorithm, &n.to_le_bytes(), 5), START).unwrap();
        }
        let before = region.usage();
        for n in 0..slots / 2 {
            let identity = (1_000_000 + n).to_le_bytes();
            shm.attempt_at(&call(algorithm, &identity, 5), START + 120 * SECOND).unwrap();
        }
        let after = region.usage();
        assert_eq!(after.evicted_live, before.evicted_live);
        assert_eq!(after.evicted_expired - before.evicted_expired, slots / 2);
    }
}

#[test]
fn a_flood_of_fresh_identities_frees_nobody_who_is_exhausted() {
    const EXHAUSTED: u64 = 500;
    for (algorithm, a_second) in [
        (Algorithm::Counter, 300),
        (Algorithm::Counter, 30_000),
        (Algorithm::Log, 300),
        (Algorithm::Log, 30_000),
    ] {
        let region = region(1 << 20);
        let shm = region.shm(0);
        let victim = |n: u64| format!("2001:db8:0:{n:x}::/64");
        for n in 0..EXHAUSTED {
            for _ in 0..10 {
                let identity = victim(n);
                assert!(
                    shm.attempt_at(&call(algorithm, identity.as_bytes(), 10), START)
                        .unwrap()
                        .allowed
                );
            }
        }
        let seconds = if a_second > 1_000 { 2 } else { 50 };
        for n in 0..seconds * a_second {
            let identity = format!("2001:db8:1:{n:x}::/64");
            let now = START + n * SECOND / a_second;
            assert!(
                shm.attempt_at(&call(algorithm, identity.as_bytes(), 10), now).unwrap().allowed
            );
        }
        assert!(region.usage().evicted_live > 0 || a_second < 1_000);
        let now = START + seconds * SECOND;
        for n in 0..EXHAUSTED {
            let identity = victim(n);
            let verdict = shm.peek_at(&call(algorithm, identity.as_bytes(), 10), now).unwrap();
            assert!(!verdict.allowed, "{algorithm:?} at {a_second} a second freed {identity}");
        }
    }
}

#[test]
fn when_everybody_is_exhausted_a_fresh_identity_gets_an_error_and_frees_nobody() {
    for algorithm in [Algorithm::Counter, Algorithm::Log] {
        let region = region(1 << 20);
        let shm = region.shm(0);
        let (mut held, mut refused) = (0, 0);
        for n in 0..20_000_u64 {
            match shm.attempt_at(&call(algorithm, &n.to_le_bytes(), 1), START) {
                Ok(verdict) => held += u64::from(verdict.allowed),
                Err(StoreError::Full) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(refused > 0);
        let usage = region.usage();
        let slots = if algorithm == Algorithm::Counter { usage.counters } else { usage.logs };
        assert_eq!((held, usage.evicted_live), (slots.used, 0));
    }
}

#[test]
fn lines_of_the_least_used_logs_make_room_for_others() {
    let region = region(1 << 20);
    let shm = region.shm(0);
    let spend = |identity: &[u8], max, units| {
        let cost = Cost::new(units, Algorithm::Log).unwrap();
        shm.attempt_at(&Call { cost, ..call(Algorithm::Log, identity, max) }, START)
    };
    for _ in 0..10 {
        assert!(spend(b"exhausted", 10_000, 1_000).unwrap().allowed);
    }
    for n in 0..200_u64 {
        assert!(spend(&n.to_le_bytes(), 30_000, 500).unwrap().allowed, "{n}");
    }
    let usage = region.usage();
    assert!(usage.evicted_live > 0 && usage.lines.used <= usage.lines.of, "{usage:?}");
    assert!(!spend(b"exhausted", 10_000, 1).unwrap().allowed);
}

#[test]
fn shared_memory_knows_a_client_over_midnight() {
    midnight::decides_as_one_unbroken_identity(&mut At(region(64 << 20).shm(0)), 1_000, 20_000);
}
