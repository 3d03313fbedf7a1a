//! From the first argument of a limiter to the store that it stands for.

use std::rc::Rc;

use ext_php_rs::ffi::{IS_NULL, IS_OBJECT};
use ext_php_rs::types::Zval;

use super::call::{Args, wrong_class};
use super::client::{Client, Through};
use super::memory::Memory;
use super::object::{self, Kind};
use super::phpredis::{self, Handed};
use super::servers::{self, Lent};
use super::zend::Thrown;
use super::{exceptions, log, settings, settings_text};
use crate::clock;
use crate::core::identity::Key;
use crate::core::time::{Day, Micros};
use crate::core::verdict::Verdict;
use crate::limiter::{OnFailure, Remote};
use crate::store::redis::{ClockMode, Dsn, DsnError, Known, Naming, RedisStore};
use crate::store::shm::{Asked, ClockSeen, Shm};
use crate::store::{Call, Owed, Store, StoreError};
use crate::tally;

/// The classes and types of the first argument, as PHP writes them.
const TYPES: &str = "Redis|RedisCluster|Relay\\Relay|Predis\\ClientInterface|string|null";

/// Where a limiter's state lives.
pub enum Backend {
    /// This host's shared memory.
    Memory(Shm),
    /// A server, over the extension's own connection.
    Server {
        store: Lent,
        /// The `Redis` whose server it is, if it was handed one.
        redis: Option<Zval>,
    },
    /// A server, through the application's client object.
    Client(Box<Client>),
}

/// The first argument, checked for its type alone.
pub enum First<'a> {
    Setting,
    Text(&'a [u8]),
    Object(Zval, Kind),
}

impl<'a> First<'a> {
    /// Reads the `n`-th argument. What is no client may still be a string, or something that PHP
    /// makes one.
    pub fn read(args: &mut Args<'a>, n: u32) -> Result<Self, Thrown> {
        match args.kind(n) {
            IS_NULL => return Ok(Self::Setting),
            IS_OBJECT => {
                let object = args.get(n).shallow_clone();
                if let Some(kind) = object::kind(&object) {
                    return Ok(Self::Object(object, kind));
                }
            }
            _ => {}
        }
        args.string_or(n, |argument| wrong_class(n, TYPES, argument)).map(Self::Text)
    }
}

impl Backend {
    /// The store that the first argument stands for.
    pub fn open(first: First<'_>, on_failure: OnFailure) -> Result<Self, Thrown> {
        match first {
            First::Setting => Self::of_setting(),
            First::Text(text) => Self::from_text(text, "$redis"),
            First::Object(object, kind) => Self::from_object(object, kind, on_failure),
        }
    }

    /// The store that `rate_limit.store` names.
    pub fn of_setting() -> Result<Self, Thrown> {
        Self::from_text(&settings::text(c"rate_limit.store"), "rate_limit.store")
    }

    fn from_text(text: &[u8], name: &str) -> Result<Self, Thrown> {
        let refuse = |why: &dyn std::fmt::Display| {
            let shown = settings_text::without_secrets(text);
            exceptions::config(&format!("{name} = \"{shown}\" {why}"))
        };
        match text.strip_prefix(b"memory://") {
            Some(b"") => return Memory::required().map(Self::Memory),
            Some(_) => return Err(refuse(&"must end there: memory:// takes nothing after it")),
            None => {}
        }
        let store = servers::Store::of(text, || {
            let text = std::str::from_utf8(text).map_err(|_| refuse(&"must be UTF-8"))?;
            let dsn = Dsn::parse(text).map_err(|error| match error {
                DsnError::Scheme => refuse(&format_args!("{error}, or be memory://")),
                _ => refuse(&error),
            })?;
            Ok(servers::Store::new(dsn.endpoint, dsn.prefix))
        })?;
        Ok(Self::server(store, None))
    }

    fn from_object(object: Zval, kind: Kind, on_failure: OnFailure) -> Result<Self, Thrown> {
        if object::is_plain_redis(&object)
            && let Handed::Endpoint(endpoint, prefix) = phpredis::read(&object, on_failure)?
        {
            return Ok(Self::server(servers::Store::new(endpoint, prefix), Some(object)));
        }
        Ok(Self::Client(Box::new(Client::of(object, kind)?)))
    }

    fn server(on: Rc<servers::Store>, redis: Option<Zval>) -> Self {
        Self::Server { store: Lent::to(on), redis }
    }

