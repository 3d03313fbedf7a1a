//! The region of shared memory: mapped once at module start, so that all workers that are forked
//! from this process share it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};

use sha2::{Digest, Sha256};

use super::zend::Thrown;
use super::{exceptions, log, settings};
use crate::core::verdict::Verdict;
use crate::store::shm::{Region, RegionConfig, Shm};
use crate::store::{Call, Store, StoreError};

// Written at module start and end, when no request runs, so Relaxed is enough for all of them.
static REGION: AtomicPtr<Region> = AtomicPtr::new(ptr::null_mut());
static OWNER: AtomicU32 = AtomicU32::new(0);
static FAILURE: Mutex<String> = Mutex::new(String::new());

/// What is said once.
#[derive(Clone, Copy)]
pub enum Notice {
    RandomSalt,
    ShortSalt,
}

/// Maps the region. Without one PHP goes on, and whoever asks for `memory://` is told why.
pub fn map() {
    let file = settings::text(c"rate_limit.memory_file");
    let config = RegionConfig {
        size: usize::try_from(settings::memory_size()).unwrap_or(usize::MAX),
        file: (!file.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(&file))),
    };
    match Region::map(&config) {
        Ok(region) => {
            OWNER.store(std::process::id(), Relaxed);
            REGION.store(Box::into_raw(Box::new(region)), Relaxed);
        }
        Err(error) => {
            log::warn(&error.to_string());
            *FAILURE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = error.to_string();
        }
    }
}

/// Gives the region back, in the process that mapped it. At module end: LiteSpeed runs that in
/// every child too, while others still work.
pub fn unmap() {
    if OWNER.load(Relaxed) != std::process::id() {
        return;
    }
    let region = REGION.swap(ptr::null_mut(), Relaxed);
    if !region.is_null() {
        // SAFETY: `map` made it by Box::into_raw; limiters, which borrow it, ended with the last
        // request.
        drop(unsafe { Box::from_raw(region) });
    }
}

/// The region, if it could be mapped.
pub fn region() -> Option<&'static Region> {
    // SAFETY: null, or a region that lives until the module ends.
    unsafe { REGION.load(Relaxed).as_ref() }
}

/// Whether nobody on this host has said `notice` since the module was started.
pub fn first(notice: Notice) -> bool {
    static SAID: AtomicU32 = AtomicU32::new(0);
    let bit = 1 << notice as u32;
    SAID.fetch_or(bit, Relaxed) & bit == 0
}

/// This host's shared memory as a store, in the namespace that holds now.
#[derive(Clone, Copy)]
pub struct Memory(Option<Shm>);

impl Memory {
    /// Memory that may be missing: then it fails when it is asked.
    pub fn now() -> Self {
        Self(region().map(|region| region.shm(namespace())))
    }

    /// Memory that is there.
    pub fn required() -> Result<Shm, Thrown> {
        Self::now().0.ok_or_else(|| exceptions::config(&format!("memory:// needs {}", failure())))
    }

    fn get(&self) -> Result<Shm, StoreError> {
        let missing =
            || StoreError::Unavailable { endpoint: "memory://".to_owned(), detail: failure() };
        self.0.ok_or_else(missing)
    }
}

impl Store for &Memory {
    fn attempt(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError> {
        self.get()?.attempt(call)
    }

    fn peek(&mut self, call: &Call<'_>) -> Result<Verdict, StoreError> {
        self.get()?.peek(call)
    }

    fn reset(&mut self, call: &Call<'_>) -> Result<(), StoreError> {
        self.get()?.reset(call)
    }
}

/// Whether this process inherited the region, so that the other workers look at the same one. One
/// that mapped it by itself is alone with it until it forks.
pub fn is_shared() -> bool {
    OWNER.load(Relaxed) != std::process::id()
}

/// Why there is no region.
pub fn failure() -> String {
    FAILURE.lock().map_or_else(|_| String::new(), |text| text.clone())
}

/// `rate_limit.namespace`, by default the effective user id: that of the worker, which may differ
/// from the one that mapped the region.
fn namespace() -> u64 {
    let name = settings::text(c"rate_limit.namespace");
    let digest = if name.is_empty() {
        // SAFETY: always succeeds.
        let user = unsafe { libc::geteuid() };
        Sha256::digest(format!("user {user}"))
    } else {
        Sha256::digest([b"name ", name.as_slice()].concat())
    };
    u64::from_le_bytes(std::array::from_fn(|i| digest[i]))
}
