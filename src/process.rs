//! Whether this process is still the one that opened something.
//!
//! A connection inherited over `fork` crosses replies with the parent. Asking for the process id is
//! a system call on every decision; counting forks costs a load.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// How many forks lie between the process that started and this one. What was opened under another
/// generation belongs to another process.
///
/// Counts only once [`forked`] runs in each child (`pthread_atfork`), which whoever loads this crate
/// into a process that forks must arrange.
#[must_use]
pub fn generation() -> u64 {
    GENERATION.load(Relaxed) // the child has one thread when this changes
}

/// Says that this process is a new child.
pub fn forked() {
    GENERATION.fetch_add(1, Relaxed); // as above
}
