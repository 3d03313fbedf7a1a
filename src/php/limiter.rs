//! What `SlidingWindowLog` and `SlidingWindowCounter` do: parse, ask, answer.

use std::cell::Cell;

use ext_php_rs::ffi::IS_NULL;

use super::answer::Answers;
use super::backend::{Backend, First};
use super::call::{Args, Return, This, value_error, wrong_class};
use super::limiter_class::{algorithm, argument, bind, bound, name};
use super::memory::Memory;
use super::zend::{self, Thrown};
use super::{enums, exceptions, identity, settings, verdict};
use crate::core::limit::{Algorithm, Cost, Limit, LimitError};
use crate::core::time::Micros;
use crate::core::verdict::Glance;
use crate::limiter::{Decision, Limiter, Mode, OnFailure, Source};
use crate::store::{Call, StoreError};
use crate::tally::{self, Outcome};

/// What a constructed limiter holds. Nothing in it changes between calls.
pub struct Bound {
    pub backend: Backend,
    memory: Memory,
    algorithm: Algorithm,
    limit: Limit,
    on_failure: OnFailure,
    retry_interval: Micros,
    mode: Cell<Mode>,
    answers: Answers,
}

/// `__construct(Redis|...|string|null $redis, int $limit, int $windowSeconds, ?OnFailure $onFailure = null)`
pub fn construct(args: &mut Args<'_>, _: &mut Return) -> Result<(), Thrown> {
    args.expect(3, 4)?;
    let object = args.this();
    let first = First::read(args, 1)?;
    let (max, window) = (args.long(2)?, args.long(3)?);
    let on_failure = on_failure(args, 4)?;
    let mode = match settings::dry_run() {
        _ if !settings::enabled() => Mode::Off,
        true => Mode::DryRun,
        false => Mode::Enforce,
    };
    let limit = Limit::new(max, window).map_err(|error| match error {
        LimitError::Window { .. } => value_error(3, error),
        _ => value_error(2, error),
    })?;
    let algorithm = algorithm(object);
    let backend = Backend::open(first, on_failure)?;
    let memory = Memory::now();
    if let Some(shm) = memory.shm() {
        if matches!(backend, Backend::Memory(_)) || on_failure == OnFailure::Memory {
            shm.room_for(algorithm, limit).map_err(|error| exceptions::store(&error, None))?;
        }
        tally::attach(shm);
    }
    let retry_interval = settings::retry_interval();
    let (mode, answers) = (Cell::new(mode), Answers::new());
    let bound =
        Bound { backend, memory, algorithm, limit, on_failure, retry_interval, mode, answers };
    bind(object, bound)
}

/// `rate_limit_dry_run(SlidingWindowLog|SlidingWindowCounter $limiter): void`: from now on this limiter
/// decides and records as ever, and lets everything pass.
pub fn dry_run(args: &mut Args<'_>, _: &mut Return) -> Result<(), Thrown> {
    args.expect(1, 1)?;
    let mode = &constructed(argument(args, 1)?)?.mode;
    if mode.get() == Mode::Enforce {
        mode.set(Mode::DryRun);
    }
    Ok(())
}

/// The policy in the `n`-th argument, by default the setting's.
fn on_failure(args: &mut Args<'_>, n: u32) -> Result<OnFailure, Thrown> {
    if args.count() < n || args.kind(n) == IS_NULL {
        return Ok(settings::on_failure());
    }
    let argument = args.get(n);
    enums::on_failure(argument).ok_or_else(|| wrong_class(n, "?RateLimit\\OnFailure", argument))
}

/// `check(string $identity): array{allowed: bool, remaining: int}`
pub fn check(args: &mut Args<'_>, out: &mut Return) -> Result<(), Thrown> {
    args.expect(1, 1)?;
    let identity = args.string(1)?;
    let bound = this(args)?;
    let glance = match bound.glance(identity) {
        Some(glance) => glance,
        None => long_way(bound, identity)?,
    };
    out.set(bound.answers.array(glance));
    Ok(())
}

/// Not inlined, so that the short way has no frame to set up.
#[inline(never)]
fn long_way(bound: &Bound, identity: &[u8]) -> Result<Glance, Thrown> {
    bound.attempt(identity, Cost::ONE).map(|decision| decision.verdict.into())
}

/// `attempt(string $identity, int $cost = 1): Verdict`
pub fn attempt(args: &mut Args<'_>, out: &mut Return) -> Result<(), Thrown> {
    let (bound, identity, cost) = question(args)?;
    let decision = bound.attempt(identity, cost)?;
    out.set(verdict::object(&decision, bound.limit));
    Ok(())
}

