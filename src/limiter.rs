//! Which answer a caller gets: the store's, or, when the store cannot answer, the one the operator
//! chose beforehand. Owns policy, not mechanism.
#![forbid(unsafe_code)]

use crate::core::limit::{Algorithm, Cost, Limit};
use crate::core::time::Micros;
use crate::core::verdict::{Verdict, can_ever_pass};
use crate::store::{Call, Store, StoreError};

/// What happens when the store cannot answer (`rate_limit.on_failure`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The error goes to the caller.
    Throw,
    /// Everything is allowed.
    Open,
    /// Everything is denied.
    Closed,
    /// The same limit, decided in this host's shared memory.
    Memory,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Redis or Valkey.
    Redis,
    /// This host's shared memory.
    Memory,
    /// A denial that this host remembers.
    DenyCache,
    /// The store could not answer and [`OnFailure::Open`] holds.
    FailOpen,
    /// The store could not answer and [`OnFailure::Closed`] holds.
    FailClosed,
}

/// A verdict and who gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What was decided.
    pub verdict: Verdict,
    /// Who decided.
    pub source: Source,
}

/// One limit on one store. `M` is this host's shared memory, for [`OnFailure::Memory`].
pub struct Limiter<S, M> {
    /// The store that decides.
    pub store: S,
    /// This host's shared memory.
    pub memory: M,
    /// What `store` is called in a verdict.
    pub source: Source,
    /// Log or counter.
    pub algorithm: Algorithm,
    /// The limit and the window.
    pub limit: Limit,
    /// What happens when `store` cannot answer.
    pub on_failure: OnFailure,
    /// How long a failed store is left alone, microseconds (`rate_limit.retry_interval`).
    pub retry_interval: Micros,
}

impl<S: Store, M: Store> Limiter<S, M> {
    /// Decides on `cost` units for `identity`, and records them if they are admitted.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot answer and the policy is [`OnFailure::Throw`], or the
    /// policy is [`OnFailure::Memory`] and shared memory cannot answer either.
    #[inline]
    pub fn attempt(&mut self, identity: &[u8], cost: Cost) -> Result<Decision, StoreError> {
        let call = self.call(identity, cost);
        match self.store.attempt(&call) {
            Ok(verdict) => Ok(Decision { verdict, source: self.source }),
            Err(error) => self.without_store(&call, error, M::attempt),
        }
    }

    /// Decides as [`Self::attempt`] would, and records nothing.
    ///
    /// # Errors
    /// As [`Self::attempt`].
    pub fn peek(&mut self, identity: &[u8], cost: Cost) -> Result<Decision, StoreError> {
        let call = self.call(identity, cost);
        match self.store.peek(&call) {
            Ok(verdict) => Ok(Decision { verdict, source: self.source }),
            Err(error) => self.without_store(&call, error, M::peek),
        }
    }

    /// Forgets what `identity` has used.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot answer, whatever the policy.
    pub fn reset(&mut self, identity: &[u8]) -> Result<(), StoreError> {
        let call = self.call(identity, Cost::ONE);
        self.store.reset(&call)
    }

    fn call<'a>(&self, identity: &'a [u8], cost: Cost) -> Call<'a> {
        Call { algorithm: self.algorithm, identity, limit: self.limit, cost }
    }

    /// The policy's answer. A cost above the limit can never pass, so that is denied for ever under
    /// every policy and needs no store.
    fn without_store(
        &mut self,
        call: &Call<'_>,
        error: StoreError,
        in_memory: impl FnOnce(&mut M, &Call<'_>) -> Result<Verdict, StoreError>,
    ) -> Result<Decision, StoreError> {
        let possible = can_ever_pass(call.limit, call.cost);
        match self.on_failure {
            OnFailure::Memory => in_memory(&mut self.memory, call)
                .map(|verdict| Decision { verdict, source: Source::Memory }),
            OnFailure::Throw if possible => Err(error),
            OnFailure::Open if possible => Ok(self.policy(true, Some(0), Source::FailOpen)),
            _ => {
                Ok(self.policy(false, possible.then_some(self.retry_interval), Source::FailClosed))
            }
        }
    }

    fn policy(&self, allowed: bool, retry_after: Option<Micros>, source: Source) -> Decision {
        let limit = self.limit.max();
        let wait = retry_after.unwrap_or(0);
        let verdict = Verdict {
            allowed,
            limit,
            remaining: if allowed { limit } else { 0 },
            retry_after,
            replenish_after: wait,
            reset_after: wait,
        };
        Decision { verdict, source }
    }
}
