//! The clocks of the servers that this thread has limiters on. A limiter lives for a request, a
//! measured distance for longer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::store::redis::{Endpoint, ServerClock};
use crate::store::scope;

thread_local!(static CLOCKS: RefCell<BTreeMap<String, Rc<ServerClock>>> = RefCell::default());

/// A store that a DSN leads to, read once and not for each limiter.
pub struct Store {
    pub endpoint: Endpoint,
    pub prefix: Vec<u8>,
    /// The endpoint without credentials.
    pub name: String,
    /// Stands for server, credentials and prefix. See [`crate::store::Host`].
    pub scope: u64,
}

/// DSNs that are kept, so that an application that makes them up does not fill its workers' memory.
const MOST_DSNS: usize = 64;

thread_local!(static STORES: RefCell<BTreeMap<Vec<u8>, Rc<Store>>> = RefCell::default());

impl Store {
    /// The store with these keys on this server.
    pub fn new(endpoint: Endpoint, prefix: Vec<u8>) -> Rc<Self> {
        let (name, scope) = (endpoint.to_string(), scope(&(&endpoint, &prefix)));
        Rc::new(Self { endpoint, prefix, name, scope })
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

/// The clock of the server at `endpoint`: the one known already, else `new`.
pub fn clock(endpoint: &str, new: impl FnOnce() -> Rc<ServerClock>) -> Rc<ServerClock> {
    CLOCKS.with(|clocks| match clocks.try_borrow_mut() {
        Ok(mut clocks) => clocks.entry(endpoint.to_owned()).or_insert_with(new).clone(),
        Err(_) => new(), // entered from a signal handler in the middle of the line above
    })
}
