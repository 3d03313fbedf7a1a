//! The settings `rate_limit.*`: one table of names, defaults, scopes and rules. A value is checked
//! and parsed when it is set, so that reading one is a load.
//!
//! All can be set in php.ini, and per pool or virtual host by `php_admin_value`, but not by the
//! application. What is needed before the workers exist can be set in php.ini alone.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ext_php_rs::ffi::{zend_ini_entry, zend_ini_entry_def, zend_string};
use ext_php_rs::flags::IniEntryPermission;

use super::settings_text::{display_store, one_of, seconds, size, switch, whole};
use super::value;
use super::zend::{Table, zend_ini_str, zend_register_ini_entries_ex};
use super::{enums, log, salt};
use crate::core::identity::Ipv6Prefix;
use crate::core::time::Micros;
use crate::limiter::OnFailure;
use crate::store::redis::{ClockMode, Layout};
use crate::store::shm;

/// ZEND_INI_STAGE_STARTUP of zend_ini.h: php.ini and the command line.
const STARTUP: c_int = 1;
/// ZEND_INI_STAGE_DEACTIVATE: at a request's end the engine puts back what was in force before the
/// request tried to change it, also where that was refused.
const DEACTIVATE: c_int = 8;

/// Takes a value (and the stage), or says the rule that it breaks.
type Take = fn(&[u8], c_int) -> Result<(), &'static str>;

/// A setting whose parsed value is a number.
struct Number(AtomicU64);

impl Number {
    fn get(&self) -> u64 {
        self.0.load(Relaxed) // settings change between requests, never while one reads
    }

    fn set(&self, value: Option<u64>, rule: &'static str) -> Result<(), &'static str> {
        self.0.store(value.ok_or(rule)?, Relaxed); // as above
        Ok(())
    }
}

static ON_FAILURE: Number = Number(AtomicU64::new(0));
static TIMEOUT: Number = Number(AtomicU64::new(0));
static BREAKER: Number = Number(AtomicU64::new(0));
static RETRY_INTERVAL: Number = Number(AtomicU64::new(0));
static MEMORY_SIZE: Number = Number(AtomicU64::new(0));
static IPV6_PREFIX: Number = Number(AtomicU64::new(0));
static DENY_CACHE: Number = Number(AtomicU64::new(0));
static LOG_LAYOUT: Number = Number(AtomicU64::new(0));
static CLOCK: Number = Number(AtomicU64::new(0));
static SALT: Number = Number(AtomicU64::new(0));
static ENABLED: Number = Number(AtomicU64::new(0));
static NAMESPACE: Number = Number(AtomicU64::new(0));
static DRY_RUN: Number = Number(AtomicU64::new(0));

const SALT_NAME: &CStr = c"rate_limit.salt";

const POLICIES: [OnFailure; 4] =
    [OnFailure::Throw, OnFailure::Open, OnFailure::Closed, OnFailure::Memory];

const fn entry(
    name: &'static CStr,
    default: &'static CStr,
    take: &'static Take,
) -> zend_ini_entry_def {
    zend_ini_entry_def {
        on_modify: Some(on_modify),
        mh_arg1: ptr::from_ref(take).cast_mut().cast(),
        ..zend_ini_entry_def::new(name, default, IniEntryPermission::System)
    }
}

static TABLE: Table<[zend_ini_entry_def]> = Table(&[
    zend_ini_entry_def {
        displayer: Some(display_store),
        ..entry(c"rate_limit.store", c"memory://", &(any as Take))
    },
    entry(c"rate_limit.on_failure", c"throw", &(on_failure_is as Take)),
    entry(c"rate_limit.timeout", c"0.1", &(timeout_is as Take)),
    entry(c"rate_limit.breaker", c"3", &(breaker_is as Take)),
    entry(c"rate_limit.retry_interval", c"1", &(retry_interval_is as Take)),
    entry(c"rate_limit.memory_size", c"64M", &(memory_size_is as Take)),
    entry(c"rate_limit.memory_file", c"", &(memory_file_is as Take)),
    entry(c"rate_limit.namespace", c"", &(namespace_is as Take)),
    entry(SALT_NAME, c"", &(salt_is as Take)),
    entry(c"rate_limit.salt_file", c"", &(salt_file_is as Take)),
    entry(c"rate_limit.ipv6_prefix", c"64", &(ipv6_prefix_is as Take)),
    entry(c"rate_limit.deny_cache", c"1", &(deny_cache_is as Take)),
    entry(c"rate_limit.log_layout", c"sorted-set", &(log_layout_is as Take)),
    entry(c"rate_limit.clock", c"server", &(clock_is as Take)),
    entry(c"rate_limit.enabled", c"1", &(enabled_is as Take)),
    entry(c"rate_limit.dry_run", c"0", &(dry_run_is as Take)),
    zend_ini_entry_def::end(),
]);

/// Registers all settings and reads what php.ini says. At module start.
pub fn register(module_number: c_int, module_type: c_int) {
    // SAFETY: the table is static and ends with an entry without a name.
    unsafe { zend_register_ini_entries_ex(TABLE.0.as_ptr(), module_number, module_type) };
}

fn any(_: &[u8], _: c_int) -> Result<(), &'static str> {
    Ok(())
}

