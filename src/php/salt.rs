//! What identities are made with: the static salt, or the managed keys of the days.
//!
//! 1. `rate_limit.salt = "managed"`: see [`super::day_keys`].
//! 2. `RL_DAILY_SALT`, looked up as PHP's `getenv()` does: what the web server sent with the request
//!    (FPM's `env[]`, `fastcgi_param`, LSAPI) and then the process' environment.
//! 3. `rate_limit.salt_file`. One that cannot be read is an error and never replaced.
//! 4. A random salt, made at module start, which workers inherit when they are forked.

use std::cell::RefCell;
use std::ffi::{CStr, OsStr};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::rc::Rc;
use std::sync::{OnceLock, RwLock};

use ext_php_rs::ffi::_efree;
use rand::TryRng;
use rand::rngs::SysRng;
use zeroize::Zeroizing;

use super::memory::{self, Notice};
use super::zend::{Thrown, sapi_getenv};
use super::{day_keys, exceptions, log, settings};
use crate::core::identity::{SHORT_SALT, Salt};
use crate::core::time::Day;

const VARIABLE: &CStr = c"RL_DAILY_SALT";
const SETTING: &CStr = c"rate_limit.salt_file";
/// A salt file longer than this is some other file.
const LONGEST_FILE: usize = 4096;

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
    prepared: Option<(Secret, Rc<Salt>)>,
    files: Vec<File>,
}

// Not used while the module starts: what a thread must drop at its end keeps the library from being
// unloaded, and Apache's parent upgrades by unloading and loading it.
thread_local!(static KEPT: RefCell<Kept> = RefCell::default());
/// Of php.ini. Written at module start alone, so that no reader ever waits.
static AT_START: RwLock<Option<File>> = RwLock::new(None);
static RANDOM: OnceLock<[u8; 32]> = OnceLock::new();

/// The salts in force.
#[derive(Clone)]
pub enum Salts {
    /// One for all days.
    Static(Rc<Salt>),
    /// Each day's own.
    Managed,
}

impl Salts {
    /// What the settings and the environment say now.
    pub fn in_force() -> Result<Self, Thrown> {
        if settings::salt_is_managed() {
            return Ok(Self::Managed);
        }
        if let Some(salt) = environment(|salt| prepared(salt, "RL_DAILY_SALT")) {
            return Ok(Self::Static(salt));
        }
        let path = settings::text(SETTING);
        if path.is_empty() {
            return Ok(Self::Static(random()));
        }
        let salt = salt_file(&path).map_err(|message| exceptions::config(&message))?;
        Ok(Self::Static(prepared(&salt, "rate_limit.salt_file")))
    }

    /// The salt of one day.
    pub fn of(&self, day: Day) -> Result<Rc<Salt>, Thrown> {
        match self {
            Self::Static(salt) => Ok(salt.clone()),
            Self::Managed => day_keys::salt(day),
        }
    }
}

/// Makes the random salt. At module start, so that all workers inherit one.
pub fn prepare() {
    random_bytes();
}

/// From the system itself, not the thread's generator, for the reason that stands at [`KEPT`].
fn random_bytes() -> &'static [u8; 32] {
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

impl Kept {
    fn prepare(&mut self, salt: &[u8], source: &str) -> Rc<Salt> {
        match &self.prepared {
            Some((kept, prepared)) if **kept == *salt => prepared.clone(),
            _ => {
                warn_if_short(salt, source);
                let prepared = Rc::new(Salt::new(salt));
                self.prepared = Some((salt.to_vec().into(), prepared.clone()));
                prepared
            }
        }
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

/// The salt, hashed for use. A signal handler may enter here while the cell is in use; then it is
/// hashed anew.
fn prepared(salt: &[u8], source: &str) -> Rc<Salt> {
    KEPT.with(|kept| match kept.try_borrow_mut() {
        Ok(mut kept) => kept.prepare(salt, source),
        Err(_) => Rc::new(Salt::new(salt)),
    })
}

fn random() -> Rc<Salt> {
    if memory::first(Notice::RandomSalt) {
        log::warn(
            "neither RL_DAILY_SALT nor rate_limit.salt_file is set: identities are made with a random \
             salt until the next start, and hosts will not agree on them",
        );
    }
    prepared(random_bytes(), "")
}

/// Lends the variable as PHP's `getenv()` sees it. One that is set and empty counts as not set: an
/// empty key would be a constant that everybody knows.
fn environment<R>(take: impl Fn(&[u8]) -> R) -> Option<R> {
    // SAFETY: called during a request only; outside of one LSAPI's look-up would crash.
    let sent = unsafe { sapi_getenv(VARIABLE.as_ptr(), VARIABLE.count_bytes()) };
    if sent.is_null() {
        // SAFETY: as PHP's own getenv(), and like that at the mercy of threads that change it.
        let own = unsafe { libc::getenv(VARIABLE.as_ptr()) };
        // SAFETY: null or a C string, which nothing changes until `take` returns.
        return (!own.is_null()).then(|| lend(unsafe { CStr::from_ptr(own) }, take)).flatten();
    }
    // SAFETY: a C string made for us.
    let taken = lend(unsafe { CStr::from_ptr(sent) }, take);
    // SAFETY: ours to free.
    unsafe { _efree(sent.cast()) };
    taken
}

fn lend<R>(salt: &CStr, take: impl Fn(&[u8]) -> R) -> Option<R> {
    (!salt.is_empty()).then(|| take(salt.to_bytes()))
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

fn warn_if_short(salt: &[u8], source: &str) {
    if salt.len() < SHORT_SALT && memory::first(Notice::ShortSalt) {
        log::warn(&format!(
            "the salt in {source} has {} bytes; a salt should have at least {SHORT_SALT}",
            salt.len()
        ));
    }
}
