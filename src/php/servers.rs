//! The servers that this thread has limiters on. A limiter lives for a request, what is known about
//! its server for longer.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use crate::store::redis::{Endpoint, ServerClock};

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Over the extension's own connection.
    Connection,
    /// Through the application's client object.
    Object,
}

/// What is known about a server.
#[derive(Clone)]
pub struct Server {
    pub clock: Rc<ServerClock>,
    pub way: Way,
    /// The stores on it: see [`crate::store::Host`].
    pub scopes: BTreeSet<u64>,
}

/// Stores on one server that are told apart here, so that an application that makes up prefixes does
/// not fill its workers' memory.
const MOST_SCOPES: usize = 64;

thread_local!(static SERVERS: RefCell<BTreeMap<String, Server>> = RefCell::default());

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

/// Stands for a store: the same for the same store in every process of this host.
pub fn scope(store: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    store.hash(&mut hasher);
    hasher.finish()
}

/// The clock of the server at `endpoint`, on which the store `scope` is: the one known already, else
/// `new`.
pub fn clock(
    endpoint: &str,
    scope: u64,
    way: Way,
    new: impl FnOnce() -> Rc<ServerClock>,
) -> Rc<ServerClock> {
    SERVERS.with(|servers| match servers.try_borrow_mut() {
        Ok(mut servers) => {
            if let Some(server) = servers.get_mut(endpoint) {
                if server.scopes.len() < MOST_SCOPES {
                    server.scopes.insert(scope);
                }
                return server.clock.clone();
            }
            let server = Server { clock: new(), way, scopes: BTreeSet::from([scope]) };
            servers.entry(endpoint.to_owned()).or_insert(server).clock.clone()
        }
        Err(_) => new(), // entered from a signal handler in the middle of the above
    })
}

/// All servers, by endpoint.
pub fn all() -> Vec<(String, Server)> {
    SERVERS.with(|servers| match servers.try_borrow() {
        Ok(servers) => {
            servers.iter().map(|(name, server)| (name.clone(), server.clone())).collect()
        }
        Err(_) => Vec::new(), // as above
    })
}