fn on_failure_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    let policy = enums::on_failure_named(value);
    let index = policy.and_then(|policy| POLICIES.iter().position(|&p| p == policy));
    ON_FAILURE.set(index.map(|i| i as u64), "must be throw, open, closed or memory")
}

fn timeout_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    TIMEOUT.set(seconds(value, 0.001, 60.0), "must be a number of seconds from 0.001 to 60")
}

fn breaker_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    BREAKER.set(whole(value, 1, 1_000), "must be a whole number from 1 to 1000")
}

fn retry_interval_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    let value = seconds(value, 0.01, 3_600.0);
    RETRY_INTERVAL.set(value, "must be a number of seconds from 0.01 to 3600")
}

fn memory_size_is(value: &[u8], stage: c_int) -> Result<(), &'static str> {
    at_startup(stage)?;
    MEMORY_SIZE.set(size(value), "must be a number of bytes, as 64M or 1G")
}

fn memory_file_is(_: &[u8], stage: c_int) -> Result<(), &'static str> {
    at_startup(stage)
}

fn namespace_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    let number = if value.is_empty() { 0 } else { shm::namespace(value, 0) }; // a name's is not 0
    NAMESPACE.set(Some(number), "")
}

fn salt_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    let rule = "must be empty or managed; a salt of your own belongs into RL_DAILY_SALT or the file \
                that rate_limit.salt_file names, since ini_get() shows what stands here";
    SALT.set(one_of(value, &["", "managed"]), rule)
}

fn salt_file_is(value: &[u8], stage: c_int) -> Result<(), &'static str> {
    if stage == STARTUP && !value.is_empty() {
        salt::read_salt_file(value); // kept, and logged if it fails
    }
    Ok(())
}

fn ipv6_prefix_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    IPV6_PREFIX.set(whole(value, 1, 128), "must be a whole number from 1 to 128")
}

fn deny_cache_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    DENY_CACHE.set(switch(value), "must be 1 or 0")
}

fn log_layout_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    LOG_LAYOUT.set(one_of(value, &["sorted-set", "list"]), "must be sorted-set or list")
}

fn clock_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    CLOCK.set(one_of(value, &["server", "host"]), "must be server or host")
}

fn enabled_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    ENABLED.set(switch(value), "must be 1 or 0")
}

fn dry_run_is(value: &[u8], _: c_int) -> Result<(), &'static str> {
    DRY_RUN.set(switch(value), "must be 1 or 0")
}

