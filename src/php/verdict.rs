//! `RateLimit\Verdict`: a plain object with typed read-only properties, so that Reflection,
//! `var_dump` and `json_encode` work by themselves; and the HTTP headers that follow from it.

use ext_php_rs::ffi::{
    _ZEND_TYPE_NAME_BIT, IS_DOUBLE, IS_FALSE, IS_OBJECT_EX, IS_TRUE, IS_UNDEF, ZEND_ACC_FINAL,
    ZEND_ACC_NO_DYNAMIC_PROPERTIES, ZEND_ACC_PRIVATE, ZEND_ACC_PUBLIC, object_properties_init,
    zend_function_entry, zend_internal_arg_info, zend_objects_new, zend_register_internal_class_ex,
    zend_type, zend_value, zval,
};

use super::call::{Args, Return, This, native, value_error};
use super::enums;
use super::exceptions;
use super::value::{self, Map, kind};
use super::zend::{
    self, Class, END, MAY_BE_ARRAY, MAY_BE_BOOL, MAY_BE_DOUBLE, MAY_BE_LONG, MAY_BE_NULL,
    MAY_BE_STRING, Thrown, plain, zend_declare_typed_property,
};
use crate::core::limit::Limit;
use crate::core::time::{Micros, SECOND};
use crate::limiter::Decision;
use crate::tally::{self, Outcome};

static VERDICT: Class = Class::not_yet();
const READONLY: u32 = 1 << 7; // ZEND_ACC_READONLY of zend_compile.h

/// What a policy is called in the headers when the caller gives no name.
const DEFAULT_POLICY: &[u8] = b"default";

const NOTHING: &[zend_internal_arg_info] = &[zend::returns(0, zend::NO_TYPE)];
const HEADERS: &[zend_internal_arg_info] = &[
    zend::returns(0, plain(MAY_BE_ARRAY)),
    zend::optional(c"policy", plain(MAY_BE_STRING), c"\"default\""),
];
const METHODS: &[zend_function_entry] = &[
    zend::function(c"__construct", native!(construct), NOTHING, ZEND_ACC_PRIVATE),
    zend::function(c"headers", native!(headers), HEADERS, ZEND_ACC_PUBLIC),
    END,
];

/// The properties in the order of declaration.
#[derive(Clone, Copy)]
enum Property {
    Allowed,
    Limit,
    Remaining,
    RetryAfter,
    ReplenishAfter,
    ResetAfter,
    Source,
    WouldDeny,
    /// Private: `headers()` needs it.
    WindowSeconds,
    /// Private: whether it was counted under a policy's name.
    Counted,
}

/// Registers the class; after the enums. At module start.
pub fn register() {
    let mut class = zend::class("RateLimit\\Verdict", METHODS);
    // SAFETY: module start; the entry is copied.
    let class = unsafe { zend_register_internal_class_ex(&raw mut class, std::ptr::null_mut()) };
    // SAFETY: registered.
    unsafe { (*class).ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES };
    let source = zend_type {
        ptr: zend::interned("RateLimit\\Source").cast(),
        type_mask: _ZEND_TYPE_NAME_BIT,
    };
    for (name, type_, access) in [
        ("allowed", plain(MAY_BE_BOOL), ZEND_ACC_PUBLIC),
        ("limit", plain(MAY_BE_LONG), ZEND_ACC_PUBLIC),
        ("remaining", plain(MAY_BE_LONG), ZEND_ACC_PUBLIC),
        ("retryAfter", plain(MAY_BE_DOUBLE | MAY_BE_NULL), ZEND_ACC_PUBLIC),
        ("replenishAfter", plain(MAY_BE_DOUBLE), ZEND_ACC_PUBLIC),
        ("resetAfter", plain(MAY_BE_DOUBLE), ZEND_ACC_PUBLIC),
        ("source", source, ZEND_ACC_PUBLIC),
        ("wouldDeny", plain(MAY_BE_BOOL), ZEND_ACC_PUBLIC),
        ("windowSeconds", plain(MAY_BE_LONG), ZEND_ACC_PRIVATE),
        ("counted", plain(MAY_BE_BOOL), ZEND_ACC_PRIVATE),
    ] {
        let mut unset = value::value(zend_value { lval: 0 }, IS_UNDEF);
        let access = (access | READONLY) as i32;
        let (name, comment) = (zend::interned(name), std::ptr::null_mut());
        // SAFETY: the name is permanent, and the default owns nothing.
        unsafe { zend_declare_typed_property(class, name, &raw mut unset, access, comment, type_) };
    }
    VERDICT.set(class);
}

