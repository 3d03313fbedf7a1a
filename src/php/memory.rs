//! The region of shared memory: mapped once at module start, so that all workers that are forked
//! from this process share it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use super::zend::Thrown;
use super::{exceptions, log, settings};
use crate::core::time::Micros;
use crate::core::verdict::Verdict;
use crate::store::shm::{self, Flags, KeyRing, Region, RegionConfig, Shm, watch_forks};
use crate::store::{Call, Denial, Gate, Host, Owed, StoreError, Ticket};

/// What this process and its children share.
struct Shared {
    /// The region, or why there is none.
    region: Result<Region, String>,
    /// What was said already.
    said: Option<Flags>,
    /// The managed keys.
    keys: Option<KeyRing>,
    /// The process that mapped it.
    owner: u32,
}

/// Relaxed everywhere: changes at module start and end alone, when no request runs.
static SHARED: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());

/// What is said once, whichever worker comes to it first.
#[derive(Clone, Copy)]
pub enum Notice {
    RandomSalt,
    ShortSalt,
}

/// Maps the region. Without one PHP goes on, and whoever asks for `memory://` is told why.
pub fn map() {
    watch_forks();
    let file = settings::text(c"rate_limit.memory_file");
    let config = RegionConfig {
        size: usize::try_from(settings::memory_size()).unwrap_or(usize::MAX),
        file: (!file.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(&file))),
    };
    let region = Region::map(&config).map_err(|error| error.to_string());
    match &region {
        Ok(region) => region.notice().into_iter().for_each(log::warn),
        Err(error) => log::warn(error),
    }
    let (said, keys) = (Flags::map().ok(), KeyRing::map().ok());
    let shared = Shared { region, said, keys, owner: std::process::id() };
    SHARED.store(Box::into_raw(Box::new(shared)), Relaxed);
}

/// Gives the memory back, in the process that mapped it. At module end: LiteSpeed runs that in
/// every child too, while others still work.
pub fn unmap() {
    if is_inherited() {
        return;
    }
    let shared = SHARED.swap(ptr::null_mut(), Relaxed);
    if !shared.is_null() {
        // SAFETY: `map` made it by Box::into_raw; limiters, which borrow the region, ended with the
        // last request.
        drop(unsafe { Box::from_raw(shared) });
    }
}

fn shared() -> Option<&'static Shared> {
    // SAFETY: null, or what `map` made, which lives until the module ends.
    unsafe { SHARED.load(Relaxed).as_ref() }
}

/// The region, or why there is none.
pub fn region() -> Result<&'static Region, &'static str> {
    match shared().map(|shared| &shared.region) {
        Some(Ok(region)) => Ok(region),
        Some(Err(error)) => Err(error),
        None => Err("the module has not started"),
    }
}

/// Whether other workers look at the same region: it is in a file, or this process inherited it. One
/// that mapped its own is alone with it until it forks.
pub fn is_shared() -> bool {
    is_inherited() || !settings::text(c"rate_limit.memory_file").is_empty()
}

fn is_inherited() -> bool {
    shared().is_some_and(|shared| shared.owner != std::process::id())
}

/// Whether no worker of this parent has said `notice` since the module was started.
pub fn first(notice: Notice) -> bool {
    let said = shared().and_then(|shared| shared.said.as_ref());
    said.is_none_or(|said| said.first(notice as u32))
}

/// The keys that this process shares with its parent's other children, unless the system gave no
/// memory for them.
pub fn key_ring() -> Option<&'static KeyRing> {
    shared()?.keys.as_ref()
}

/// This host's shared memory as a store, in the namespace that holds now.
#[derive(Clone, Copy)]
pub struct Memory(Option<Shm>);

impl Memory {
    /// Memory that may be missing: then it fails when it is asked.
    pub fn now() -> Self {
        Self(region().ok().map(|region| region.shm(namespace())))
    }

    /// Memory that is there.
    pub fn required() -> Result<Shm, Thrown> {
        Self::now().get().map_err(|error| exceptions::config(&error.to_string()))
    }

    /// The memory, where there is some.
    pub fn shm(&self) -> Option<Shm> {
        self.0
    }

    fn get(&self) -> Result<Shm, StoreError> {
        self.0.ok_or_else(|| StoreError::Unavailable {
            endpoint: "memory://".to_owned(),
            detail: region().err().unwrap_or_default().to_owned(),
            sent: false,
        })
    }
}

/// Without a region nothing is remembered and every caller tries.
impl Host for &Memory {
    #[inline]
    fn denial(&self, scope: u64, call: &Call<'_>, now: Micros) -> Denial {
        self.0.map_or(Denial::Unknown(None), |shm| shm.denial(scope, call, now))
    }

    fn remember(&self, ticket: Ticket, verdict: &Verdict, asked: Micros) {
        if let Some(shm) = self.0 {
            shm.remember(ticket, verdict, asked);
        }
    }

    fn forget(&self, scope: u64, call: &Call<'_>) {
        if let Some(shm) = self.0 {
            shm.forget(scope, call);
        }
    }

    #[inline]
    fn gate(&self, scope: u64, now: Micros, retry_interval: Micros) -> Gate {
        self.0.map_or(Gate::Open { debts: false }, |shm| shm.gate(scope, now, retry_interval))
    }

    #[inline]
    fn answered(&self, scope: u64) {
        if let Some(shm) = self.0 {
            shm.answered(scope);
        }
    }

    fn failed(&self, scope: u64, now: Micros, most: u32, retry_interval: Micros) -> bool {
        self.0.is_none_or(|shm| shm.failed(scope, now, most, retry_interval))
    }

    fn admitted(&self, scope: u64, call: &Call<'_>, now: Micros, at: Micros) {
        if let Some(shm) = self.0 {
            shm.admitted(scope, call, now, at);
        }
    }

    fn time(&self, scope: u64, now: Micros) -> Option<Micros> {
        self.0?.time(scope, now)
    }

    fn decide(
        &self,
        scope: u64,
        call: &Call<'_>,
        at: Micros,
        record: bool,
    ) -> Result<Verdict, StoreError> {
        self.get()?.decide(scope, call, at, record)
    }

    fn owe(&self, scope: u64, call: &Call<'_>, now: Micros, debt: &[Owed]) {
        if let Some(shm) = self.0 {
            shm.owe(scope, call, now, debt);
        }
    }

    fn take_debt(&self, scope: u64, call: &Call<'_>, into: &mut [Owed]) -> usize {
        self.0.map_or(0, |shm| shm.take_debt(scope, call, into))
    }
}

/// `rate_limit.namespace`, by default the effective user id: that of the worker, which may differ
/// from the one that mapped the region.
pub fn namespace() -> u64 {
    // SAFETY: always succeeds.
    let user = unsafe { libc::geteuid() };
    settings::namespace().unwrap_or_else(|| shm::namespace(b"", user))
}
