//! Which answer a caller gets: the store's, or, when the store cannot answer, the one the operator
//! chose beforehand. Owns policy, not mechanism.
#![forbid(unsafe_code)]

use crate::clock;
use crate::core::limit::{Algorithm, Cost, Limit};
use crate::core::time::Micros;
use crate::core::verdict::{Verdict, can_ever_pass};
use crate::store::{Call, Denial, Gate, Host, Owed, Store, StoreError};

/// What happens when the store cannot answer (`rate_limit.on_failure`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The error goes to the caller.
    Throw,
    /// Everything is allowed.
    Open,
    /// Everything is denied.
    Closed,
    /// The same limit, decided in this host's shared memory: on what this host saw the store admit,
    /// and what it admits is added to the store's state when that is back.
    Memory,
}

/// Whether decisions bite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// They do.
    #[default]
    Enforce,
    /// Decides and records as ever, and lets everything pass (`rate_limit.dry_run`).
    DryRun,
    /// Asks nobody and lets everything pass (`rate_limit.enabled = 0`).
    Off,
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
    /// Nobody: [`Mode::Off`] holds.
    Disabled,
}

impl Source {
    /// What it is called, in PHP and in the metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Memory => "memory",
            Self::DenyCache => "deny-cache",
            Self::FailOpen => "fail-open",
            Self::FailClosed => "fail-closed",
            Self::Disabled => "disabled",
        }
    }
}

/// A verdict and who gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What was decided.
    pub verdict: Verdict,
    /// Who decided.
    pub source: Source,
    /// It was a denial, which [`Mode::DryRun`] lets pass.
    pub would_deny: bool,
}

impl Decision {
    fn new(verdict: Verdict, source: Source) -> Self {
        Self { verdict, source, would_deny: false }
    }

    /// What becomes of it in a dry run. `remaining` and the spans until it grows stay.
    fn without_bite(mut self) -> Self {
        self.would_deny = !self.verdict.allowed;
        self.verdict.allowed = true;
        self.verdict.retry_after = Some(0);
        self
    }
}

/// Parts of a debt that are settled at once.
const PARTS: usize = 128;

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
    /// Asks the store, unless it is being left alone, and notes in `memory` how that went.
    ///
    /// # Errors
    /// [`Failure`] where there is no answer.
    pub fn ask<R>(
        self,
        memory: &impl Host,
        retry_interval: Micros,
        ask: impl FnOnce() -> Result<R, StoreError>,
    ) -> Result<R, Failure> {
        self.may_ask(memory, retry_interval, clock::steady())?;
        self.note(memory, retry_interval, ask())
    }

    /// Whether there may be debts to settle; a failure where the store is being left alone.
    fn may_ask(
        self,
        memory: &impl Host,
        retry_interval: Micros,
        asked: Micros,
    ) -> Result<bool, Failure> {
        match memory.gate(self.scope, asked, retry_interval) {
            Gate::Open { debts } => Ok(debts),
            Gate::Shut(next_try) => {
                let (endpoint, retry_ms) = (self.endpoint.to_owned(), next_try.div_ceil(1_000));
                Err(Failure::of(StoreError::LeftAlone { endpoint, retry_ms }, next_try))
            }
        }
    }

    /// Notes whether the store has answered.
    fn note<R>(
        self,
        memory: &impl Host,
        retry_interval: Micros,
        answer: Result<R, StoreError>,
    ) -> Result<R, Failure> {
        let Remote { scope, breaker, report, .. } = self;
        match &answer {
            Err(error) if error.concerns_endpoint() => {
                if memory.failed(scope, clock::steady(), breaker, retry_interval) {
                    report(error);
                }
            }
            Err(StoreError::Aborted { .. }) => {}
            Err(error) => report(error),
            Ok(_) => memory.answered(scope),
        }
        answer.map_err(|error| Failure::of(error, retry_interval))
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
    /// Whether decisions bite.
    pub mode: Mode,
}

impl<'a, S: Store, M: Host> Limiter<'a, S, M> {
    /// Decides on `cost` units for `identity`, and records them if they are admitted.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot answer and the policy is [`OnFailure::Throw`], or the
    /// policy is [`OnFailure::Memory`] and shared memory cannot answer either; and
    /// [`StoreError::Aborted`] under every policy.
    #[inline(always)]
    pub fn attempt(&mut self, identity: &[u8], cost: Cost) -> Result<Decision, StoreError> {
        self.in_mode(identity, cost, true)
    }

    /// Decides as [`Self::attempt`] would, and records nothing.
    ///
    /// # Errors
    /// As [`Self::attempt`].
    pub fn peek(&mut self, identity: &[u8], cost: Cost) -> Result<Decision, StoreError> {
        self.in_mode(identity, cost, false)
    }

    /// Forgets what `identity` has used.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot answer, whatever the policy.
    pub fn reset(&mut self, identity: &[u8]) -> Result<(), StoreError> {
        let call = self.call(identity, Cost::ONE);
        let Some(remote) = self.remote else { return self.store.reset(&call) };
        let done = remote.ask(&self.memory, self.retry_interval, || self.store.reset(&call));
        // After the store has forgotten, so that no denial from before is remembered; and where the
        // answer is lost, for it may have.
        if done.as_ref().map_or_else(|failure| failure.error.may_have_counted(), |()| true) {
            self.memory.forget(remote.scope, &call);
        }
        done.map_err(|failure| failure.error)
    }