fn at_startup(stage: c_int) -> Result<(), &'static str> {
    if matches!(stage, STARTUP | DEACTIVATE) { Ok(()) } else { Err("can only be set in php.ini") }
}

/// What happens when a store cannot answer.
pub fn on_failure() -> OnFailure {
    POLICIES[ON_FAILURE.get() as usize]
}

/// The deadline of one check, microseconds.
pub fn timeout() -> Micros {
    TIMEOUT.get()
}

/// Failures in a row after which an endpoint is left alone.
pub fn breaker() -> u64 {
    BREAKER.get()
}

/// How long a failed endpoint is left alone, microseconds.
pub fn retry_interval() -> Micros {
    RETRY_INTERVAL.get()
}

/// Bytes of shared memory.
pub fn memory_size() -> u64 {
    MEMORY_SIZE.get()
}

/// The number of the namespace, where it has a name.
pub fn namespace() -> Option<u64> {
    Some(NAMESPACE.get()).filter(|&number| number != 0)
}

/// How many bits of an IPv6 address make a client.
pub fn ipv6_prefix() -> Ipv6Prefix {
    Ipv6Prefix::new(IPV6_PREFIX.get() as i64).unwrap_or(Ipv6Prefix::DEFAULT)
}

/// Whether denials by Redis are remembered on this host.
pub fn deny_cache() -> bool {
    DENY_CACHE.get() == 1
}

/// How logs are kept in Redis.
pub fn log_layout() -> Layout {
    if LOG_LAYOUT.get() == 0 { Layout::SortedSet } else { Layout::List }
}

/// Whether stamps are corrected by the server's clock.
pub fn clock() -> ClockMode {
    if CLOCK.get() == 0 { ClockMode::Server } else { ClockMode::Host }
}

/// Whether identities are made with managed keys.
pub fn salt_is_managed() -> bool {
    SALT.get() == 1
}

/// Whether anything is decided at all.
pub fn enabled() -> bool {
    ENABLED.get() == 1
}

/// Whether denials let pass, where a limiter says nothing of its own.
pub fn dry_run() -> bool {
    DRY_RUN.get() == 1
}

/// A setting as it was written.
pub fn text(name: &CStr) -> Vec<u8> {
    // SAFETY: the name is as long as is said.
    let value = unsafe { zend_ini_str(name.as_ptr(), name.count_bytes(), false) };
    if value.is_null() {
        return Vec::new();
    }
    // SAFETY: the setting owns the string, which is copied at once.
    unsafe { value::bytes(value) }.to_vec()
}

/// Called by the engine whenever a setting is about to change, also before and after a request that
/// has `php_admin_value`. A failure leaves the old value in force.
unsafe extern "C" fn on_modify(
    entry: *mut zend_ini_entry,
    value: *mut zend_string,
    take: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    stage: c_int,
) -> c_int {
    // SAFETY: `entry()` put it there.
    let take = unsafe { &*take.cast::<Take>() };
    let value = if value.is_null() {
        &[]
    } else {
        // SAFETY: live until this function returns.
        unsafe { value::bytes(value) }
    };
    match std::panic::catch_unwind(|| take(value, stage)) {
        Ok(Ok(())) => 0,
        Ok(Err(rule)) => {
            // SAFETY: the engine passes the entry that changes.
            let name = unsafe { (*entry).name };
            // SAFETY: an entry has a name.
            refuse(unsafe { value::bytes(name) }, value, rule, stage);
            -1
        }
        Err(_) => -1,
    }
}

#[cold]
fn refuse(name: &[u8], value: &[u8], rule: &str, stage: c_int) {
    let show = String::from_utf8_lossy;
    let secret = name == SALT_NAME.to_bytes(); // somebody took it for the place of a salt
    let value = if secret { "***".into() } else { show(value) };
    let message = format!("{} = \"{value}\" {rule}; it is ignored", show(name));
    if stage == STARTUP { log::warn(&message) } else { log::warn_in_request(message) }
}
