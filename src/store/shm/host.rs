//! What this host's workers know about stores elsewhere: where in the region it lies.
//!
//! The copy of a store's state and the debts to it are states like those of `memory://`, under
//! hashes of their own.

use std::hash::Hasher as _;

use super::layout::{Breaker, DenyBucket};
use super::{Excess, Shm};
use crate::core::limit::Cost;
use crate::core::time::Micros;
use crate::core::verdict::Verdict;
use crate::store::{Call, Denial, Gate, Host, Owed, Store as _, StoreError, Ticket};

/// What a state of a store elsewhere is to this host.
#[derive(Clone, Copy)]
enum Part {
    Copy = 1,
    Debts = 2,
}

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
        for part in [Part::Copy, Part::Debts] {
            // A part that another worker holds for long stays: this host then knows too much.
            let _ = self.part(scope, part).reset(call);
        }
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

    /// Where there is no room, it is as if this host did not know.
    fn admitted(&self, scope: u64, call: &Call<'_>, now: Micros, at: Micros) {
        self.breaker(scope).clock_shows(now, at);
        let own = Call { earlier: &[], ..*call };
        let _ = self.part(scope, Part::Copy).record(&own, at, Excess::Displaces);
    }

    fn time(&self, scope: u64, now: Micros) -> Option<Micros> {
        self.breaker(scope).time(now)
    }

    fn decide(
        &self,
        scope: u64,
        call: &Call<'_>,
        at: Micros,
        record: bool,
    ) -> Result<Verdict, StoreError> {
        let copy = self.part(scope, Part::Copy);
        if record { copy.attempt_at(call, at) } else { copy.peek_at(call, at) }
    }

    /// A debt that there is no room for is forgiven.
    fn owe(&self, scope: u64, call: &Call<'_>, now: Micros, debt: &[Owed]) {
        self.breaker(scope).debts(now + 2 * call.limit.window());
        let debts = self.part(scope, Part::Debts);
        for owed in debt {
            if let Ok(cost) = Cost::new(owed.units as i64, call.algorithm) {
                let _ =
                    debts.record(&Call { cost, earlier: &[], ..*call }, owed.at, Excess::Counts);
            }
        }
    }

    fn take_debt(&self, scope: u64, call: &Call<'_>, into: &mut [Owed]) -> usize {
        self.part(scope, Part::Debts).take(call, into).unwrap_or(0)
    }
}

impl Shm {
    /// A part of what this host knows of the store, as a store.
    fn part(&self, scope: u64, part: Part) -> Self {
        let mut hasher = self.hasher;
        hasher.write_u64(scope);
        hasher.write_u64(part as u64);
        Self { hasher, ..*self }
    }

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
        Breaker::of(&self.region.header[0].breakers, self.tag_of(scope))
    }

    /// A tag in this namespace for what `hash` stands for: hashes of the operator's own names, at which
    /// nobody aims, so that they are only to be spread out. The multiplier is 2^64 divided by the golden
    /// ratio.
    pub(super) fn tag_of(&self, hash: u64) -> u64 {
        let product = (hash ^ self.owner).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (product ^ (product >> 32)).max(1)
    }
}

/// Says which question a denial answers: this identity's, with this limit and window.
fn tag(place: u64, call: &Call<'_>) -> u64 {
    place ^ (u64::from(call.limit.max()) << 32) ^ u64::from(call.limit.window_seconds())
}
