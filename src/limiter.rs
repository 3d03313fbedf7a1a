//! Which answer a caller gets: the store's, or, when the store cannot answer, the one the operator
//! chose beforehand. Owns policy, not mechanism.
#![forbid(unsafe_code)]

use crate::clock;
use crate::core::limit::{Algorithm, Cost, Limit};
use crate::core::time::Micros;
use crate::core::verdict::{Verdict, can_ever_pass};
use crate::store::{Call, Denial, Gate, Host, Store, StoreError};

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

/// How failures of a store elsewhere are met, and denials by it remembered.
#[derive(Clone, Copy, Debug)]
pub struct Remote<'a> {
    /// Stands for the store: a hash of its address, credentials and prefix.
    pub scope: u64,
    /// The store's address, without credentials.
    pub endpoint: &'a str,
    /// Whether denials are remembered (`rate_limit.deny_cache`).
    pub deny_cache: bool,
    /// Failures in a row after which the store is left alone (`rate_limit.breaker`).
    pub breaker: u32,
    /// Told of the first failure of an outage, and of each error about one key.
    pub report: fn(&StoreError),
}

impl Remote<'_> {
    /// Asks the store at `asked`, unless it is being left alone, and notes in `memory` how that went.
    ///
    /// # Errors
    /// [`Failure`] where there is no answer.
    pub fn ask<R>(
        self,
        memory: &impl Host,
        retry_interval: Micros,
        asked: Micros,
        ask: impl FnOnce() -> Result<R, StoreError>,
    ) -> Result<R, Failure> {
        let Self { scope, endpoint, breaker, .. } = self;
        if let Gate::Shut(next_try) = memory.gate(scope, asked, retry_interval) {
            let (endpoint, retry_ms) = (endpoint.to_owned(), next_try.div_ceil(1_000));
            let error = StoreError::LeftAlone { endpoint, retry_ms };
            return Err(Failure { error, next_try });
        }
        let answer = ask();
        match &answer {
            Err(error) if error.concerns_endpoint() => {
                if memory.failed(scope, clock::steady(), breaker, retry_interval) {
                    (self.report)(error);
                }
            }
            Err(error) => (self.report)(error),
            Ok(_) => memory.answered(scope),
        }
        answer.map_err(|error| Failure { error, next_try: retry_interval })
    }
}

/// One limit on one store. `M` is this host's shared memory.
pub struct Limiter<'a, S, M> {
    /// The store that decides.
    pub store: S,
    /// This host's shared memory.
    pub memory: M,
    /// What is known about `store` where it is not `memory` itself.
    pub remote: Option<Remote<'a>>,
    /// Log or counter.
    pub algorithm: Algorithm,
    /// The limit and the window.
    pub limit: Limit,
    /// See [`Call::earlier`].
    pub earlier: &'a [Vec<u8>],
    /// What happens when `store` cannot answer.
    pub on_failure: OnFailure,
    /// How long a failed store is left alone, microseconds (`rate_limit.retry_interval`).
    pub retry_interval: Micros,
}

impl<'a, S: Store, M: Host> Limiter<'a, S, M> {
    /// Decides on `cost` units for `identity`, and records them if they are admitted.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot answer and the policy is [`OnFailure::Throw`], or the
    /// policy is [`OnFailure::Memory`] and shared memory cannot answer either.
    #[inline]
    pub fn attempt(&mut self, identity: &[u8], cost: Cost) -> Result<Decision, StoreError> {
        self.decide(&self.call(identity, cost), S::attempt, M::attempt)
    }

    /// Decides as [`Self::attempt`] would, and records nothing.
    ///
    /// # Errors
    /// As [`Self::attempt`].
    pub fn peek(&mut self, identity: &[u8], cost: Cost) -> Result<Decision, StoreError> {
        self.decide(&self.call(identity, cost), S::peek, M::peek)
    }

