//! Locks for what is more than one word: which stripe is held, and what its last holder left.

use std::sync::atomic::Ordering::{Relaxed, Release};

use super::layout::Stripe;
use super::lines::Lines;
use super::segment::Held;
use crate::store::StoreError;

/// All stripes.
#[derive(Clone, Copy)]
pub(super) struct Stripes<'a>(pub &'a [Stripe]);

/// A stripe that is held until this is dropped.
pub(super) struct Holding<'a> {
    pub stripe: &'a Stripe,
    _held: Held<'a>,
}

impl<'a> Stripes<'a> {
    /// Takes a stripe, waiting a bounded time.
    pub fn hold(self, number: usize, pool: Lines<'_>) -> Result<Holding<'a>, StoreError> {
        let stripe = &self.0[number];
        let held =
            stripe.lock.lock().map_err(|e| StoreError::Busy { after_ms: e.after / 1_000 })?;
        Ok(Holding::new(stripe, held, pool))
    }

    /// Takes a stripe that nobody holds.
    pub fn try_hold(self, number: usize, pool: Lines<'_>) -> Option<Holding<'a>> {
        let stripe = &self.0[number];
        Some(Holding::new(stripe, stripe.lock.try_lock().ok()?, pool))
    }
}

impl<'a> Holding<'a> {
    /// Puts right what a holder left that died.
    fn new(stripe: &'a Stripe, mut held: Held<'a>, pool: Lines<'_>) -> Self {
        if held.orphaned {
            if let Some(slot) = stripe.slot.load(Relaxed).checked_sub(1) {
                pool.free_garbage(slot);
            }
            stripe.slot.store(0, Relaxed); // the lock's hand-over publishes it
            held.repaired();
        }
        Self { stripe, _held: held }
    }

    /// Says which log slot is being changed, for whoever comes after a crash.
    pub fn changing(&self, slot: u32) {
        self.stripe.slot.store(slot + 1, Relaxed); // before the AcqRel with which lines are claimed
    }
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        // Release: not before the frees that it covers.
        self.stripe.slot.store(0, Release);
    }
}
