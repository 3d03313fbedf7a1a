//! Shared memory against the corpus and the naive model, and its own promises within one process.
#![cfg(feature = "shm")]

mod support;

use rate_limit::core::time::Micros;
use rate_limit::core::verdict::Verdict;
use rate_limit::store::shm::{Region, RegionConfig, Shm};
use rate_limit::store::{Call, Store, StoreError};
use support::conformance::{self, Timed};

fn region(size: usize) -> &'static Region {
    Box::leak(Box::new(Region::map(&RegionConfig { size, file: None }).unwrap()))
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
