//! Where state lives, and the contract of every store.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::core::limit::{Algorithm, Cost, Limit};
use crate::core::time::Micros;
use crate::core::verdict::Verdict;

#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "shm")]
pub mod shm;

/// One question to a store.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Log or counter.
    pub algorithm: Algorithm,
    /// Whose budget: any bytes, the empty string included. All distinct strings are distinct.
    pub identity: &'a [u8],
    /// What the same client was called on the days before, the oldest day first: what these have
    /// used counts as this identity's own. Nothing is recorded under them.
    pub earlier: &'a [Vec<u8>],
    /// The limit and the window.
    pub limit: Limit,
    /// Units that this call takes.
    pub cost: Cost,
}

/// A place that holds limiter state and decides on it.
///
/// # Contract
/// 1. **One atomic step.** Reading the state, deciding by [`crate::core`]'s formulas and recording
///    happen as one step: of any calls that race, from any thread, process or host, the answers are
///    those of some order of the calls, one after the other.
/// 2. **A denied call records nothing**, and [`Store::peek`] never does.
/// 3. **The store owns the time.** Each call is stamped by the store, from a clock that does not
///    step back within a host.
/// 4. **Denied is an answer, broken is an error.** `Err` means that no decision was made that the
///    store can vouch for; the call may or may not have been recorded, and is not repeated.
/// 5. **State belongs to the algorithm, the identity and the window** (in Redis to the algorithm
///    and the identity, since the keys have no room for the window).
/// 6. **Earlier identities are read first**, each by a question of its own: a call under one of them
///    that is decided between the two readings may go unseen. Nobody makes such calls after midnight
///    but those who learned the identity before it.
/// 7. **A changed limit holds from the next call on**: the limit is part of the question and never
///    of the state.
pub trait Store {
    /// Decides, and records `call.cost` if it is admitted.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot answer.
    fn attempt(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError>;

    /// Decides as [`Store::attempt`] would, and records nothing.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot answer.
    fn peek(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError>;

    /// Forgets what this identity and the earlier ones have used. `call.cost` is ignored.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot answer; then the state may still be there.
    fn reset(&mut self, call: &Call<'_>) -> Result<(), StoreError>;

    /// Records what was admitted in this store's absence to the identity of `call`, which follows
    /// at once: one deadline holds for both. `call.cost` is ignored.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot answer.
    fn settle(&mut self, call: &Call<'_>, debt: &[Owed]) -> Result<(), StoreError>;

    /// What this store's clock showed, as far as that is known without asking, when
    /// the steady clock showed `steady`: just now. After a call, the time it was stamped with.
    fn time(&self, steady: Micros) -> Micros;
}

/// Units that were admitted in a store's absence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owed {
    /// When, by the store's clock. A counter's units may be of any instant in that window.
    pub at: Micros,
    /// How many.
    pub units: u64,
}

/// Stands for a store elsewhere by what tells it from others: the same in every process of this host.
pub fn scope(store: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    store.hash(&mut hasher);
    hasher.finish()
}

/// What the workers of one host know together about stores that are elsewhere.
///
/// `scope` stands for one such store: its address, credentials and prefix. Instants called `now` or
/// `asked` are by the steady clock, those called `at` by the store's clock.
///
/// Under the failure policy `memory` a host keeps, beside the store's state, a copy of what it has
/// seen the store admit; in the store's absence it decides on that copy. What it then admits it also
/// writes down as a debt of that identity, for [`Store::settle`].
pub trait Host {
    /// Whether a denial of this very question, of cost 1, still holds at `now`.
    fn denial(&self, scope: u64, call: &Call<'_>, now: Micros) -> Denial;

    /// Remembers a denial that left nothing, from `asked`, when the question was about to be sent.
    fn remember(&self, ticket: Ticket, verdict: &Verdict, asked: Micros);

    /// Forgets the denials of this identity, those of questions that are being asked, its part of
    /// the copy and its debt.
    fn forget(&self, scope: u64, call: &Call<'_>);

    /// Whether the store may be asked at `now`. When it has failed, one caller may each
    /// `retry_interval`, and that it may is what this call decides.
    fn gate(&self, scope: u64, now: Micros, retry_interval: Micros) -> Gate;

    /// The store has answered.
    fn answered(&self, scope: u64);

    /// The store has failed, by `now`. After `most` failures in a row it is left alone for
    /// `retry_interval`. Says whether this is the first in a row.
    fn failed(&self, scope: u64, now: Micros, most: u32, retry_interval: Micros) -> bool;

    /// Writes into the copy that the store admitted this call. Where the copy is full, because the
    /// store was told elsewhere to forget, the newest units stay: more decide nothing.
    fn admitted(&self, scope: u64, call: &Call<'_>, now: Micros, at: Micros);

    /// What the store's clock shows at `now`, by the last worker that saw it admit a call.
    fn time(&self, scope: u64, now: Micros) -> Option<Micros>;

    /// Decides on the copy, and there records what it admits if it shall.
    ///
    /// # Errors
    /// [`StoreError`] where shared memory cannot answer.
    fn decide(
        &self,
        scope: u64,
        call: &Call<'_>,
        at: Micros,
        record: bool,
    ) -> Result<Verdict, StoreError>;

    /// Adds to the identity's debt. `call.cost` is ignored.
    fn owe(&self, scope: u64, call: &Call<'_>, now: Micros, debt: &[Owed]);

    /// Takes the identity's debt, or the oldest part of it that `into` has room for, and says how
    /// much of `into` was filled. No two callers get the same unit. `call.cost` is ignored.
    fn take_debt(&self, scope: u64, call: &Call<'_>, into: &mut [Owed]) -> usize;
}

/// What a host remembers about a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// It was denied and still is.
    Holds(Verdict),
    /// Nothing. The ticket, where there is room to remember, is for the answer.
    Unknown(Option<Ticket>),
}

/// Where the answer to a question may be remembered, and since when: a reset in between makes it
/// worthless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub(crate) place: u64,
    pub(crate) tag: u64,
    pub(crate) resets: u64,
}

/// Whether a store may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It may.
    Open {
        /// Whether an identity may have a debt.
        debts: bool,
    },
    /// Not before so many microseconds have passed.
    Shut(Micros),
}

/// Why a store could not answer. The texts name endpoints, never credentials.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No connection could be made, or it broke.
    #[error("{endpoint}: {detail}")]
    Unavailable {
        /// Address of the store, without credentials.
        endpoint: String,
        /// What the system said.
        detail: String,
        /// Whether the question had been sent, so that it may have been counted.
        sent: bool,
    },
    /// No answer within `rate_limit.timeout`.
    #[error("{endpoint}: no answer within {after_ms} ms (rate_limit.timeout)")]
    Timeout {
        /// Address of the store, without credentials.
        endpoint: String,
        /// The deadline, in milliseconds.
        after_ms: u64,
        /// Whether the question had been sent, so that it may have been counted.
        sent: bool,
    },
    /// The server answered with an error that concerns more than one key.
    #[error("{endpoint}: {message}")]
    Server {
        /// Address of the store, without credentials.
        endpoint: String,
        /// The server's own text.
        message: String,
    },
    /// The server answered with an error about this call alone: its key is of another type
    /// (`WRONGTYPE`), or this user may not delete it (`NOPERM`).
    #[error("{endpoint}: {message}")]
    Key {
        /// Address of the store, without credentials.
        endpoint: String,
        /// The server's own text.
        message: String,
    },
    /// Not asked, since it has failed too often just now.
    #[error(
        "{endpoint}: left alone after failures in a row (rate_limit.breaker), next try in \
         {retry_ms} ms (rate_limit.retry_interval)"
    )]
    LeftAlone {
        /// Address of the store, without credentials.
        endpoint: String,
        /// Until the next try, in milliseconds.
        retry_ms: u64,
    },
    /// The client object's own code has failed or ended the request, which says nothing about the
    /// store. No policy answers: the caller gets to see what happened.
    #[error("{endpoint}: the client object's code did not return")]
    Aborted {
        /// Address of the store, without credentials.
        endpoint: String,
    },
    /// What came back is no reply to what was sent.
    #[error("{endpoint}: unexpected reply ({detail})")]
    Protocol {
        /// Address of the store, without credentials.
        endpoint: String,
        /// What was expected and what came.
        detail: String,
        /// Whether the question had been sent, so that it may have been counted.
        sent: bool,
    },
    /// Shared memory: a worker that holds this identity's state does not let go of it.
    #[error("shared memory: another worker has held this state for {after_ms} ms")]
    Busy {
        /// How long was waited, in milliseconds.
        after_ms: u64,
    },
    /// Shared memory: other workers were quicker each time that this call tried to take a slot.
    #[error("shared memory: other workers took each slot that this call tried to take")]
    Overtaken,
    /// A signal interrupted a call of this thread, and its handler (LiteSpeed runs PHP's request
    /// shutdown there) asks again for what that call uses.
    #[error("{endpoint}: in use by a call that a signal interrupted")]
    InUse {
        /// Address of the store, without credentials.
        endpoint: String,
    },
    /// Shared memory: no room, and nothing that may be evicted.
    #[error("shared memory is full (rate_limit.memory_size)")]
    Full,
    /// Shared memory: the limit needs more room than the region may give to one log.
    #[error(
        "a log of {entries} entries needs {needed} bytes, more than a quarter of \
         rate_limit.memory_size ({region} bytes)"
    )]
    LogTooLarge {
        /// Entries that the limit asks for.
        entries: u64,
        /// Bytes that they need.
        needed: u64,
        /// Bytes of the whole region.
        region: u64,
    },
}

impl StoreError {
    /// Whether this failure says something about the endpoint as a whole, so that the next call
    /// will likely fail as well.
    #[must_use]
    pub fn concerns_endpoint(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. }
                | Self::Timeout { .. }
                | Self::Server { .. }
                | Self::Protocol { .. }
        )
    }

    /// Whether the call that failed may have been recorded all the same.
    #[must_use]
    pub fn may_have_counted(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { sent: true, .. }
                | Self::Timeout { sent: true, .. }
                | Self::Protocol { sent: true, .. }
                | Self::Aborted { .. }
        )
    }

    /// The same failure, of what was asked before the question itself was sent.
    #[must_use]
    pub fn before_sending(mut self) -> Self {
        if let Self::Unavailable { sent, .. }
        | Self::Timeout { sent, .. }
        | Self::Protocol { sent, .. } = &mut self
        {
            *sent = false;
        }
        self
    }
}