/// The object that shows `decision` to PHP.
pub fn object(decision: &Decision, limit: Limit) -> zval {
    let verdict = &decision.verdict;
    // SAFETY: registered at module start.
    let object = unsafe { zend_objects_new(VERDICT.get()) };
    // SAFETY: a new object of that class.
    unsafe { object_properties_init(object, VERDICT.get()) };
    let set = |which: Property, value| {
        // SAFETY: declared.
        let slot = unsafe { value::property(object, which as usize) };
        // SAFETY: the slot was unset until now and owns nothing.
        unsafe { slot.write(value) };
    };
    set(Property::Allowed, value::bool(verdict.allowed));
    set(Property::Limit, value::long(verdict.limit.into()));
    set(Property::Remaining, value::long(verdict.remaining.into()));
    set(Property::RetryAfter, verdict.retry_after.map_or(value::null(), seconds));
    set(Property::ReplenishAfter, seconds(verdict.replenish_after));
    set(Property::ResetAfter, seconds(verdict.reset_after));
    set(Property::WindowSeconds, value::long(limit.window_seconds().into()));
    set(Property::Source, enums::source(decision.source));
    set(Property::WouldDeny, value::bool(decision.would_deny));
    set(Property::Counted, value::bool(false));
    value::value(zend_value { obj: object }, IS_OBJECT_EX)
}

fn seconds(span: Micros) -> zval {
    value::double(span as f64 / SECOND as f64) // to the microsecond, below 285 years
}

/// Verdicts come from limiters alone.
fn construct(_: &mut Args, _: &mut Return) -> Result<(), Thrown> {
    Err(exceptions::error("A RateLimit\\Verdict is made by a limiter, not by new"))
}

/// `headers(string $policy = "default"): array`: the fields of draft-ietf-httpapi-ratelimit-headers
/// and their older `X-` cousins. Spans are whole seconds, rounded up. Counts the verdict under the
/// policy's name, if one is given.
fn headers(args: &mut Args, out: &mut Return) -> Result<(), Thrown> {
    args.expect(0, 1)?;
    let facts = Facts::of(args.this())?;
    let name = if args.count() == 0 { DEFAULT_POLICY } else { args.string(1)? };
    let policy = quoted(name).ok_or_else(|| value_error(1, NOT_A_STRING))?;
    if args.count() > 0 {
        count(args.this(), &facts, name);
    }
    let Facts { limit, remaining, window, reset, retry, .. } = facts;
    let mut fields = Map::new()
        .text("X-RateLimit-Limit", &limit.to_string())
        .text("X-RateLimit-Remaining", &remaining.to_string())
        .text("RateLimit-Policy", &format!("{policy};q={limit};w={window}"))
        .text("RateLimit", &format!("{policy};r={remaining};t={reset}"));
    if let Some(retry) = retry {
        fields = fields.text("Retry-After", &retry.max(1).to_string());
    }
    out.set(fields.done());
    Ok(())
}

/// Counts a verdict under the name of its policy, once.
fn count(this: This<'_>, facts: &Facts, policy: &[u8]) {
    // SAFETY: declared.
    let counted = unsafe { value::property(this.as_ptr(), Property::Counted as usize) };
    // SAFETY: as above; the object outlives the call.
    if kind(unsafe { &*counted }) == IS_TRUE {
        return;
    }
    // SAFETY: a bool, which owns nothing; read-only, so no reference leads to it.
    unsafe { counted.write(value::bool(true)) };
    if let Some(shm) = tally::attached() {
        shm.count_policy(policy, facts.outcome as usize);
    }
}

const NOT_A_STRING: &str = "must contain printable ASCII characters only (RFC 8941, 3.3.3)";

/// A string of structured fields, RFC 8941, 3.3.3.
fn quoted(name: &[u8]) -> Option<String> {
    let mut text = String::from('"');
    for &byte in name {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => return None,
        }
    }
    text.push('"');
    Some(text)
}

/// What `headers()` reads back from an object; spans in whole seconds, rounded up.
struct Facts {
    limit: i64,
    remaining: i64,
    window: i64,
    reset: u64,
    /// Only when denied, and not when the call can never pass.
    retry: Option<u64>,
    outcome: Outcome,
}

impl Facts {
    /// Fails on an object that no limiter has filled (Reflection can make one).
    fn of(this: This<'_>) -> Result<Self, Thrown> {
        let at = |which: Property| -> &zval {
            // SAFETY: declared.
            let slot = unsafe { value::property(this.as_ptr(), which as usize) };
            // SAFETY: as above; the object outlives the call.
            unsafe { &*slot }
        };
        if kind(at(Property::WindowSeconds)) == IS_UNDEF {
            return Err(exceptions::error("This RateLimit\\Verdict was not made by a limiter"));
        }
        // SAFETY: filled together with the one just checked, read-only, and an int by its type.
        let long = |which| unsafe { at(which).value.lval };
        // SAFETY: likewise, and a float by its type.
        let whole = |which| unsafe { at(which).value.dval }.ceil() as u64;
        let denied = kind(at(Property::Allowed)) == IS_FALSE;
        let possible = kind(at(Property::RetryAfter)) == IS_DOUBLE;
        Ok(Self {
            limit: long(Property::Limit),
            remaining: long(Property::Remaining),
            window: long(Property::WindowSeconds),
            reset: whole(Property::ReplenishAfter),
            retry: (denied && possible).then(|| whole(Property::RetryAfter)),
            outcome: match denied {
                true => Outcome::Denied,
                false if kind(at(Property::WouldDeny)) == IS_TRUE => Outcome::WouldDeny,
                false => Outcome::Allowed,
            },
        })
    }
}