    #[inline(always)]
    fn in_mode(
        &mut self,
        identity: &[u8],
        cost: Cost,
        record: bool,
    ) -> Result<Decision, StoreError> {
        if self.mode == Mode::Off {
            return Ok(self.policy(true, Some(0), Source::Disabled));
        }
        let answer = self.decide(&self.call(identity, cost), record);
        if self.mode == Mode::DryRun { answer.map(Decision::without_bite) } else { answer }
    }

    fn call<'i>(&self, identity: &'i [u8], cost: Cost) -> Call<'i>
    where
        'a: 'i,
    {
        let (algorithm, earlier, limit) = (self.algorithm, self.earlier, self.limit);
        Call { algorithm, identity, earlier, limit, cost }
    }

    /// Inlined, as is what leads from here to this host's memory: copying a verdict from frame to frame
    /// would take a fifth of the time of a call.
    #[inline(always)]
    fn decide(&mut self, call: &Call<'_>, record: bool) -> Result<Decision, StoreError> {
        let answer = match self.remote {
            None => match self.ask(call, record) {
                Ok(verdict) => return Ok(Decision::new(verdict, Source::Memory)),
                Err(error) => Err(Failure::of(error, self.retry_interval)),
            },
            Some(remote) => self.decide_elsewhere(remote, call, record),
        };
        answer.or_else(|failure| self.without_store(call, record, failure))
    }

    #[inline(always)]
    fn ask(&mut self, call: &Call<'_>, record: bool) -> Result<Verdict, StoreError> {
        if record { self.store.attempt(call) } else { self.store.peek(call) }
    }

    /// The host's own memory of a denial, else the store's answer.
    fn decide_elsewhere(
        &mut self,
        remote: Remote<'_>,
        call: &Call<'_>,
        record: bool,
    ) -> Result<Decision, Failure> {
        let asked = clock::steady();
        let ticket = if remote.deny_cache && call.cost == Cost::ONE {
            match self.memory.denial(remote.scope, call, asked) {
                Denial::Holds(verdict) => {
                    return Ok(Decision::new(verdict, Source::DenyCache));
                }
                Denial::Unknown(ticket) => ticket,
            }
        } else {
            None
        };
        if remote.may_ask(&self.memory, self.retry_interval, asked)? {
            for identity in call.earlier {
                self.settle(remote, &Call { identity, earlier: &[], ..*call })?;
            }
            self.settle(remote, call)?;
        }
        let answer = self.ask(call, record);
        let verdict = remote.note(&self.memory, self.retry_interval, answer)?;
        if record && verdict.allowed && self.on_failure == OnFailure::Memory {
            self.memory.admitted(remote.scope, call, asked, self.store.time(asked));
        }
        if let Some(ticket) = ticket.filter(|_| !verdict.allowed && verdict.remaining == 0) {
            self.memory.remember(ticket, &verdict, asked);
        }
        Ok(Decision::new(verdict, Source::Redis))
    }

    /// Adds to the store's state what the identity was admitted in its absence. What may have been
    /// added already is not added again.
    #[cold]
    fn settle(&mut self, remote: Remote<'_>, call: &Call<'_>) -> Result<(), Failure> {
        let mut room = [Owed::default(); PARTS];
        loop {
            let taken = self.memory.take_debt(remote.scope, call, &mut room);
            let debt = &room[..taken];
            if debt.is_empty() {
                return Ok(());
            }
            let settled = self.store.settle(call, debt);
            if settled.as_ref().is_err_and(|error| !error.may_have_counted()) {
                self.memory.owe(remote.scope, call, clock::steady(), debt);
            }
            // Whatever became of the debt, the call itself was not sent.
            let settled = settled.map_err(StoreError::before_sending);
            remote.note(&self.memory, self.retry_interval, settled)?;
        }
    }

    /// The policy's answer. A cost above the limit can never pass, so that is denied for ever under
    /// every policy, also under [`OnFailure::Throw`] and [`OnFailure::Open`]. The store is asked
    /// first all the same: `remaining` and the waits are its to say.
    #[cold]
    fn without_store(
        &mut self,
        call: &Call<'_>,
        record: bool,
        failure: Failure,
    ) -> Result<Decision, StoreError> {
        if matches!(failure.error, StoreError::Aborted { .. }) {
            return Err(failure.error);
        }
        let possible = can_ever_pass(call.limit, call.cost);
        match (self.on_failure, self.remote) {
            (OnFailure::Memory, Some(remote)) => {
                self.decide_here(remote, call, record, &failure.error)
            }
            (OnFailure::Throw | OnFailure::Memory, _) if possible => Err(failure.error),
            (OnFailure::Open, _) if possible => Ok(self.policy(true, Some(0), Source::FailOpen)),
            _ => Ok(self.policy(false, possible.then_some(failure.next_try), Source::FailClosed)),
        }
    }

    /// Decides on this host's copy of the store's state. What it admits is owed to the store, unless
    /// the store may have counted it.
    fn decide_here(
        &mut self,
        remote: Remote<'_>,
        call: &Call<'_>,
        record: bool,
        error: &StoreError,
    ) -> Result<Decision, StoreError> {
        let (scope, now) = (remote.scope, clock::steady());
        let at = self.memory.time(scope, now).unwrap_or_else(|| self.store.time(now));
        let verdict = self.memory.decide(scope, call, at, record)?;
        if record && verdict.allowed && !error.may_have_counted() {
            self.memory.owe(scope, call, now, &[Owed { at, units: call.cost.units() }]);
        }
        Ok(Decision::new(verdict, Source::Memory))
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
        Decision::new(verdict, source)
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

impl Failure {
    fn of(error: StoreError, next_try: Micros) -> Self {
        Self { error, next_try }
    }
}
