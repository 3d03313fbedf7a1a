//! State in Redis or Valkey: one script and one round trip a decision.
//!
//! The script reads the state, decides and records in the server's one thread, and answers with
//! whether it admitted and with the facts that it saw. The verdict is built from those facts by
//! [`crate::core`], so that its formulas stand once. Admission, which must happen where the state
//! is, stands twice; every answer is checked to be the one that `core` gives to the same facts.
#![forbid(unsafe_code)]

mod answer;
mod cluster;
mod connection;
mod decimal;
mod dsn;
mod endpoint;
mod keys;
mod link;
mod request;
mod resp;
mod salt;
mod script;
mod sentinel;
mod server_clock;
mod socket;
mod tls;
mod transport;

use std::rc::Rc;

pub use answer::{Answer, NO_NUMBERS, Unreadable, numbers};
pub use connection::{Options, SharedConnection, connection};
pub use dsn::{Dsn, DsnError};
pub use endpoint::{Endpoint, Host, Server, TlsFiles};
pub use keys::{LONGEST_PLAIN, Layout, Naming};
pub use request::Request;
pub use script::{
    COUNTER, COUNTER_ADD, LOG_LIST, LOG_LIST_ADD, LOG_SORTED_SET, LOG_SORTED_SET_ADD, SALT, Script,
    prepare,
};
pub use server_clock::{ClockMode, Known, ServerClock};
pub use transport::{Transport, refuses_time, server_error};

use crate::clock;
use crate::core::counter::{self, Counts, Position};
use crate::core::limit::{Algorithm, Cost};
use crate::core::log;
use crate::core::time::{Micros, SECOND};
use crate::core::verdict::Verdict;
use crate::store::{Call, Owed, Store, StoreError};
use decimal::Decimal;

/// How much longer than its entries count a log is kept, milliseconds: hosts' clocks differ a little.
const SLACK_MS: u64 = 1_000;

/// Limiter state on a Redis or Valkey server, reached through a [`Transport`].
pub struct RedisStore<T> {
    transport: T,
    naming: Naming,
    mode: ClockMode,
    clock: Rc<ServerClock>,
    /// A key, or what several begin with. Kept between calls, as is the request.
    name: Vec<u8>,
    request: Request,
    /// The stamp of a call that has begun with its identity's debt.
    begun: Option<Micros>,
}

impl<T: Transport> RedisStore<T> {
    /// A store at the end of `transport`. Asks nothing yet.
    pub fn new(transport: T, naming: Naming, mode: ClockMode) -> Self {
        let clock = transport.clock();
        Self {
            transport,
            naming,
            mode,
            clock,
            name: Vec::new(),
            request: Request::default(),
            begun: None,
        }
    }

    /// What is known about the server's clock.
    #[must_use]
    pub fn clock(&self) -> Known {
        self.clock.known()
    }

    /// Begins a call, unless its debt did, and gives its stamp.
    fn begin(&mut self) -> Result<Micros, StoreError> {
        if let Some(stamp) = self.begun.take() {
            return Ok(stamp);
        }
        let mut steady = clock::steady();
        self.transport.begin(steady).map_err(StoreError::before_sending)?;
        if self.mode == ClockMode::Server && self.clock.due(steady) {
            let sent = clock::steady();
            let server = self.transport.time().map_err(StoreError::before_sending)?;
            steady = clock::steady();
            self.clock.sample(server, sent, steady);
        }
        Ok(self.clock.stamp(self.mode, steady))
    }

