//! PHP's error log. No secrets.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::c_int;

use super::zend::{self, php_log_err_with_severity};
use crate::store::StoreError;

const LOG_WARNING: c_int = 4; // syslog.h

thread_local! {
    /// What this process has said already.
    static SAID: RefCell<HashSet<String>> = RefCell::default();
    /// What is to be said when the next request begins.
    static WAITING: RefCell<Vec<String>> = RefCell::default();
}

/// Writes a warning that an operator should see.
#[cold]
pub fn warn(message: &str) {
    let message = zend::c_text(&format!("rate_limit: {message}"));
    // SAFETY: a C string; the function copies it.
    unsafe { php_log_err_with_severity(message.as_ptr(), LOG_WARNING) };
}

/// Warns when the next request begins, once per process: php-fpm reads a pool's settings when nobody
/// takes what a worker logs, and other servers read a virtual host's before every request.
#[cold]
pub fn warn_in_request(message: String) {
    if first(message.clone()) {
        WAITING.with_borrow_mut(|waiting| waiting.push(message));
    }
}

/// Says what waited for a request.
pub fn request_begins() {
    WAITING.take().iter().for_each(|message| warn(message));
}

/// Reports an outage, of which it is told once; an error about single keys of an endpoint, or of
/// shared memory, once per process.
#[cold]
pub fn failure(error: &StoreError) {
    let once = match error {
        StoreError::Key { endpoint, .. } => Some(format!("key {endpoint}")),
        StoreError::Busy { .. }
        | StoreError::Overtaken
        | StoreError::Full
        | StoreError::LogTooLarge { .. } => Some("memory://".to_owned()),
        _ => None,
    };
    if once.is_none_or(first) {
        warn(&error.to_string());
    }
}

/// Whether this process has not said `what` yet. Not so in a signal handler that interrupted this.
fn first(what: String) -> bool {
    SAID.with(|said| said.try_borrow_mut().is_ok_and(|mut said| said.insert(what)))
}
