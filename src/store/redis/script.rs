//! The Lua scripts, and the digests under which a server keeps them.

use std::sync::OnceLock;

use sha1::{Digest, Sha1};

use super::keys::hex;
use super::resp;

/// Bytes of `$7\r\nEVALSHA\r\n$40\r\n`, the digest and a line's end.
const HEAD: usize = 60;

/// The log as a sorted set.
pub static LOG_SORTED_SET: Script = Script::new(include_str!("log_sorted_set.lua"));
/// The log as a list.
pub static LOG_LIST: Script = Script::new(include_str!("log_list.lua"));
/// The key of a day.
pub static SALT: Script = Script::about_a_secret(include_str!("salt.lua"));
/// Adds units to a log as a sorted set.
pub static LOG_SORTED_SET_ADD: Script = Script::new(include_str!("log_sorted_set_add.lua"));
/// Adds units to a log as a list.
pub static LOG_LIST_ADD: Script = Script::new(include_str!("log_list_add.lua"));
/// Adds units to a counter.
pub static COUNTER_ADD: Script = Script::new(include_str!("counter_add.lua"));
/// The counter.
pub static COUNTER: Script = Script::new(include_str!("counter.lua"));

/// Computes the digests, so that no call does: a signal handler that interrupts one and makes another
/// would wait for itself. For whoever loads this crate where request code runs in signal handlers.
pub fn prepare() {
    for script in [&LOG_SORTED_SET, &LOG_LIST, &COUNTER, &SALT] {
        let _ = script.sha1();
    }
}

/// A script that the server runs in one atomic step.
#[derive(Debug)]
pub struct Script {
    source: &'static str,
    /// What every call of it begins with: `EVALSHA` and the digest, as two strings of a command.
    head: OnceLock<[u8; HEAD]>,
    secret: bool,
}

impl Script {
    /// A script of this source.
    #[must_use]
    pub const fn new(source: &'static str) -> Self {
        Self { source, head: OnceLock::new(), secret: false }
    }

    const fn about_a_secret(source: &'static str) -> Self {
        Self { source, head: OnceLock::new(), secret: true }
    }

    /// Whether arguments and reply must not stay in a buffer.
    pub(super) fn is_secret(&self) -> bool {
        self.secret
    }

    /// The Lua source, for `SCRIPT LOAD`.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// SHA-1 of the source in 40 hex digits, for `EVALSHA`. Computed once.
    #[must_use]
    pub fn sha1(&self) -> &[u8] {
        &self.head()[HEAD - 42..HEAD - 2]
    }

    /// `EVALSHA` and the digest, as a command has them.
    pub(super) fn head(&self) -> &[u8; HEAD] {
        self.head.get_or_init(|| {
            let sha1: [u8; 40] = hex(&Sha1::digest(self.source));
            let mut head = Vec::with_capacity(HEAD);
            resp::bulk(&mut head, b"EVALSHA");
            resp::bulk(&mut head, &sha1);
            head.try_into().expect("$7 EVALSHA $40 and the digest, each on a line")
        })
    }
}
