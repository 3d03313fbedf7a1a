//! Shared memory between real processes: forked, killed and stopped.
#![cfg(feature = "shm")]

mod support;

use std::sync::atomic::Ordering::Relaxed;

use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::store::shm::{Region, RegionConfig};
use rate_limit::store::{Call, Store};
use support::forks::{Child, numbers};

/// So long that no test crosses the edge of a window.
const YEAR: i64 = 31_536_000;

fn region(size: usize) -> &'static Region {
    Box::leak(Box::new(Region::map(&RegionConfig { size, file: None }).unwrap()))
}

fn call(algorithm: Algorithm, identity: &[u8], max: i64) -> Call<'_> {
    Call { algorithm, identity, limit: Limit::new(max, YEAR).unwrap(), cost: Cost::ONE }
}

#[test]
fn racing_processes_get_exactly_the_limit() {
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
                            if shm.attempt(&call).unwrap().allowed {
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
