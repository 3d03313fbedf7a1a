//! What outlives a limiter of the servers that this thread has limiters on: where a DSN leads, the way
//! there, and the measured distance of the server's clock. A limiter lives for a request.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;

use super::settings;
use crate::core::time::Micros;
use crate::store::redis::{
    ClockMode, Endpoint, Layout, Naming, Options, RedisStore, Server, ServerClock,
    SharedConnection, Transport as _, connection,
};
use crate::store::scope;
use crate::store::shm::{Asked, ClockSeen};

thread_local!(static CLOCKS: RefCell<BTreeMap<String, Rc<ServerClock>>> = RefCell::default());

/// A store that a DSN leads to, read once and not for each limiter.
pub struct Store {
    pub endpoint: Endpoint,
    pub prefix: Vec<u8>,
    /// The endpoint without credentials.
    pub name: String,
    /// Stands for server, credentials and prefix. See [`crate::store::Host`].
    pub scope: u64,
    /// Stands for `name`.
    name_hash: u64,
    connection: SharedConnection,
    spare: Cell<Option<Box<Way>>>,
}

/// How limiters come to a store: the state of one while it lives, and then of the next, since making it
/// takes a part of the time of a call.
type Way = (Setup, RefCell<RedisStore<SharedConnection>>);

/// The settings that a way was made under.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Setup {
    timeout: Micros,
    layout: Layout,
    clock: ClockMode,
}

/// A limiter's way to a store.
pub struct Lent {
    /// Always there but in `drop`.
    way: Option<Box<Way>>,
    /// Where it leads.
    pub on: Rc<Store>,
}

impl Lent {
    /// The way to `on` under the settings in force.
    pub fn to(on: Rc<Store>) -> Self {
        let (layout, clock) = (settings::log_layout(), settings::clock());
        let setup = Setup { timeout: settings::timeout(), layout, clock };
        let spare = on.spare.take().filter(|way| way.0 == setup);
        let way = spare.unwrap_or_else(|| Box::new((setup, RefCell::new(on.way(setup)))));
        Self { way: Some(way), on }
    }
}

impl Deref for Lent {
    type Target = RefCell<RedisStore<SharedConnection>>;

    fn deref(&self) -> &Self::Target {
        &self.way.as_deref().expect("taken in drop alone").1
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.on.spare.set(self.way.take());
    }
}

/// DSNs that are kept, so that an application that makes them up does not fill its workers' memory.
const MOST_DSNS: usize = 64;

thread_local!(static STORES: RefCell<BTreeMap<Vec<u8>, Rc<Store>>> = RefCell::default());

impl Store {
    /// The store with these keys on this server.
    pub fn new(endpoint: Endpoint, prefix: Vec<u8>) -> Rc<Self> {
        let name = endpoint.to_string();
        let connection = connection(&endpoint, Options { timeout: 0 }); // callers have their own
        clock(&name, || connection.clock());
        let (scope, name_hash) = (scope(&(&endpoint, &prefix)), scope(&name));
        let spare = Cell::default();
        Rc::new(Self { endpoint, prefix, name, scope, name_hash, connection, spare })
    }

    fn way(&self, Setup { timeout, layout, clock }: Setup) -> RedisStore<SharedConnection> {
        let cluster = matches!(self.endpoint.server, Server::Cluster(_));
        let naming = Naming { prefix: self.prefix.clone(), cluster, layout };
        RedisStore::new(self.connection.with(Options { timeout }), naming, clock)
    }

    /// A question to it, of which nothing is known yet.
    pub fn asked(&self) -> Asked<'_> {
        asked(&self.name, self.name_hash, self.scope, false)
    }

    /// What `dsn` leads to, by `read` where it was not read before.
    pub fn of<E>(dsn: &[u8], read: impl FnOnce() -> Result<Rc<Self>, E>) -> Result<Rc<Self>, E> {
        let known = STORES.with(|stores| stores.try_borrow().ok()?.get(dsn).cloned());
        if let Some(store) = known {
            return Ok(store);
        }
        let store = read()?;
        STORES.with(|stores| {
            // Not in a signal handler that interrupted this.
            let mut stores = stores.try_borrow_mut().ok().filter(|s| s.len() < MOST_DSNS)?;
            stores.insert(dsn.to_vec(), store.clone())
        });
        Ok(store)
    }
}

/// A question to a store, of which nothing is known yet.
pub fn asked(endpoint: &str, endpoint_hash: u64, scope: u64, object: bool) -> Asked<'_> {
    let clock = ClockSeen::Unknown;
    Asked { scope, endpoint, endpoint_hash, object, took: 0, failure: None, clock }
}

/// The clock of the server at `endpoint`: the one known already, else `new`.
pub fn clock(endpoint: &str, new: impl FnOnce() -> Rc<ServerClock>) -> Rc<ServerClock> {
    CLOCKS.with(|clocks| match clocks.try_borrow_mut() {
        Ok(mut clocks) => clocks.entry(endpoint.to_owned()).or_insert_with(new).clone(),
        Err(_) => new(), // entered from a signal handler in the middle of the line above
    })
}
