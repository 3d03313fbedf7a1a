//! Every system call and every C call of this module: mapping, locks, forks.

use std::cell::UnsafeCell;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::{c_int, pthread_mutex_t, pthread_mutexattr_t};

use super::layout::Span;
use crate::clock;
use crate::core::time::{Micros, SECOND};

/// How long a call waits for locks, microseconds. Long enough that a worker which was merely
/// pushed off the processor comes back, short enough that nobody notices the rest.
const PATIENCE: Micros = 40_000;

// Not in the libc crate for Linux.
unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
    fn pthread_mutexattr_setrobust(attr: *mut pthread_mutexattr_t, robustness: c_int) -> c_int;
    fn pthread_mutex_consistent(mutex: *mut pthread_mutex_t) -> c_int;
    #[cfg(target_env = "gnu")]
    fn pthread_mutex_clocklock(
        mutex: *mut pthread_mutex_t,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int;
}

const PTHREAD_MUTEX_ROBUST: c_int = 1;

/// Makes [`crate::process::generation`] count this process's forks from now on. Calling it again
/// changes nothing.
pub fn watch_forks() {
    extern "C" fn child() {
        crate::process::forked();
    }
    // Not a `Once`: a child that is forked while another thread is in it would wait for ever.
    static DONE: AtomicBool = AtomicBool::new(false);
    // Relaxed: it orders nothing.
    if !DONE.swap(true, Relaxed) {
        // SAFETY: `child` does nothing but add to an atomic, which is safe after a fork in any
        // process. Out of memory is the only failure; then it is as if this were never called.
        unsafe { pthread_atfork(None, None, Some(child)) };
    }
}

/// Whether this processor has the compare-and-swap of 16 bytes that an x86-64 build takes for granted
/// (`.cargo/config.toml`).
#[cfg(target_arch = "x86_64")]
pub(super) fn processor_swaps_16_bytes() -> bool {
    #[allow(unused_unsafe)] // it is safe from some Rust on
    // SAFETY: every x86-64 processor has CPUID and its leaf 1.
    let features = unsafe { std::arch::x86_64::__cpuid(1) }.ecx;
    features & 1 << 13 != 0 // CMPXCHG16B
}

/// As above; elsewhere the build asks.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn processor_swaps_16_bytes() -> bool {
    true
}

/// A mapping that is shared with other processes, unmapped when dropped.
pub(super) struct Segment {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: the mapping is reached only as atomics and locks (layout, invariant 1).
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Maps `size` zero bytes, shared with the children of this process and nobody else.
    pub fn anonymous(size: usize) -> io::Result<Self> {
        Self::map(size, libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1)
    }

    /// Maps the first `size` bytes of `file`, which must have them: touching what a file does not have
    /// ends in a signal.
    pub fn file(file: &File, size: usize) -> io::Result<Self> {
        Self::map(size, libc::MAP_SHARED, file.as_raw_fd())
    }

    fn map(size: usize, flags: c_int, file: c_int) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, access, flags, file, 0) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, size }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Keeps what is in it out of swap and core dumps, where the system lets us.
    pub fn hide(&self) {
        // SAFETY: this mapping, all of it; changes nothing in it.
        unsafe { libc::mlock(self.start.as_ptr().cast(), self.size) };
        // SAFETY: as above.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.size, libc::MADV_DONTDUMP) };
    }

    /// The parts of `span`, each a `T`.
    ///
    /// # Safety
    /// `T` is a type of the layout (invariant 1), and nothing outlives `self`.
    pub unsafe fn section<T>(&self, span: Span) -> Section<T> {
        assert!(span.offset.is_multiple_of(align_of::<T>()));
        assert!(span.offset + span.count * size_of::<T>() <= self.size);
        // SAFETY: the offset lies in the mapping, as was just asserted.
        let first = unsafe { self.start.add(span.offset) };
        Section { first: first.cast(), count: span.count }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `map` made, and sections do not outlive it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

/// Gives `file` `size` bytes and the space for them, so that a full file system says so now.
pub(super) fn reserve(file: &File, size: usize) -> io::Result<()> {
    let size = libc::off_t::try_from(size).map_err(io::Error::other)?;
    // SAFETY: an open file of ours; nothing in memory is touched.
    check(unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, size) })
}

/// A file that is locked against everybody else who asks, until this is dropped.
pub(super) struct LockedFile<'a>(&'a File);

impl<'a> LockedFile<'a> {
    /// `None`: somebody else has it locked.
    pub fn new(file: &'a File) -> io::Result<Option<Self>> {
        // SAFETY: an open file of ours; nothing in memory is touched.
        match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
            0 => Ok(Some(Self(file))),
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                error => Err(error),
            },
        }
    }
}

impl Drop for LockedFile<'_> {
    /// Closing would not do: a child that was forked meanwhile has the file open too.
    fn drop(&mut self) {
        // SAFETY: an open file of ours; nothing in memory is touched.
        unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_UN) };
    }
}

/// The user whose rights this process has.
pub(super) fn effective_user() -> u32 {
    // SAFETY: cannot fail and touches nothing.
    unsafe { libc::geteuid() }
}

/// A slice of a segment.
pub(super) struct Section<T> {
    first: NonNull<T>,
    count: usize,
}

// SAFETY: gives out shared references alone.
unsafe impl<T: Sync> Send for Section<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Section<T> {}

impl<T> Deref for Section<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `Segment::section` checked place and alignment, and its caller promised that `T`
        // takes any bits (layout, invariant 1) and that the segment is still mapped.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

