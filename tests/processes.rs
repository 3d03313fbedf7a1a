//! Shared memory between real processes: forked, killed and stopped.
#![cfg(feature = "shm")]

mod support;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rate_limit::clock;
use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::store::shm::{Region, RegionConfig, Shm};
use rate_limit::store::{Call, Store, StoreError};
use support::forks::{Child, numbers};

/// The tests take turns: each wants the processors to itself.
fn turn() -> std::sync::MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// So long that no test crosses the edge of a window.
const YEAR: i64 = 31_536_000;

fn region(size: usize) -> &'static Region {
    Box::leak(Box::new(Region::map(&RegionConfig { size, file: None }).unwrap()))
}

fn call(algorithm: Algorithm, identity: &[u8], max: i64) -> Call<'_> {
    Call {
        algorithm,
        identity,
        earlier: &[],
        limit: Limit::new(max, YEAR).unwrap(),
        cost: Cost::ONE,
    }
}

/// Whether a call is admitted, asked until there is an answer: on a machine that is busy with others,
/// whoever holds something may be off the processor for longer than a call waits.
fn admitted(shm: &mut Shm, call: &Call<'_>) -> bool {
    loop {
        match shm.attempt(call) {
            Ok(verdict) => return verdict.allowed,
            Err(StoreError::Busy { .. } | StoreError::Overtaken) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn racing_processes_get_exactly_the_limit() {
    let _turn = turn();
    const LIMIT: u64 = 2_000;
    for algorithm in [Algorithm::Counter, Algorithm::Log] {
        for processes in [2, 4, 8, 16] {
            let (region, admitted) = (region(1 << 20), numbers(1));
            let children: Vec<Child> = (0..processes)
                .map(|_| {
                    Child::run(|| {
                        let mut shm = region.shm(0);
                        for _ in 0..LIMIT {
                            let call = call(algorithm, b"hot", LIMIT as i64);
                            if self::admitted(&mut shm, &call) {
                                admitted[0].fetch_add(1, Relaxed);
                            }
                        }
                    })
                })
                .collect();
            assert!(children.into_iter().all(Child::ended_well));
            assert_eq!(admitted[0].load(Relaxed), LIMIT, "{algorithm:?}, {processes} processes");
        }
    }
}

/// One worker of the kill test: counts what it was admitted on each identity, and the longest that a
/// call took, the processor's absence apart.
fn worker(region: &'static Region, round: u64, admitted: &[AtomicU64], worst: &AtomicU64) {
    let mut shm = region.shm(0);
    loop {
        let before = off_processor();
        for (n, admitted) in admitted.iter().enumerate().chain(admitted.iter().enumerate()) {
            let (identity, algorithm) = subject(round, n);
            let started = clock::monotonic();
            let answer = shm.attempt(&call(algorithm, &identity, KILL_LIMIT));
            let took = clock::monotonic() - started;
            if took > STALL {
                worst.fetch_max(took.saturating_sub(off_processor() - before), Relaxed);
            }
            match answer {
                Ok(verdict) => admitted.fetch_add(u64::from(verdict.allowed), Relaxed),
                // Where the machine is busy with others, the holder may be off the processor for
                // longer than a call waits for it.
                Err(StoreError::Busy { .. } | StoreError::Overtaken) => 0,
                Err(error) => panic!("{error}"),
            };
        }
    }
}

/// The n-th identity of a round, and which algorithm it is limited by.
fn subject(round: u64, n: usize) -> (Vec<u8>, Algorithm) {
    let identity = [round.to_le_bytes(), (n as u64).to_le_bytes()].concat();
    (identity, if n.is_multiple_of(2) { Algorithm::Log } else { Algorithm::Counter })
}

/// How long this thread was ready to run and did not, microseconds.
fn off_processor() -> u64 {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    line.split(' ').nth(1).unwrap().parse::<u64>().unwrap() / 1_000
}

const KILL_LIMIT: i64 = 400;
const STALL: u64 = 20_000;

#[test]
fn workers_killed_at_random_block_nobody_and_add_nothing() {
    let _turn = turn();
    const ROUNDS: u64 = 50;
    const KILLS: u64 = 20;
    const IDENTITIES: usize = 6;
    // Room for all rounds: an eviction would let an identity begin anew, and be no fault.
    let region = region(4 << 20);
    let worst = &numbers(1)[0];
    for round in 0..ROUNDS {
        let admitted = numbers(IDENTITIES);
        let spawn = || Child::run(|| worker(region, round, admitted, worst));
        let mut workers: Vec<Child> = (0..4).map(|_| spawn()).collect();
        for kill in 0..KILLS {
            std::thread::sleep(Duration::from_micros(200 + kill * 97 % 1_000));
            let victim = (kill * 7 % 4) as usize;
            workers[victim] = spawn(); // drops the old one, which kills it
        }
        let settled = |n: &AtomicU64| n.load(Relaxed) >= KILL_LIMIT as u64 - KILLS;
        while !admitted.iter().all(settled) {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(workers);
        for (n, admitted) in admitted.iter().enumerate() {
            let (identity, algorithm) = subject(round, n);
            region.shm(0).attempt(&call(algorithm, &identity, KILL_LIMIT)).unwrap();
            let admitted = admitted.load(Relaxed);
            assert!(admitted <= KILL_LIMIT as u64, "round {round}: {admitted} on {n}");
        }
    }
    assert_eq!(region.usage().evicted_live, 0);
    let worst = worst.load(Relaxed);
    assert!(worst < 50_000, "a call took {worst} microseconds");
}

#[test]
fn lines_of_killed_workers_come_back() {
    let _turn = turn();
    let region = region(1 << 20);
    let mut shm = region.shm(0);
    let cost = Cost::new(1_000, Algorithm::Log).unwrap();
    let identity = |n: u64| n.to_le_bytes();
    for n in 0..200 {
        let worker = Child::run(|| {
            let (mut shm, identity) = (region.shm(0), identity(n % 4));
            let call = Call { cost, ..call(Algorithm::Log, &identity, 1_000) };
            loop {
                shm.reset(&call).unwrap();
                assert!(shm.attempt(&call).unwrap().allowed);
            }
        });
        std::thread::sleep(Duration::from_micros(500 + n * 37 % 500));
        drop(worker); // kills it
    }
    for n in 0..4 {
        shm.reset(&call(Algorithm::Log, &identity(n), 1_000)).unwrap();
    }
    every_line_can_be_had(region);
}

#[test]
fn processes_that_evict_each_others_logs_lose_no_line() {
    let _turn = turn();
    let region = region(1 << 20);
    let children: Vec<Child> = (0..4_u64)
        .map(|worker| {
            Child::run(move || {
                let mut shm = region.shm(0);
                for n in 0..3_000_u64 {
                    let identity = (n * (worker + 7) % IDENTITIES).to_le_bytes();
                    let cost = Cost::new(1 + (n * 37 % 400) as i64, Algorithm::Log).unwrap();
                    let call = Call { cost, ..call(Algorithm::Log, &identity, 1_000) };
                    admitted(&mut shm, &call);
                }
            })
        })
        .collect();
    assert!(children.into_iter().all(Child::ended_well));
    assert!(region.usage().evicted_live > 0);
    let mut shm = region.shm(0);
    for n in 0..IDENTITIES {
        shm.reset(&call(Algorithm::Log, &n.to_le_bytes(), 1_000)).unwrap();
    }
    assert_eq!((region.usage().lines.used, region.usage().logs.used), (0, 0));
    every_line_can_be_had(region);
}

/// More logs than there is room for, at the costs that are asked.
const IDENTITIES: u64 = 3_000;

/// Fills a region that was emptied, to the last line, and finds that nobody was evicted.
fn every_line_can_be_had(region: &'static Region) {
    let (mut shm, before) = (region.shm(0), region.usage());
    let cost = Cost::new(1_000, Algorithm::Log).unwrap();
    let logs = before.lines.of / 100;
    for n in 0..logs {
        let identity = n.to_le_bytes();
        let call = Call { cost, ..call(Algorithm::Log, &identity, 1_000) };
        assert!(shm.attempt(&call).unwrap().allowed, "log {n} of {logs}");
    }
    assert_eq!(region.usage().evicted_live, before.evicted_live);
}

#[test]
fn a_worker_stopped_while_it_holds_something_costs_a_bounded_wait() {
    let _turn = turn();
    let region = region(1 << 20);
    let mut shm = region.shm(0);
    let hot = call(Algorithm::Log, b"hot", 1_000);
    let holder = Child::run(|| {
        let mut shm = region.shm(0);
        loop {
            let _ = shm.attempt(&hot); // Busy, where the other was pushed off the processor
            let _ = shm.reset(&hot);
        }
    });
    let mut busy = 0;
    while busy < 3 {
        holder.signal(libc::SIGSTOP);
        holder.stopped();
        let started = clock::monotonic();
        let answer = shm.attempt(&hot);
        let waited = clock::monotonic() - started;
        if let Err(error) = answer {
            busy += 1;
            assert!(matches!(error, StoreError::Busy { after_ms: 40 }), "{error:?}");
            assert!((40_000..200_000).contains(&waited), "{waited} microseconds");
            // Who was seen before is found without any lock.
            let other = call(Algorithm::Counter, b"hot", 1_000);
            assert!(region.shm(1).attempt(&other).unwrap().allowed);
        }
        holder.signal(libc::SIGCONT);
        std::thread::sleep(Duration::from_micros(50));
    }
    drop(holder); // killed
    assert!(shm.attempt(&hot).is_ok());
}

#[test]
fn every_one_of_a_hundred_races_is_exact() {
    let _turn = turn();
    const LIMIT: i64 = 60;
    for run in 0..100_u64 {
        let processes = [2, 4, 8][run as usize % 3];
        let (region, admitted) = (region(1 << 20), numbers(2));
        let children: Vec<Child> = (0..processes)
            .map(|n| {
                Child::run(move || {
                    let mut shm = region.shm(0);
                    for i in 0..LIMIT {
                        for (algorithm, admitted) in
                            [Algorithm::Counter, Algorithm::Log].into_iter().zip(admitted)
                        {
                            let cost = Cost::new(1 + (i + n) % 3, algorithm).unwrap();
                            let call = Call { cost, ..call(algorithm, b"hot", LIMIT) };
                            if self::admitted(&mut shm, &call) {
                                admitted.fetch_add(cost.units(), Relaxed);
                            }
                        }
                    }
                    for (algorithm, admitted) in
                        [Algorithm::Counter, Algorithm::Log].into_iter().zip(admitted)
                    {
                        while self::admitted(&mut shm, &call(algorithm, b"hot", LIMIT)) {
                            admitted.fetch_add(1, Relaxed);
                        }
                    }
                })
            })
            .collect();
        assert!(children.into_iter().all(Child::ended_well));
        assert!(admitted.iter().all(|n| n.load(Relaxed) == LIMIT as u64), "run {run}");
    }
}
