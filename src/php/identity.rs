//! `rate_limit_identity()`: where the salt comes from. What is made of it is in
//! [`crate::core::identity`].
//!
//! 1. `RL_DAILY_SALT`, looked up as PHP's `getenv()` does: what the web server sent with the request
//!    (FPM's `env[]`, `fastcgi_param`, LSAPI) and then the process' environment.
//! 2. `rate_limit.salt_file`. One that cannot be read is an error and never replaced.
//! 3. A random salt, made at module start, which workers inherit when they are forked.

use std::cell::RefCell;
use std::ffi::{CStr, OsStr};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{OnceLock, RwLock};

use ext_php_rs::ffi::{_efree, zend_function_entry, zend_internal_arg_info};
use rand::TryRng;
use rand::rngs::SysRng;
use zeroize::Zeroizing;

use super::call::{Args, Return, native};
use super::memory::{self, Notice};
use super::value;
use super::zend::{self, MAY_BE_STRING, Thrown, plain, sapi_getenv};
use super::{exceptions, log, settings};
use crate::clock;
use crate::core::identity::{SHORT_SALT, Salt};

const VARIABLE: &CStr = c"RL_DAILY_SALT";
const SETTING: &CStr = c"rate_limit.salt_file";
/// A salt file longer than this is some other file.
const LONGEST_FILE: usize = 4096;

const ARGUMENTS: &[zend_internal_arg_info] = &[
    zend::returns(2, plain(MAY_BE_STRING)),
    zend::arg(c"ip", plain(MAY_BE_STRING)),
    zend::arg(c"endpoint", plain(MAY_BE_STRING)),
];
/// The function under its name.
pub const FUNCTION: zend_function_entry =
    zend::function(c"rate_limit_identity", native!(rate_limit_identity), ARGUMENTS, 0);
/// The function under the name that the userland function had.
pub const ALIAS: zend_function_entry =
    zend::function(c"rateLimitIdentity", native!(rate_limit_identity), ARGUMENTS, 0);

/// Wiped when dropped.
type Secret = Zeroizing<Vec<u8>>;

/// What a salt file held, or why it cannot be used.
struct File {
    path: Vec<u8>,
    read: Result<Secret, String>,
}

/// What this thread keeps, so that a salt is hashed once and a file read once.
#[derive(Default)]
struct Kept {
    prepared: Option<(Secret, Salt)>,
    files: Vec<File>,
}

// Not used while the module starts: what a thread must drop at its end keeps the library from being
// unloaded, and Apache's parent upgrades by unloading and loading it.
thread_local!(static KEPT: RefCell<Kept> = RefCell::default());
/// Of php.ini. Written at module start alone, so that no reader ever waits.
static AT_START: RwLock<Option<File>> = RwLock::new(None);
static RANDOM: OnceLock<[u8; 32]> = OnceLock::new();

/// Makes the random salt. At module start, so that all workers inherit one.
pub fn prepare() {
    random();
}

/// From the system itself, not the thread's generator, for the reason that stands at [`KEPT`].
fn random() -> &'static [u8; 32] {
    RANDOM.get_or_init(|| {
        let mut salt = [0; 32];
        SysRng.try_fill_bytes(&mut salt).expect("the system gives no random bytes");
        salt
    })
}

/// Reads php.ini's salt file and keeps it. At module start, since privileges may be dropped later.
pub fn read_salt_file(path: &[u8]) {
    let file = File::read(path);
    if let Ok(mut at_start) = AT_START.write() {
        *at_start = Some(file);
    }
}

fn rate_limit_identity(args: &mut Args<'_>, out: &mut Return) -> Result<(), Thrown> {
    args.expect(2, 2)?;
    let (ip, endpoint) = (args.string(1)?, args.string(2)?);
    let salt = salt().map_err(|message| exceptions::config(&message))?;
    let of = |salt: &Salt| salt.identity(ip, endpoint, clock::wall(), settings::ipv6_prefix());
    // A signal handler may enter here while the cell is in use; then the salt is prepared anew.
    let identity = KEPT.with(|kept| match kept.try_borrow_mut() {
        Ok(mut kept) => of(kept.prepare(&salt)),
        Err(_) => of(&Salt::new(&salt)),
    });
    out.set(value::new_string(&identity));
    Ok(())
}

