//! The exceptions that PHP sees, and the one place where the crate's errors become them.

use std::any::Any;
use std::ptr;

use ext_php_rs::ffi::{
    ext_php_rs_compiler_globals, zend_ce_throwable, zend_class_entry, zend_do_implement_interface,
    zend_hash_str_find_ptr_lc, zend_register_internal_class_ex, zend_register_internal_interface,
    zend_throw_error, zend_throw_exception,
};
use ext_php_rs::types::Zval;

use super::value;
use super::zend::{
    self, Class, END, Thrown, spl_ce_InvalidArgumentException, spl_ce_RuntimeException,
    zend_exception_set_previous,
};
use crate::store::StoreError;

static EXCEPTION: Class = Class::not_yet();
static STORE: Class = Class::not_yet();
static CONFIG: Class = Class::not_yet();

/// Registers `RateLimit\Exception`, `StoreException` and `ConfigException`. At module start.
pub fn register() {
    let mut interface = zend::class("RateLimit\\Exception", &[END]);
    // SAFETY: module start; the entry is copied.
    let interface = unsafe { zend_register_internal_interface(&raw mut interface) };
    // SAFETY: the engine declares it before any module starts.
    let throwable = unsafe { zend_ce_throwable };
    // SAFETY: both are registered; an interface may extend `Throwable`.
    unsafe { zend_do_implement_interface(interface, throwable) };
    EXCEPTION.set(interface);
    // SAFETY: SPL starts before any extension that is loaded from a file.
    let runtime = unsafe { spl_ce_RuntimeException };
    // SAFETY: as above.
    let argument = unsafe { spl_ce_InvalidArgumentException };
    STORE.set(class("RateLimit\\StoreException", redis_exception().unwrap_or(runtime)));
    CONFIG.set(class("RateLimit\\ConfigException", argument));
}

fn class(name: &str, parent: *mut zend_class_entry) -> *mut zend_class_entry {
    let mut class = zend::class(name, &[END]);
    // SAFETY: module start; the entry is copied.
    let class = unsafe { zend_register_internal_class_ex(&raw mut class, parent) };
    // SAFETY: both are registered.
    unsafe { zend_do_implement_interface(class, EXCEPTION.get()) };
    class
}

/// ext-redis' own exception, where that extension was loaded first: an application's existing
/// `catch (RedisException)` then also catches ours.
fn redis_exception() -> Option<*mut zend_class_entry> {
    const NAME: &str = "RedisException";
    // SAFETY: the engine's globals exist before any module starts.
    let globals = unsafe { ext_php_rs_compiler_globals() };
    // SAFETY: during module start this table holds the classes registered so far.
    let table = unsafe { (*globals).class_table };
    // SAFETY: the table exists, and the name is as long as is said.
    let class = unsafe { zend_hash_str_find_ptr_lc(table, NAME.as_ptr().cast(), NAME.len()) };
    (!class.is_null()).then_some(class.cast())
}

/// Throws `RateLimit\ConfigException`. `message` says which value, which rule and which setting.
#[cold]
pub fn config(message: &str) -> Thrown {
    throw(&CONFIG, message, None)
}

/// Throws what PHP shall see of a store's failure. `cause` is the exception of a client object.
#[cold]
pub fn store(error: &StoreError, cause: Option<Zval>) -> Thrown {
    let class = if matches!(error, StoreError::LogTooLarge { .. }) { &CONFIG } else { &STORE };
    throw(class, &error.to_string(), cause)
}

/// Throws an `Error`: the code that calls us is wrong, and no `catch (Exception)` should hide it.
#[cold]
pub fn error(message: &str) -> Thrown {
    let message = zend::c_text(message);
    // SAFETY: one string for one %s; null stands for the class `Error`.
    unsafe { zend_throw_error(ptr::null_mut(), c"%s".as_ptr(), message.as_ptr()) };
    Thrown
}

/// Turns a panic into an `Error`.
#[cold]
pub fn internal_error(panic: &(dyn Any + Send)) {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    error(&format!("rate_limit: internal error: {text}"));
}

fn throw(class: &Class, message: &str, cause: Option<Zval>) -> Thrown {
    let message = zend::c_text(message);
    // SAFETY: registered at module start; the message is copied.
    let exception = unsafe { zend_throw_exception(class.get(), message.as_ptr(), 0) };
    if let Some(previous) = cause.and_then(value::into_object) {
        // SAFETY: both are live, and the reference to the second is handed over.
        unsafe { zend_exception_set_previous(exception, previous) };
    }
    Thrown
}
