//! `rate_limit.salt = "managed"`: a random key for each UTC day, which nobody chose and nobody reads.
//!
//! Where `rate_limit.store` is a server, hosts agree on a day's key there: the first that needs one
//! offers it. Each host keeps a copy in its [`KeyRing`] and offers it again every [`CONFIRMED_FOR`],
//! so that a key which the server lost comes back. Else the workers of this host share a ring alone.
//! A process keeps keys for a request, and not for longer than that, and a ring until their last use
//! has passed.

use std::cell::RefCell;
use std::rc::Rc;

use rand::TryRng;
use rand::rngs::SysRng;

use super::backend::Backend;
use super::memory::{self, Memory, namespace};
use super::zend::Thrown;
use super::{exceptions, settings};
use crate::clock;
use crate::core::identity::{Key, Salt};
use crate::core::time::{Day, Micros, SECOND};
use crate::limiter::OnFailure;
use crate::store::scope;
use crate::store::shm::{Kept, KeyName, KeyRing};

/// How long a host goes by its copy of a key before it asks the server again, microseconds.
const CONFIRMED_FOR: Micros = 10 * SECOND;

/// A salt that this request uses.
struct InUse {
    day: Day,
    salt: Rc<Salt>,
    /// When it was asked for, by the steady clock.
    since: Micros,
}

thread_local!(static IN_USE: RefCell<Vec<InUse>> = const { RefCell::new(Vec::new()) });

/// The salt of a day, the same throughout a request, but in a process that serves one without an end
/// (a worker of a queue) asked for again every [`CONFIRMED_FOR`].
pub fn salt(day: Day) -> Result<Rc<Salt>, Thrown> {
    let now = clock::steady();
    let known = IN_USE.with(|salts| {
        let mut salts = salts.try_borrow_mut().ok()?; // in use: entered from a signal handler
        salts.retain(|known| now.saturating_sub(known.since) < CONFIRMED_FOR);
        salts.iter().find(|known| known.day == day).map(|known| known.salt.clone())
    });
    if let Some(salt) = known {
        return Ok(salt);
    }
    let salt = Rc::new(Salt::new(&*key(day)?));
    let kept = InUse { day, salt: salt.clone(), since: now };
    IN_USE.with(|salts| salts.try_borrow_mut().map(|mut salts| salts.push(kept)).ok()); // as above
    Ok(salt)
}

/// Forgets the salts, and wipes keys that are of no more use to anybody on this host.
pub fn end_request() {
    IN_USE.with(|salts| salts.try_borrow_mut().map(|mut salts| salts.clear()).ok());
    if settings::salt_is_managed()
        && let Some(ring) = memory::key_ring()
    {
        ring.wipe_expired(clock::wall());
    }
}

fn key(day: Day) -> Result<Key, Thrown> {
    let ring = memory::key_ring().ok_or_else(|| {
        exceptions::config("rate_limit.salt = \"managed\": this host gives no memory for the keys")
    })?;
    if !settings::enabled() {
        return host_key(ring, day); // limiters ask nobody, so neither does this
    }
    let store = settings::text(c"rate_limit.store");
    if store != b"memory://" {
        return shared_key(ring, KeyName { scope: scope(&(store, namespace())), day });
    }
    if !settings::text(c"rate_limit.memory_file").is_empty() {
        return Err(exceptions::config(
            "rate_limit.salt = \"managed\" with rate_limit.memory_file needs a rate_limit.store on \
             Redis: processes that share a file alone have no place for a key, which must not stand \
             in one",
        ));
    }
    host_key(ring, day)
}

/// The key that all hosts with this store share.
fn shared_key(ring: &KeyRing, name: KeyName) -> Result<Key, Thrown> {
    let copy = match ring.find(name, clock::steady(), CONFIRMED_FOR) {
        Ok(Some(Kept { key, due: false })) => return Ok(key),
        Ok(kept) => kept.map(|kept| kept.key),
        Err(_) => None, // another worker holds the ring; the server has the key as well
    };
    let offered = copy.clone().map_or_else(random, Ok)?;
    let backend = Backend::of_setting()?;
    let remote = backend.remote().expect("a store that is not memory");
    let ask = || backend.salt(name.day, &offered);
    match remote.ask(&&Memory::now(), settings::retry_interval(), ask) {
        Ok(key) => {
            if copy.as_ref() != Some(&key) {
                // Where there is no room, this host asks the server each time.
                let _ = ring.replace(name, &key, clock::steady());
            }
            Ok(key)
        }
        Err(failure) => match (copy, settings::on_failure()) {
            (Some(key), _) => Ok(key),
            (None, OnFailure::Throw) => Err(exceptions::store(&failure.error, None)),
            // The limiter will answer by the same policy; until then, a key of this host's own.
            (None, _) => host_key(ring, name.day),
        },
    }
}

/// The key that the workers of this host share.
fn host_key(ring: &KeyRing, day: Day) -> Result<Key, Thrown> {
    let name = KeyName { scope: namespace(), day };
    let key = ring.first(name, random()?, clock::steady());
    key.map_err(|error| exceptions::store(&error, None))
}

/// From the system, since a generator's state would be the same in all workers of one parent.
fn random() -> Result<Key, Thrown> {
    let mut key = Key::default();
    let made = SysRng.try_fill_bytes(&mut *key);
    made.map_err(|error| exceptions::error(&format!("no random bytes: {error}")))?;
    Ok(key)
}
