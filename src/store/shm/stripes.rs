//! Locks for what is more than one word: which stripe is held, and what its last holder left.

use std::cell::Cell;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::layout::Stripe;
use super::lines::Lines;
use super::segment::Held;
use crate::store::StoreError;

thread_local! {
    /// This thread has asked for a stripe and not given it back.
    static TAKEN: Cell<bool> = const { Cell::new(false) };
}

/// The right of a thread to take stripes, given back when dropped.
///
/// A signal handler that comes between a lock's change of hands and the thread's note of it, which
/// the system reads when the thread ends, must take no lock: it would write over the note, and when
/// the process ends in the handler, as LiteSpeed's does, the lock would stay held for good.
struct Turn;

impl Turn {
    fn take() -> Option<Self> {
        (!TAKEN.replace(true)).then(|| Self)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TAKEN.set(false);
    }
}

/// All stripes.
#[derive(Clone, Copy)]
pub(super) struct Stripes<'a>(pub &'a [Stripe]);

/// A stripe that is held until this is dropped.
pub(super) struct Holding<'a> {
    pub stripe: &'a Stripe,
    _held: Held<'a>,
    /// After the lock: fields are dropped in this order. None where another stripe has it.
    _turn: Option<Turn>,
}

impl<'a> Stripes<'a> {
    /// Takes a stripe, waiting a bounded time. Not while this thread has one.
    pub fn hold(self, number: usize, pool: Lines<'_>) -> Result<Holding<'a>, StoreError> {
        let turn = Turn::take();
        if turn.is_none() {
            return Err(StoreError::InUse { endpoint: "memory://".to_owned() });
        }
        let stripe = &self.0[number];
        let held =
            stripe.lock.lock().map_err(|e| StoreError::Busy { after_ms: e.after / 1_000 })?;
        Ok(Holding::new(stripe, held, turn, pool))
    }

    /// Takes a stripe that nobody holds, beside the one that this thread has.
    pub fn try_hold(self, number: usize, pool: Lines<'_>) -> Option<Holding<'a>> {
        let stripe = &self.0[number];
        Some(Holding::new(stripe, stripe.lock.try_lock().ok()?, None, pool))
    }
}

impl<'a> Holding<'a> {
    /// Puts right what a holder left that died.
    fn new(stripe: &'a Stripe, mut held: Held<'a>, turn: Option<Turn>, pool: Lines<'_>) -> Self {
        if held.orphaned {
            if let Some(slot) = stripe.slot.load(Relaxed).checked_sub(1) {
                pool.free_garbage(slot);
            }
            stripe.slot.store(0, Relaxed); // the lock's hand-over publishes it
            held.repaired();
        }
        Self { stripe, _held: held, _turn: turn }
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
