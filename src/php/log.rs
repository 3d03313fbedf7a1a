//! PHP's error log.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::c_int;

use super::zend::{self, php_log_err_with_severity};
use crate::store::StoreError;

const LOG_WARNING: c_int = 4; // syslog.h

/// Writes a warning that an operator should see. No secrets.
#[cold]
pub fn warn(message: &str) {
    let message = zend::c_text(&format!("rate_limit: {message}"));
    // SAFETY: a C string; the function copies it.
    unsafe { php_log_err_with_severity(message.as_ptr(), LOG_WARNING) };
}

thread_local!(static REPORTED: RefCell<HashSet<String>> = RefCell::default());

/// Reports an outage, of which it is told once, or an error about single keys of an endpoint, once
/// per process.
#[cold]
pub fn failure(error: &StoreError) {
    let known = match error {
        StoreError::Key { endpoint, .. } => REPORTED.with(|reported| {
            reported.try_borrow_mut().is_ok_and(|mut seen| !seen.insert(endpoint.clone()))
        }),
        _ => false,
    };
    if !known {
        warn(&error.to_string());
    }
}
