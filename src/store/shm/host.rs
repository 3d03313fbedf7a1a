//! What this host's workers know about stores elsewhere: where in the region it lies.

use std::hash::Hasher as _;

use super::Shm;
use super::layout::{Breaker, DenyBucket};
use crate::core::time::Micros;
use crate::core::verdict::Verdict;
use crate::store::{Call, Denial, Gate, Host, Ticket};

impl Host for Shm {
    fn denial(&self, scope: u64, call: &Call<'_>, now: Micros) -> Denial {
        let place = self.place(scope, call);
        self.denials(place).find(place, tag(place, call), call.limit.max(), now)
    }

    fn remember(&self, ticket: Ticket, verdict: &Verdict, asked: Micros) {
        self.denials(ticket.place).remember(ticket, verdict, asked);
    }

    fn forget(&self, scope: u64, call: &Call<'_>) {
        self.denials(self.place(scope, call)).forget();
    }

    fn gate(&self, scope: u64, now: Micros, retry_interval: Micros) -> Gate {
        self.breaker(scope).gate(now, retry_interval)
    }

    fn answered(&self, scope: u64) {
        self.breaker(scope).answered();
    }

    fn failed(&self, scope: u64, now: Micros, most: u32, retry_interval: Micros) -> bool {
        self.breaker(scope).failed(now, most, retry_interval)
    }
}

impl Shm {
    /// Where denials of this identity are: a hash of what a reset names, which in Redis is not the
    /// window.
    fn place(&self, scope: u64, call: &Call<'_>) -> u64 {
        let mut hasher = self.hasher;
        hasher.write_u64(scope);
        hasher.write_u64(call.algorithm as u64);
        hasher.hash(call.identity)
    }

    fn denials(&self, place: u64) -> &'static DenyBucket {
        let buckets = &self.region.denials;
        &buckets[((u128::from(place) * buckets.len() as u128) >> 64) as usize]
    }

    fn breaker(&self, scope: u64) -> &'static Breaker {
        Breaker::of(&self.region.header[0].breakers, self.breaker_tag(scope))
    }

    pub(super) fn breaker_tag(&self, scope: u64) -> u64 {
        let mut hasher = self.hasher;
        hasher.write_u64(scope);
        hasher.finish()
    }
}

/// Says which question a denial answers: this identity's, with this limit and window.
fn tag(place: u64, call: &Call<'_>) -> u64 {
    place ^ (u64::from(call.limit.max()) << 32) ^ u64::from(call.limit.window_seconds())
}
