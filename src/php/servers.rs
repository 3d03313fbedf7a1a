//! The clocks of the servers that this thread has limiters on. A limiter lives for a request, a
//! measured distance for longer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use crate::store::redis::ServerClock;

thread_local!(static CLOCKS: RefCell<BTreeMap<String, Rc<ServerClock>>> = RefCell::default());

/// Stands for a store: the same for the same store in every process of this host.
pub fn scope(store: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    store.hash(&mut hasher);
    hasher.finish()
}

/// The clock of the server at `endpoint`: the one known already, else `new`.
pub fn clock(endpoint: &str, new: impl FnOnce() -> Rc<ServerClock>) -> Rc<ServerClock> {
    CLOCKS.with(|clocks| match clocks.try_borrow_mut() {
        Ok(mut clocks) => clocks.entry(endpoint.to_owned()).or_insert_with(new).clone(),
        Err(_) => new(), // entered from a signal handler in the middle of the line above
    })
}
