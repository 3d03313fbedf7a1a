//! Where PHP begins: the module's entry, its start and its end.

use std::ffi::c_int;
use std::panic::catch_unwind;

use ext_php_rs::ffi::{
    ZEND_MODULE_API_NO, ext_php_rs_php_build_id, zend_function_entry, zend_module_entry,
};

use super::zend::{END, zend_unregister_ini_entries_ex};
use super::{
    enums, exceptions, identity, limiter_class, log, memory, metrics, salt, settings, status,
    verdict,
};
use crate::store::redis;
use crate::tally;

/// This crate's version, for C.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

const FUNCTIONS: &[zend_function_entry] = &[
    identity::FUNCTION,
    limiter_class::FUNCTION,
    identity::ALIAS,
    status::FUNCTION,
    metrics::FUNCTION,
    #[cfg(feature = "frozen-clock")]
    super::freeze::FUNCTION,
    END,
];

/// The engine writes into it, so it is made once and never freed.
struct Entry(*mut zend_module_entry);

// SAFETY: only the engine uses what it points to, while it loads and unloads modules.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

/// Asked for by PHP when it loads the module.
#[unsafe(no_mangle)]
pub extern "C" fn get_module() -> *mut zend_module_entry {
    static ENTRY: std::sync::OnceLock<Entry> = std::sync::OnceLock::new();
    ENTRY.get_or_init(|| Entry(Box::into_raw(Box::new(entry())))).0
}

fn entry() -> zend_module_entry {
    let entry = std::mem::MaybeUninit::<zend_module_entry>::zeroed();
    // SAFETY: all zeroes is an entry without functions or globals.
    let mut entry = unsafe { entry.assume_init() };
    entry.size = size_of::<zend_module_entry>() as u16;
    entry.zend_api = ZEND_MODULE_API_NO;
    entry.zend_debug = u8::from(ext_php_rs::PHP_DEBUG);
    entry.zts = u8::from(ext_php_rs::PHP_ZTS);
    entry.name = c"rate_limit".as_ptr();
    entry.functions = FUNCTIONS.as_ptr();
    entry.module_startup_func = Some(startup);
    entry.module_shutdown_func = Some(shutdown);
    entry.request_startup_func = Some(request_startup);
    entry.request_shutdown_func = Some(request_shutdown);
    entry.info_func = Some(status::info);
    entry.version = VERSION.as_ptr().cast();
    // SAFETY: the name of the build, a constant.
    entry.build_id = unsafe { ext_php_rs_php_build_id() };
    entry
}

/// Once, before workers are forked and before privileges are dropped; under Apache again at each
/// graceful restart, in the same process.
unsafe extern "C" fn startup(type_: c_int, number: c_int) -> c_int {
    let started = catch_unwind(|| {
        settings::register(number, type_);
        salt::prepare();
        redis::prepare();
        exceptions::register();
        enums::register();
        verdict::register();
        limiter_class::register();
        memory::map();
    });
    result(started.is_ok())
}

unsafe extern "C" fn request_startup(_: c_int, _: c_int) -> c_int {
    result(catch_unwind(log::request_begins).is_ok())
}

/// Under LiteSpeed perhaps inside a signal handler.
unsafe extern "C" fn request_shutdown(_: c_int, _: c_int) -> c_int {
    let ended = catch_unwind(|| {
        identity::end_request();
        tally::detach();
    });
    result(ended.is_ok())
}

/// At the end of the process that started the module, and under LiteSpeed of each child.
unsafe extern "C" fn shutdown(type_: c_int, number: c_int) -> c_int {
    let ended = catch_unwind(|| {
        memory::unmap();
        // SAFETY: the numbers that the engine gave.
        unsafe { zend_unregister_ini_entries_ex(number, type_) };
    });
    result(ended.is_ok())
}

fn result(done: bool) -> c_int {
    if done { 0 } else { -1 }
}
