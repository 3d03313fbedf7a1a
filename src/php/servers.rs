//! The clocks of the servers that this thread has limiters on. A limiter lives for a request, a
//! measured distance for longer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::store::redis::{
    Endpoint, Options, ServerClock, SharedConnection, Transport as _, connection,
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
    /// This thread's connection to it.
    pub connection: SharedConnection,
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
        Rc::new(Self { endpoint, prefix, name, scope, name_hash, connection })
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