/// `peek(string $identity, int $cost = 1): Verdict`
pub fn peek(args: &mut Args<'_>, out: &mut Return) -> Result<(), Thrown> {
    let (bound, identity, cost) = question(args)?;
    let decision = bound.decide(identity, |limiter| limiter.peek(identity, cost))?;
    out.set(verdict::object(&decision, bound.limit));
    Ok(())
}

/// `reset(string $identity): void`
pub fn reset(args: &mut Args<'_>, _: &mut Return) -> Result<(), Thrown> {
    args.expect(1, 1)?;
    let identity = args.string(1)?;
    this(args)?.decide(identity, |limiter| limiter.reset(identity))
}

fn question<'a>(args: &mut Args<'a>) -> Result<(&'a Bound, &'a [u8], Cost), Thrown> {
    args.expect(1, 2)?;
    let (identity, cost) = (args.string(1)?, args.optional_long(2, 1)?);
    let bound = this(args)?;
    let cost = Cost::new(cost, bound.algorithm).map_err(|error| value_error(2, error))?;
    Ok((bound, identity, cost))
}

impl Bound {
    /// The short way of a check() that meets nothing unusual: a counter in shared memory that is there
    /// already, and an identity that has no past. `None`: nothing happened, and the long way is due.
    #[inline(always)]
    fn glance(&self, identity: &[u8]) -> Option<Glance> {
        let Backend::Memory(shm) = &self.backend else { return None };
        let (algorithm, limit, cost) = (self.algorithm, self.limit, Cost::ONE);
        if algorithm != Algorithm::Counter
            || self.mode.get() != Mode::Enforce
            || identity::has_earlier(identity, algorithm, limit)
        {
            return None;
        }
        let glance = shm.glance(&Call { algorithm, identity, earlier: &[], limit, cost })?;
        let outcome = if glance.allowed { Outcome::Allowed } else { Outcome::Denied };
        if tally::count(algorithm, Source::Memory, outcome) {
            self.sample(identity, cost, outcome);
        }
        Some(glance)
    }

    /// Decides, and counts the decision.
    #[inline(always)]
    fn attempt(&self, identity: &[u8], cost: Cost) -> Result<Decision, Thrown> {
        self.backend.not_in_transaction()?;
        let earlier = identity::earlier(identity, self.algorithm, self.limit)?;
        let answer = self.limiter(&earlier).attempt(identity, cost);
        let decision = self.shown(answer)?;
        let outcome = Outcome::of(&decision);
        if tally::count(self.algorithm, decision.source, outcome) {
            self.sample(identity, cost, outcome);
        }
        Ok(decision)
    }

    #[inline(never)]
    fn sample(&self, identity: &[u8], cost: Cost, outcome: Outcome) {
        let Some(shm) = self.memory.shm() else { return };
        let (algorithm, limit) = (self.algorithm, self.limit);
        let call = Call { algorithm, identity, earlier: &[], limit, cost };
        let remote = !matches!(self.backend, Backend::Memory(_));
        shm.sample(&call, outcome != Outcome::Allowed, remote);
    }

    /// Asks the limiter, and lets a failure become an exception.
    fn decide<R>(
        &self,
        identity: &[u8],
        ask: impl FnOnce(&mut Limiter<'_, &Backend, &Memory>) -> Result<R, StoreError>,
    ) -> Result<R, Thrown> {
        self.backend.not_in_transaction()?;
        let earlier = identity::earlier(identity, self.algorithm, self.limit)?;
        let answer = ask(&mut self.limiter(&earlier));
        self.shown(answer)
    }

    #[inline(always)]
    fn limiter<'a>(&'a self, earlier: &'a [Vec<u8>]) -> Limiter<'a, &'a Backend, &'a Memory> {
        Limiter {
            store: &self.backend,
            memory: &self.memory,
            remote: self.backend.remote(),
            algorithm: self.algorithm,
            limit: self.limit,
            earlier,
            on_failure: self.on_failure,
            retry_interval: self.retry_interval,
            mode: self.mode.get(),
        }
    }

    #[inline(always)]
    fn shown<R>(&self, answer: Result<R, StoreError>) -> Result<R, Thrown> {
        let cause = self.backend.take_cause();
        if self.backend.runs_php() {
            zend::thrown()?; // an Error in the client's code, which no policy answers
        }
        answer.map_err(|error| exceptions::store(&error, cause))
    }
}

/// The limiter of the object whose method was called.
#[inline(always)]
fn this<'a>(args: &Args<'a>) -> Result<&'a Bound, Thrown> {
    constructed(args.this())
}

#[inline(always)]
fn constructed(object: This<'_>) -> Result<&Bound, Thrown> {
    bound(object).ok_or_else(|| {
        exceptions::error(&format!("{} was used before it was constructed", name(object)))
    })
}