    /// What is known of this store where it is not this host's memory.
    #[inline(always)]
    pub fn remote(&self) -> Option<Remote<'_>> {
        let (endpoint, scope) = match self {
            Self::Memory(_) => return None,
            Self::Server { store, .. } => (store.on.name.as_str(), store.on.scope),
            Self::Client(client) => (client.endpoint(), client.scope()),
        };
        let (deny_cache, breaker) = (settings::deny_cache(), settings::breaker() as u32);
        Some(Remote { scope, endpoint, deny_cache, breaker, report: log::failure })
    }

    /// The client object, for the garbage collector.
    pub fn object(&self) -> Option<&Zval> {
        match self {
            Self::Memory(_) => None,
            Self::Server { redis, .. } => redis.as_ref(),
            Self::Client(client) => Some(client.object()),
        }
    }

    /// Refuses while the application has a transaction or pipeline open on its client object: a
    /// command of ours would end up in it. Predis opens those on objects of their own.
    #[inline(always)]
    pub fn not_in_transaction(&self) -> Result<(), Thrown> {
        match self.object() {
            None => Ok(()),
            Some(object) => ask_mode(object, self),
        }
    }

    /// The exception of a client object that is behind the last failure.
    pub fn take_cause(&self) -> Option<Zval> {
        match self {
            Self::Client(client) => client.take_cause(),
            _ => None,
        }
    }

    /// The key of a day that all hosts share on this server. See [`RedisStore::salt`].
    pub fn salt(&self, day: Day, offered: &Key) -> Result<Key, StoreError> {
        match self {
            Self::Server { store, .. } => match store.try_borrow_mut() {
                Ok(mut store) => store.salt(day, offered, clock::wall()),
                Err(_) => Err(StoreError::InUse { endpoint: store.on.name.clone() }),
            },
            _ => unreachable!("rate_limit.store is no client object, and memory has no keys"),
        }
    }

    /// Whether asking it may run PHP code.
    pub fn runs_php(&self) -> bool {
        matches!(self, Self::Client(_))
    }

    /// Asks a server, and notes how that went.
    #[inline(never)]
    fn ask_server<R>(
        &self,
        ask: impl FnOnce(&mut dyn Store) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let (answer, asked) = match self {
            Self::Memory(shared) => return ask(&mut { *shared }),
            Self::Server { store, .. } => match store.try_borrow_mut() {
                Ok(mut lent) => {
                    let answer = ask(&mut *lent);
                    let (took, clock) = (lent.took(), lent.clock());
                    (answer, Asked { took, clock: seen(clock), ..store.on.asked() })
                }
                Err(_) => return Err(StoreError::InUse { endpoint: store.on.name.clone() }),
            },
            Self::Client(client) => {
                let began = clock::steady();
                let naming = Naming {
                    prefix: client.prefix().to_vec(),
                    cluster: client.is_cluster(),
                    layout: settings::log_layout(),
                };
                let answer = ask(&mut RedisStore::new(Through(client), naming, settings::clock()));
                let took = clock::steady().saturating_sub(began);
                (answer, Asked { took, clock: seen(client.clock().known()), ..client.asked() })
            }
        };
        if let Some(shm) = tally::attached() {
            shm.asked(&Asked { failure: answer.as_ref().err(), ..asked });
        }
        answer
    }
}

/// What is known about a server's clock, where that corrects stamps.
fn seen(clock: Known) -> ClockSeen {
    match clock {
        _ if settings::clock() == ClockMode::Host => ClockSeen::Unknown,
        Known::Nothing => ClockSeen::Unknown,
        Known::Refused => ClockSeen::Refused,
        Known::Distance(ahead) => ClockSeen::Ahead(ahead),
    }
}

/// Shared memory first and inlined: there a call takes less time than a detour.
impl Store for &Backend {
    #[inline(always)]
    fn attempt(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError> {
        match **self {
            Backend::Memory(mut shared) => shared.attempt(call).map_err(logged),
            _ => self.ask_server(|store| store.attempt(call)),
        }
    }

    #[inline(always)]
    fn peek(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError> {
        match **self {
            Backend::Memory(mut shared) => shared.peek(call).map_err(logged),
            _ => self.ask_server(|store| store.peek(call)),
        }
    }

    fn reset(&mut self, call: &Call<'_>) -> Result<(), StoreError> {
        self.ask_server(|store| store.reset(call))
    }

    fn settle(&mut self, call: &Call<'_>, debt: &[Owed]) -> Result<(), StoreError> {
        self.ask_server(|store| store.settle(call, debt))
    }

    fn time(&self, steady: Micros) -> Micros {
        match self {
            Backend::Memory(shared) => shared.time(steady),
            Backend::Server { store, .. } => match store.try_borrow() {
                Ok(store) => store.time(steady),
                Err(_) => clock::wall(), // as in `ask_server`
            },
            Backend::Client(client) => client.clock().stamp(settings::clock(), steady),
        }
    }
}

#[cold]
fn logged(error: StoreError) -> StoreError {
    log::failure(&error);
    error
}

fn ask_mode(object: &Zval, backend: &Backend) -> Result<(), Thrown> {
    if matches!(backend, Backend::Client(client) if client.kind() == Kind::Predis) {
        return Ok(());
    }
    let mode = object::ask(object, "getMode", vec![])?;
    match mode.as_ref().and_then(Zval::long) {
        None | Some(0) => Ok(()), // Redis::ATOMIC, or no connection to have one on
        Some(_) => Err(exceptions::config(
            "$redis has a transaction or pipeline open: a limiter needs its answer at once, so \
             check before multi() or after exec()",
        )),
    }
}