/// A lock in shared memory that passes to the next who asks when its holder dies, and says so.
///
/// Asking again for a lock that this thread holds (from a signal handler) fails at once.
#[repr(C)]
pub(super) struct Mutex(UnsafeCell<pthread_mutex_t>);

// SAFETY: a pthread mutex is made to be shared between threads, and this one between processes.
unsafe impl Send for Mutex {}
// SAFETY: as above.
unsafe impl Sync for Mutex {}

/// A lock that is held until this is dropped.
pub(super) struct Held<'a> {
    mutex: &'a Mutex,
    /// The last holder died and may have left something half done.
    pub orphaned: bool,
    /// The thread that took it gives it back.
    _not_send: PhantomData<*const ()>,
}

/// Why a lock was not given: others have held it for this long, in microseconds (0: it is held by
/// this very thread, or waiting was not asked for).
pub(super) struct NotGiven {
    pub after: Micros,
}

impl Mutex {
    /// Makes this an unlocked lock.
    ///
    /// # Safety
    /// Nobody else uses it yet, nor has it been initialised in this place before.
    pub unsafe fn init(&self) -> io::Result<()> {
        let mut attributes = MaybeUninit::<pthread_mutexattr_t>::uninit();
        let attributes = attributes.as_mut_ptr();
        // SAFETY: writes what is ours.
        check(unsafe { libc::pthread_mutexattr_init(attributes) })?;
        // SAFETY: initialised above, as for the next three.
        check(unsafe {
            libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED)
        })?;
        // SAFETY: as above.
        check(unsafe { pthread_mutexattr_setrobust(attributes, PTHREAD_MUTEX_ROBUST) })?;
        // SAFETY: as above.
        check(unsafe {
            libc::pthread_mutexattr_settype(attributes, libc::PTHREAD_MUTEX_ERRORCHECK)
        })?;
        // SAFETY: the caller promised that nobody uses the place.
        check(unsafe { libc::pthread_mutex_init(self.0.get(), attributes) })
    }

    /// Takes the lock if nobody has it.
    pub fn try_lock(&self) -> Result<Held<'_>, NotGiven> {
        self.given(self.ask(), 0)
    }

    /// Takes the lock, waiting at most [`PATIENCE`].
    pub fn lock(&self) -> Result<Held<'_>, NotGiven> {
        match self.ask() {
            libc::EBUSY => self.given(self.wait(), PATIENCE),
            at_once => self.given(at_once, 0),
        }
    }

    fn ask(&self) -> c_int {
        // SAFETY: initialised before the region was shared.
        unsafe { libc::pthread_mutex_trylock(self.0.get()) }
    }

    #[cold]
    fn wait(&self) -> c_int {
        let until = clock::monotonic() + PATIENCE;
        let until = libc::timespec {
            tv_sec: (until / SECOND) as libc::time_t,
            tv_nsec: (until % SECOND * 1_000) as libc::c_long,
        };
        // SAFETY: initialised before the region was shared; `until` outlives the call.
        let answer = unsafe {
            pthread_mutex_clocklock(self.0.get(), libc::CLOCK_MONOTONIC, &raw const until)
        };
        // It may be this thread that was off the processor all the while, and the lock free.
        if answer == libc::ETIMEDOUT { self.ask() } else { answer }
    }

    fn given(&self, answer: c_int, waited: Micros) -> Result<Held<'_>, NotGiven> {
        match answer {
            0 => Ok(Held { mutex: self, orphaned: false, _not_send: PhantomData }),
            libc::EOWNERDEAD => Ok(Held { mutex: self, orphaned: true, _not_send: PhantomData }),
            libc::EBUSY => Err(NotGiven { after: waited }),
            _ => Err(NotGiven { after: 0 }),
        }
    }
}

impl Held<'_> {
    /// Says that what the dead holder left has been put right. Until then the lock passes on as an
    /// orphan only if this holder dies as well.
    pub fn repaired(&mut self) {
        // SAFETY: held by this thread, and orphaned.
        unsafe { pthread_mutex_consistent(self.mutex.0.get()) };
        self.orphaned = false;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: held by this thread, since a guard is not `Send`.
        unsafe { libc::pthread_mutex_unlock(self.mutex.0.get()) };
    }
}

fn check(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutex() -> Box<Mutex> {
        // SAFETY: a pthread mutex is bytes, and is initialised before it is used.
        let mutex = Box::new(unsafe { std::mem::zeroed::<Mutex>() });
        // SAFETY: nobody else has it.
        unsafe { mutex.init() }.unwrap();
        mutex
    }

    #[test]
    fn a_lock_that_this_thread_holds_is_refused_at_once() {
        let mutex = mutex();
        let held = mutex.lock().ok().unwrap();
        let started = clock::monotonic();
        assert!(mutex.lock().is_err_and(|refused| refused.after == 0));
        assert!(clock::monotonic() - started < PATIENCE);
        drop(held);
        assert!(mutex.lock().is_ok());
    }

    #[test]
    fn a_lock_that_another_thread_keeps_is_waited_for_and_given_up() {
        let mutex = mutex();
        let _held = mutex.lock().ok().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| mutex.lock().err().unwrap().after);
            assert_eq!(waiting.join().unwrap(), PATIENCE);
        });
    }

    #[test]
    fn a_lock_whose_holder_died_passes_on_as_an_orphan_until_it_is_repaired() {
        let mutex = mutex();
        let die_holding_it = || std::mem::forget(mutex.lock().ok().unwrap());
        std::thread::scope(|scope| scope.spawn(die_holding_it).join().unwrap());
        let mut held = mutex.lock().ok().unwrap();
        assert!(held.orphaned);
        held.repaired();
        drop(held);
        assert!(!mutex.lock().ok().unwrap().orphaned);
    }
}