    /// Forgets what `identity` has used.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot answer, whatever the policy.
    pub fn reset(&mut self, identity: &[u8]) -> Result<(), StoreError> {
        let call = self.call(identity, Cost::ONE);
        match self.remote {
            None => self.store.reset(&call),
            Some(remote) => {
                let done = self.ask(remote, clock::steady(), |store| store.reset(&call));
                // After the store has forgotten, so that no denial from before is remembered; and
                // where the answer is lost, for it may have.
                self.memory.forget(remote.scope, &call);
                done.map_err(|failure| failure.error)
            }
        }
    }

    fn call<'i>(&self, identity: &'i [u8], cost: Cost) -> Call<'i>
    where
        'a: 'i,
    {
        let (algorithm, earlier, limit) = (self.algorithm, self.earlier, self.limit);
        Call { algorithm, identity, earlier, limit, cost }
    }

    #[inline]
    fn decide(
        &mut self,
        call: &Call<'_>,
        ask: fn(&mut S, &Call<'_>) -> Result<Verdict, StoreError>,
        ask_memory: fn(&mut M, &Call<'_>) -> Result<Verdict, StoreError>,
    ) -> Result<Decision, StoreError> {
        let answer = match self.remote {
            None => match ask(&mut self.store, call) {
                Ok(verdict) => return Ok(Decision { verdict, source: Source::Memory }),
                Err(error) => Err(Failure { error, next_try: self.retry_interval }),
            },
            Some(remote) => self.decide_elsewhere(remote, call, ask),
        };
        answer.or_else(|failure| self.without_store(call, failure, ask_memory))
    }

    /// The host's own memory of a denial, else the store's answer.
    fn decide_elsewhere(
        &mut self,
        remote: Remote<'_>,
        call: &Call<'_>,
        ask: fn(&mut S, &Call<'_>) -> Result<Verdict, StoreError>,
    ) -> Result<Decision, Failure> {
        let asked = clock::steady();
        let ticket = if remote.deny_cache && call.cost == Cost::ONE {
            match self.memory.denial(remote.scope, call, asked) {
                Denial::Holds(verdict) => {
                    return Ok(Decision { verdict, source: Source::DenyCache });
                }
                Denial::Unknown(ticket) => ticket,
            }
        } else {
            None
        };
        let verdict = self.ask(remote, asked, |store| ask(store, call))?;
        if let Some(ticket) = ticket.filter(|_| !verdict.allowed && verdict.remaining == 0) {
            self.memory.remember(ticket, &verdict, asked);
        }
        Ok(Decision { verdict, source: Source::Redis })
    }

    fn ask<R>(
        &mut self,
        remote: Remote<'_>,
        asked: Micros,
        ask: impl FnOnce(&mut S) -> Result<R, StoreError>,
    ) -> Result<R, Failure> {
        let store = &mut self.store;
        remote.ask(&self.memory, self.retry_interval, asked, || ask(store))
    }

    /// The policy's answer. A cost above the limit can never pass, so that is denied for ever under
    /// every policy and needs no store.
    #[cold]
    fn without_store(
        &mut self,
        call: &Call<'_>,
        failure: Failure,
        ask_memory: fn(&mut M, &Call<'_>) -> Result<Verdict, StoreError>,
    ) -> Result<Decision, StoreError> {
        let possible = can_ever_pass(call.limit, call.cost);
        match self.on_failure {
            OnFailure::Memory => ask_memory(&mut self.memory, call)
                .map(|verdict| Decision { verdict, source: Source::Memory }),
            OnFailure::Throw if possible => Err(failure.error),
            OnFailure::Open if possible => Ok(self.policy(true, Some(0), Source::FailOpen)),
            _ => Ok(self.policy(false, possible.then_some(failure.next_try), Source::FailClosed)),
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

/// Why there is no answer.
#[derive(Debug)]
pub struct Failure {
    /// What happened.
    pub error: StoreError,
    /// How long until the store may be asked again, microseconds.
    pub next_try: Micros,
}
