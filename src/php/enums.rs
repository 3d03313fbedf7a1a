//! `RateLimit\OnFailure` and `RateLimit\Source`.

use ext_php_rs::ffi::{
    IS_OBJECT, IS_OBJECT_EX, IS_STRING, ZEND_ACC_FINAL, zend_class_entry, zend_enum_add_case,
    zend_enum_get_case, zend_register_internal_enum, zend_string, zend_value, zval,
};

use super::value::{self, kind};
use super::zend::{self, Class, END, Known};
use crate::limiter::{OnFailure, Source};

static ON_FAILURE: Class = Class::not_yet();
static SOURCE: Class = Class::not_yet();

/// Cases as PHP names them, and their values.
const ON_FAILURE_CASES: [(&str, &str, OnFailure); 4] = [
    ("Throw", "throw", OnFailure::Throw),
    ("Open", "open", OnFailure::Open),
    ("Closed", "closed", OnFailure::Closed),
    ("Memory", "memory", OnFailure::Memory),
];
const SOURCE_CASES: [(&str, &str, Source); 6] = [
    ("Redis", Source::Redis.name(), Source::Redis),
    ("Memory", Source::Memory.name(), Source::Memory),
    ("DenyCache", Source::DenyCache.name(), Source::DenyCache),
    ("FailOpen", Source::FailOpen.name(), Source::FailOpen),
    ("FailClosed", Source::FailClosed.name(), Source::FailClosed),
    ("Disabled", Source::Disabled.name(), Source::Disabled),
];

/// The names of [`SOURCE_CASES`].
static SOURCE_NAMES: [Known<zend_string>; SOURCE_CASES.len()] =
    [const { Known::not_yet() }; SOURCE_CASES.len()];

/// Registers both. At module start.
pub fn register() {
    for (name, (case, _, _)) in SOURCE_NAMES.iter().zip(SOURCE_CASES) {
        name.set(zend::interned(case));
    }
    ON_FAILURE.set(declare(c"RateLimit\\OnFailure", &ON_FAILURE_CASES.map(|(n, v, _)| (n, v))));
    SOURCE.set(declare(c"RateLimit\\Source", &SOURCE_CASES.map(|(n, v, _)| (n, v))));
}

fn declare(name: &std::ffi::CStr, cases: &[(&str, &str)]) -> *mut zend_class_entry {
    // SAFETY: module start; the name is copied and the table ends at once.
    let class =
        unsafe { zend_register_internal_enum(name.as_ptr(), IS_STRING as u8, [END].as_ptr()) };
    // SAFETY: registered. PHP marks its own so only when it compiles them.
    unsafe { (*class).ce_flags |= ZEND_ACC_FINAL };
    for (case, value) in cases {
        let mut value = value::string(zend::interned(value));
        // SAFETY: both strings are permanent, so neither needs a release.
        unsafe { zend_enum_add_case(class, zend::interned(case), &raw mut value) };
    }
    class
}

/// The policy called `name` (`throw`, `open`, `closed` or `memory`).
pub fn on_failure_named(name: &[u8]) -> Option<OnFailure> {
    ON_FAILURE_CASES.iter().find(|(_, value, _)| value.as_bytes() == name).map(|case| case.2)
}

/// What the policy is called.
pub fn on_failure_name(policy: OnFailure) -> &'static str {
    ON_FAILURE_CASES.iter().find(|case| case.2 == policy).map_or("", |case| case.1)
}

/// The policy that an argument stands for, if it is a case of `RateLimit\OnFailure`.
pub fn on_failure(argument: &zval) -> Option<OnFailure> {
    if kind(argument) != IS_OBJECT {
        return None;
    }
    // SAFETY: its type says so.
    let object = unsafe { argument.value.obj };
    // SAFETY: the argument holds a reference.
    if unsafe { (*object).ce } != ON_FAILURE.get() {
        return None;
    }
    // SAFETY: zend_enum.h: the name is the first property of a case, its value the second.
    let value = unsafe { value::property(object, 1) };
    // SAFETY: as above.
    let value = unsafe { &*value };
    // SAFETY: a string enum.
    let name = unsafe { value.value.str_ };
    // SAFETY: the case owns the string.
    on_failure_named(unsafe { value::bytes(name) })
}

/// The case of `RateLimit\Source`, a new reference.
pub fn source(source: Source) -> zval {
    let name = SOURCE_CASES.iter().position(|case| case.2 == source).map(|n| &SOURCE_NAMES[n]);
    let name = name.map_or(std::ptr::null_mut(), Known::get);
    // SAFETY: registered at module start, with this case.
    let case = unsafe { zend_enum_get_case(SOURCE.get(), name) };
    // SAFETY: a live object; the new value holds a reference of its own.
    unsafe { (*case).gc.refcount += 1 };
    value::value(zend_value { obj: case }, IS_OBJECT_EX)
}