    /// [`Store::attempt`] of a call that was stamped `now`, microseconds since the epoch.
    ///
    /// # Errors
    /// [`StoreError`] where the server cannot answer.
    pub fn attempt_at(&mut self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError> {
        self.begin()?;
        self.decide(call, now, true)
    }

    /// [`Store::peek`] of a call that was stamped `now`, microseconds since the epoch.
    ///
    /// # Errors
    /// [`StoreError`] where the server cannot answer.
    pub fn peek_at(&mut self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError> {
        self.begin()?;
        self.decide(call, now, false)
    }

    /// [`Store::reset`] of a call that was stamped `now`, microseconds since the epoch.
    ///
    /// # Errors
    /// [`StoreError`] where the server cannot answer.
    pub fn reset_at(&mut self, call: &Call<'_>, now: Micros) -> Result<(), StoreError> {
        self.begin()?;
        self.forget(call, now)
    }

    fn forget(&mut self, call: &Call<'_>, now: Micros) -> Result<(), StoreError> {
        for identity in call.earlier {
            self.forget(&Call { identity, earlier: &[], ..*call }, now)?;
        }
        let deleted = match call.algorithm {
            Algorithm::Log => {
                self.naming.log(call.identity, &mut self.name);
                self.transport.delete(&[&self.name])
            }
            Algorithm::Counter => {
                self.naming.counter(call.identity, &mut self.name);
                let index = now / call.limit.window();
                let key = |offset| [&self.name, window(index, offset).as_bytes()].concat();
                self.transport.delete(&[-1, 0, 1].map(key).each_ref().map(Vec::as_slice))
            }
        };
        deleted.map_err(|error| match error {
            // A user who may not delete may still be allowed to run the scripts.
            StoreError::Server { endpoint, message } if message.starts_with("NOPERM") => {
                StoreError::Key { endpoint, message }
            }
            error => error,
        })
    }

    fn decide(
        &mut self,
        call: &Call<'_>,
        now: Micros,
        record: bool,
    ) -> Result<Verdict, StoreError> {
        let (admitted, verdict) = match call.algorithm {
            Algorithm::Log => self.log(call, now, record)?,
            Algorithm::Counter => self.counter(call, now, record)?,
        };
        if admitted != i64::from(verdict.allowed) {
            let (endpoint, detail) =
                (self.transport.endpoint(), "facts that do not fit".to_owned());
            return Err(StoreError::Protocol { endpoint, detail, sent: true });
        }
        Ok(verdict)
    }

    /// Whether the script admitted, and the verdict. The earlier identities' logs are read first.
    fn log(
        &mut self,
        call: &Call<'_>,
        now: Micros,
        record: bool,
    ) -> Result<(i64, Verdict), StoreError> {
        let Call { limit, cost, .. } = *call;
        let mut earlier = Vec::new();
        for identity in call.earlier {
            let call = Call { identity, ..*call };
            let read = self.log_facts(&call, now, false, 0);
            earlier.push(read.map_err(StoreError::before_sending)?.1);
        }
        let (admitted, own) = self.log_facts(call, now, record, log::used(&earlier))?;
        let facts = log::join(&earlier, own, limit, cost, |log, n| {
            let limit = log::blocked_by(limit, earlier[log].used, n);
            let call = Call { identity: &call.earlier[log], limit, cost: Cost::ONE, ..*call };
            self.log_facts(&call, now, false, 0).map(|(_, facts)| facts.blocking)
        })?;
        let decide = if record { log::attempt } else { log::peek };
        Ok((admitted, decide(facts, limit, cost, now)))
    }

    /// Runs the log's script, where `before` entries of earlier identities count.
    fn log_facts(
        &mut self,
        call: &Call<'_>,
        now: Micros,
        record: bool,
        before: u64,
    ) -> Result<(i64, log::Facts), StoreError> {
        let Call { limit, cost, .. } = *call;
        let script = match self.naming.layout {
            Layout::SortedSet => &LOG_SORTED_SET,
            Layout::List => &LOG_LIST,
        };
        let horizon = now as i64 - limit.window() as i64; // both below 2^63
        let usual = cost == Cost::ONE && record && before == 0;
        self.naming.log(call.identity, &mut self.name);
        let request = &mut self.request;
        request.begin(script, 1, if usual { 4 } else { 7 });
        request.part(&self.name);
        request.number(Decimal::unsigned(now));
        request.number(Decimal::signed(horizon));
        request.limits([limit.max().into(), limit.window() / 1_000 + SLACK_MS]);
        if !usual {
            for number in [cost.units(), u64::from(record), before] {
                request.number(Decimal::unsigned(number));
            }
        }
        let mut reply = [0; 5];
        self.transport.run(request, &mut reply)?;

        let [admitted, facts @ ..] = reply;
        let [used, oldest, newest, blocking] = facts.map(not_negative);
        Ok((admitted, log::Facts { used, oldest, newest, blocking }))
    }

    /// Whether the script admitted, and the verdict. The earlier identities' counters are read
    /// first, and the call is decided no earlier than the newest window of any.
    fn counter(
        &mut self,
        call: &Call<'_>,
        mut now: Micros,
        record: bool,
    ) -> Result<(i64, Verdict), StoreError> {
        let mut earlier = Counts::default();
        for identity in call.earlier {
            let call = Call { identity, ..*call };
            let read = self.counter_facts(&call, now, false, earlier);
            let (_, counts, at) = read.map_err(StoreError::before_sending)?;
            earlier = counts;
            now = now.max(at.index * call.limit.window());
        }
        let (admitted, counts, at) = self.counter_facts(call, now, record, earlier)?;
        let decide = if record { counter::attempt } else { counter::peek };
        Ok((admitted, decide(counts, call.limit, call.cost, at.elapsed)))
    }

    /// Runs the counter's script, where the units of `earlier` count as well. Gives all that count,
    /// and where.
    fn counter_facts(
        &mut self,
        call: &Call<'_>,
        now: Micros,
        record: bool,
        earlier: Counts,
    ) -> Result<(i64, Counts, Position), StoreError> {
        let Call { limit, cost, .. } = *call;
        let at = Position::of(limit, now);
        // Only near its end can a window be overtaken before the answer.
        let late = limit.window() - at.elapsed <= self.transport.patience().saturating_add(SECOND);
        let keys = if late { 3 } else { 2 };
        let usual = cost == Cost::ONE && record && earlier == Counts::default();
        self.naming.counter(call.identity, &mut self.name);
        let request = &mut self.request;
        request.begin(&COUNTER, keys, if usual { 3 } else { 7 });
        self.name.extend_from_slice(window(at.index, -1).as_bytes());
        request.part(&self.name);
        request.one_higher();
        if late {
            request.one_higher();
        }
        request.limits([limit.window(), limit.max().into()]);
        request.number(Decimal::unsigned(at.elapsed));
        if !usual {
            for number in [cost.units(), u64::from(record), earlier.curr, earlier.prev] {
                request.number(Decimal::unsigned(number));
            }
        }
        let mut reply = [0; 4];
        self.transport.run(request, &mut reply)?;

        let [admitted, overtaken, curr, prev] = reply;
        let own = Counts { curr: not_negative(curr), prev: not_negative(prev) };
        let counts = own + earlier.moved(u64::from(overtaken == 1));
        let newest = at.index + u64::from(overtaken == 1);
        Ok((admitted, counts, at.no_earlier_than(newest)))
    }
}

impl RedisStore<SharedConnection> {
    /// How long the last call took, from when it began until its reply, microseconds.
    #[must_use]
    pub fn took(&self) -> Micros {
        self.transport.took()
    }
}

impl<T: Transport> RedisStore<T> {
    /// [`Store::settle`] of a log, at `now`.
    fn add_to_log(
        &mut self,
        call: &Call<'_>,
        debt: &[Owed],
        now: Micros,
    ) -> Result<(), StoreError> {
        let script = match self.naming.layout {
            Layout::SortedSet => &LOG_SORTED_SET_ADD,
            Layout::List => &LOG_LIST_ADD,
        };
        let lives = call.limit.window() / 1_000 + SLACK_MS;
        let counting = debt.iter().filter(|owed| owed.at + call.limit.window() > now);
        self.naming.log(call.identity, &mut self.name);
        self.request.begin(script, 1, 1 + 2 * counting.clone().count());
        self.request.part(&self.name);
        self.request.number(Decimal::unsigned(lives));
        for owed in counting {
            self.request.number(Decimal::unsigned(owed.at));
            self.request.number(Decimal::unsigned(owed.units));
        }
        self.transport.run(&self.request, &mut [0])
    }

    /// [`Store::settle`] of a counter, at `now`.
    fn add_to_counter(
        &mut self,
        call: &Call<'_>,
        debt: &[Owed],
        now: Micros,
    ) -> Result<(), StoreError> {
        let length = call.limit.window();
        let Some(newest) = debt.iter().map(|owed| owed.at).max() else { return Ok(()) };
        let index = newest / length;
        let units = |index: u64| -> u64 {
            debt.iter().filter(|owed| owed.at / length == index).map(|owed| owed.units).sum()
        };
        // A window's units count until the window after it ends.
        let lives = |index: u64| match ((index + 2) * length).saturating_sub(now) {
            0 => 0,
            left => left.min(2 * length).div_ceil(1_000) + SLACK_MS,
        };
        self.naming.counter(call.identity, &mut self.name);
        self.request.begin(&COUNTER_ADD, 2, 4);
        self.name.extend_from_slice(window(index, -1).as_bytes());
        self.request.part(&self.name);
        self.request.one_higher();
        for index in [index.saturating_sub(1), index] {
            self.request.number(Decimal::unsigned(units(index)));
            self.request.number(Decimal::unsigned(lives(index)));
        }
        self.transport.run(&self.request, &mut [0])
    }
}

impl<T: Transport> Store for RedisStore<T> {
    fn attempt(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError> {
        let now = self.begin()?;
        self.decide(call, now, true)
    }

    fn peek(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError> {
        let now = self.begin()?;
        self.decide(call, now, false)
    }

    fn reset(&mut self, call: &Call<'_>) -> Result<(), StoreError> {
        let now = self.begin()?;
        self.forget(call, now)
    }

    fn settle(&mut self, call: &Call<'_>, debt: &[Owed]) -> Result<(), StoreError> {
        let now = self.begin()?;
        match call.algorithm {
            Algorithm::Log => self.add_to_log(call, debt, now)?,
            Algorithm::Counter => self.add_to_counter(call, debt, now)?,
        }
        self.begun = Some(now);
        Ok(())
    }

    fn time(&self, steady: Micros) -> Micros {
        self.clock.stamp(self.mode, steady)
    }
}

/// A count or a time out of a reply. A time before the epoch counts as the epoch.
fn not_negative(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The number of the window `offset` windows after `index`, as a key ends with it. Microseconds are
/// below 2^63, so a number fits; before the epoch it is negative.
fn window(index: u64, offset: i64) -> Decimal {
    Decimal::signed(index as i64 + offset)
}
