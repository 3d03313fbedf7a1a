//! Shared memory from within signal handlers: LiteSpeed runs PHP's request shutdown in one, which may
//! check a limit while a check is running.
#![cfg(feature = "shm")]

mod support;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::store::shm::{Region, RegionConfig, Shm};
use rate_limit::store::{Call, Store, StoreError};
use support::forks::{Child, numbers};

const LIMIT: i64 = 1_000_000;

static REGION: OnceLock<&'static Region> = OnceLock::new();
static ADMITTED: AtomicU64 = AtomicU64::new(0);
static IN_USE: AtomicU64 = AtomicU64::new(0);

fn shm() -> Shm {
    let map = || Region::map(&RegionConfig { size: 64 << 20, file: None }).unwrap();
    REGION.get_or_init(|| Box::leak(Box::new(map()))).shm(0)
}

fn check(algorithm: Algorithm, identity: &[u8]) -> Result<bool, StoreError> {
    let limit = Limit::new(LIMIT, 31_536_000).unwrap();
    let call = Call { algorithm, identity, earlier: &[], limit, cost: Cost::ONE };
    Ok(shm().attempt(&call)?.allowed)
}

fn count(result: Result<bool, StoreError>) {
    match result {
        Ok(true) => ADMITTED.fetch_add(1, Relaxed),
        Ok(false) => panic!("denied below the limit"),
        Err(StoreError::InUse { .. }) => IN_USE.fetch_add(1, Relaxed),
        Err(error) => panic!("{error}"),
    };
}

/// Checks one log over and over, and runs `handler` on every signal of a timer, 20 000 a second.
fn check_under_signals(handler: extern "C" fn(libc::c_int)) {
    // SAFETY: the handlers below use atomics and shared memory alone.
    unsafe { libc::signal(libc::SIGALRM, handler as *const () as libc::sighandler_t) };
    let every = libc::timeval { tv_sec: 0, tv_usec: 50 };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: reads `timer` alone.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
    for _ in 0..200_000 {
        count(check(Algorithm::Log, b"one"));
    }
    let off = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: off, it_value: off };
    // SAFETY: as above.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

#[test]
fn a_call_that_a_signal_interrupts_may_be_entered_again() {
    extern "C" fn again(_: libc::c_int) {
        count(check(Algorithm::Log, b"one"));
        // Another log, most likely of another stripe, waits for the first one's as well.
        let _ = check(Algorithm::Log, b"two");
        // A counter that is there holds nothing, so that it is always decided.
        assert!(check(Algorithm::Counter, b"one").unwrap());
    }
    let outcome = numbers(3);
    let child = Child::run(|| {
        assert!(check(Algorithm::Counter, b"one").unwrap());
        check_under_signals(again);
        outcome[0].store(ADMITTED.load(Relaxed), Relaxed);
        outcome[1].store(IN_USE.load(Relaxed), Relaxed);
        let limit = Limit::new(LIMIT, 31_536_000).unwrap();
        let call = Call {
            algorithm: Algorithm::Log,
            identity: b"one",
            earlier: &[],
            limit,
            cost: Cost::ONE,
        };
        outcome[2].store(u64::from(shm().peek(&call).unwrap().remaining), Relaxed);
    });
    assert!(child.ended_well());
    let [admitted, in_use, remaining] = std::array::from_fn(|i| outcome[i].load(Relaxed));
    assert!(in_use > 0, "no signal came while a stripe was held");
    assert_eq!(remaining, LIMIT as u64 - admitted);
}
