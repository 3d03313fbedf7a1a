//! Real child processes of a test, and numbers that they share with it.

use std::sync::atomic::AtomicU64;

/// A forked child, killed and reaped when dropped.
pub struct Child(libc::pid_t);

impl Child {
    /// Forks; the child runs `work` and ends, well if that returns and badly if it panics.
    pub fn run(work: impl FnOnce()) -> Self {
        // SAFETY: the child touches what it inherited and never returns from here.
        match unsafe { libc::fork() } {
            -1 => panic!("fork: {}", std::io::Error::last_os_error()),
            0 => {
                let well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_ok();
                // SAFETY: ends the child without running the parent's exit handlers.
                unsafe { libc::_exit(i32::from(!well)) }
            }
            pid => Self(pid),
        }
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: a child that was not reaped, so the number is nobody else's.
        assert_eq!(unsafe { libc::kill(self.0, signal) }, 0);
    }

    /// Waits until it has stopped (`SIGSTOP`).
    pub fn stopped(&self) {
        let status = self.wait_for(libc::WUNTRACED);
        assert!(libc::WIFSTOPPED(status));
    }

    /// Waits for its end; whether it ended well.
    pub fn ended_well(self) -> bool {
        let status = self.wait_for(0);
        std::mem::forget(self);
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }

    fn wait_for(&self, options: i32) -> i32 {
        let mut status = 0;
        // SAFETY: writes `status` alone.
        assert_eq!(unsafe { libc::waitpid(self.0, &raw mut status, options) }, self.0);
        status
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        self.wait_for(0);
    }
}

/// `count` zeros, shared with children that are forked later; never freed.
pub fn numbers(count: usize) -> &'static [AtomicU64] {
    let size = count * size_of::<AtomicU64>();
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping touches no memory in use.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size, access, flags, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    // SAFETY: mapped for good, page-aligned, and zeros are atomics.
    unsafe { std::slice::from_raw_parts(start.cast(), count) }
}