impl Kept {
    fn prepare(&mut self, salt: &Secret) -> &Salt {
        if self.prepared.as_ref().is_none_or(|(kept, _)| kept != salt) {
            self.prepared = None;
        }
        &self.prepared.get_or_insert_with(|| (salt.clone(), Salt::new(salt))).1
    }
}

impl File {
    fn read(path: &[u8]) -> Self {
        let read = read(path);
        if let Err(error) = &read {
            log::warn(error);
        }
        Self { path: path.to_vec(), read }
    }
}

/// The salt in the file at `path`, which is read once.
fn salt_file(path: &[u8]) -> Result<Secret, String> {
    let known = |file: &&File| file.path == path;
    let at_start = AT_START.try_read().ok();
    if let Some(file) = at_start.as_deref().and_then(Option::as_ref).filter(known) {
        return file.read.clone();
    }
    let kept = KEPT.with(|kept| {
        Some(kept.try_borrow().ok()?.files.iter().find(known)?.read.clone()) // as above
    });
    kept.unwrap_or_else(|| {
        let file = File::read(path);
        let read = file.read.clone();
        KEPT.with(|kept| kept.try_borrow_mut().map(|mut kept| kept.files.push(file)).ok());
        read
    })
}

fn salt() -> Result<Secret, String> {
    if let Some(salt) = environment() {
        short(&salt, "RL_DAILY_SALT");
        return Ok(salt);
    }
    let path = settings::text(SETTING);
    if path.is_empty() {
        if memory::first(Notice::RandomSalt) {
            log::warn(
                "neither RL_DAILY_SALT nor rate_limit.salt_file is set: identities are made with \
                 a random salt until the next start, and hosts will not agree on them",
            );
        }
        return Ok(Zeroizing::new(random().to_vec()));
    }
    let salt = salt_file(&path)?;
    short(&salt, "rate_limit.salt_file");
    Ok(salt)
}

/// The variable as PHP's `getenv()` sees it. One that is set and empty counts as not set: an empty
/// key would be a constant that everybody knows.
fn environment() -> Option<Secret> {
    // SAFETY: called during a request only; outside of one LSAPI's look-up would crash.
    let sent = unsafe { sapi_getenv(VARIABLE.as_ptr(), VARIABLE.count_bytes()) };
    let salt = if sent.is_null() {
        let name = OsStr::from_bytes(VARIABLE.to_bytes());
        Zeroizing::new(std::env::var_os(name)?.into_vec())
    } else {
        // SAFETY: a C string made for us.
        let salt = Zeroizing::new(unsafe { CStr::from_ptr(sent) }.to_bytes().to_vec());
        // SAFETY: ours to free.
        unsafe { _efree(sent.cast()) };
        salt
    };
    (!salt.is_empty()).then_some(salt)
}

/// The file's content without the newline at its end.
fn read(path: &[u8]) -> Result<Secret, String> {
    let failed = |why: &dyn std::fmt::Display| {
        Err(format!("rate_limit.salt_file = \"{}\": {why}", String::from_utf8_lossy(path)))
    };
    let mut salt = match beginning(path) {
        Ok(bytes) => bytes,
        Err(error) => return failed(&format_args!("cannot be read: {error}")),
    };
    if salt.len() > LONGEST_FILE {
        return failed(&format_args!("must hold at most {LONGEST_FILE} bytes"));
    }
    while salt.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        salt.pop();
    }
    if salt.is_empty() { failed(&"must not be empty") } else { Ok(salt) }
}

/// As much of a regular file as tells whether it is too long. Opening a pipe would otherwise wait for
/// somebody to write, and a device would never end.
fn beginning(path: &[u8]) -> io::Result<Secret> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(OsStr::from_bytes(path))?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let most = LONGEST_FILE + 1;
    let mut salt = Zeroizing::new(Vec::with_capacity(most)); // so that growing leaves no copies behind
    file.take(most as u64).read_to_end(&mut salt)?;
    Ok(salt)
}

fn short(salt: &Secret, source: &str) {
    if salt.len() < SHORT_SALT && memory::first(Notice::ShortSalt) {
        log::warn(&format!(
            "the salt in {source} has {} bytes; a salt should have at least {SHORT_SALT}",
            salt.len()
        ));
    }
}
