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

thread_local!(static REPORTED: RefCell<HashSet<(String, bool)>> = RefCell::default());

/// Reports a store that cannot answer, once per process for the endpoint as a whole and once for
/// single keys of it.
#[cold]
pub fn failure(error: &StoreError, endpoint: &str) {
    let whole = error.concerns_endpoint();
    let new = REPORTED.with(|reported| {
        reported.try_borrow_mut().is_ok_and(|mut seen| seen.insert((endpoint.to_owned(), whole)))
    });
    if new {
        warn(&error.to_string());
    }
}
