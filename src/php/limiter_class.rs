//! `SlidingWindowLog`, `SlidingWindowCounter` and `RateLimit\Limiter` as PHP sees them: signatures,
//! registration, and how their objects are made and freed.

use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr;
use std::sync::OnceLock;

use ext_php_rs::ffi::{
    HashTable, IS_OBJECT, ZEND_ACC_ABSTRACT, ZEND_ACC_FINAL, ZEND_ACC_NO_DYNAMIC_PROPERTIES,
    ZEND_ACC_NOT_SERIALIZABLE, ZEND_ACC_PUBLIC, ext_php_rs_zend_object_alloc,
    object_properties_init, std_object_handlers, zend_class_entry, zend_do_implement_interface,
    zend_function_entry, zend_internal_arg_info, zend_object, zend_object_handlers,
    zend_object_std_dtor, zend_object_std_init, zend_register_internal_class_ex,
    zend_register_internal_interface, zend_std_get_properties, zval,
};
use ext_php_rs::types::Zval;

use super::answer;
use super::call::{Args, This, native, wrong_class};
use super::exceptions;
use super::limiter::{self, Bound};
use super::value;
use super::zend::{
    self, Class, END, MAY_BE_ARRAY, MAY_BE_LONG, MAY_BE_NULL, MAY_BE_STRING, MAY_BE_VOID, Thrown,
    classes, plain,
};
use crate::core::limit::Algorithm;

const CONSTRUCT: &[zend_internal_arg_info] = &[
    zend::returns(3, zend::NO_TYPE),
    zend::arg(
        c"redis",
        classes(
            c"Redis|RedisCluster|Relay\\Relay|Predis\\ClientInterface",
            MAY_BE_STRING | MAY_BE_NULL,
        ),
    ),
    zend::arg(c"limit", plain(MAY_BE_LONG)),
    zend::arg(c"windowSeconds", plain(MAY_BE_LONG)),
    zend::optional(c"onFailure", classes(c"RateLimit\\OnFailure", MAY_BE_NULL), c"null"),
];
const DRY_RUN: &[zend_internal_arg_info] = &[
    zend::returns(1, plain(MAY_BE_VOID)),
    zend::arg(c"limiter", classes(c"SlidingWindowLog|SlidingWindowCounter", 0)),
];
/// The function that makes one limiter a dry run.
pub const FUNCTION: zend_function_entry =
    zend::function(c"rate_limit_dry_run", native!(limiter::dry_run), DRY_RUN, 0);
const CHECK: &[zend_internal_arg_info] =
    &[zend::returns(1, plain(MAY_BE_ARRAY)), zend::arg(c"identity", plain(MAY_BE_STRING))];
const DECIDE: &[zend_internal_arg_info] = &[
    zend::returns(1, classes(c"RateLimit\\Verdict", 0)),
    zend::arg(c"identity", plain(MAY_BE_STRING)),
    zend::optional(c"cost", plain(MAY_BE_LONG), c"1"),
];
const RESET: &[zend_internal_arg_info] =
    &[zend::returns(1, plain(MAY_BE_VOID)), zend::arg(c"identity", plain(MAY_BE_STRING))];

const INTERFACE: &[zend_function_entry] = &[
    zend::function(c"check", None, CHECK, ZEND_ACC_PUBLIC | ZEND_ACC_ABSTRACT),
    zend::function(c"attempt", None, DECIDE, ZEND_ACC_PUBLIC | ZEND_ACC_ABSTRACT),
    zend::function(c"peek", None, DECIDE, ZEND_ACC_PUBLIC | ZEND_ACC_ABSTRACT),
    zend::function(c"reset", None, RESET, ZEND_ACC_PUBLIC | ZEND_ACC_ABSTRACT),
    END,
];
const METHODS: &[zend_function_entry] = &[
    zend::function(c"__construct", native!(limiter::construct), CONSTRUCT, ZEND_ACC_PUBLIC),
    zend::function(c"check", native!(limiter::check), CHECK, ZEND_ACC_PUBLIC),
    zend::function(c"attempt", native!(limiter::attempt), DECIDE, ZEND_ACC_PUBLIC),
    zend::function(c"peek", native!(limiter::peek), DECIDE, ZEND_ACC_PUBLIC),
    zend::function(c"reset", native!(limiter::reset), RESET, ZEND_ACC_PUBLIC),
    END,
];

static LOG: Class = Class::not_yet();

/// A limiter object: what is ours, then what is PHP's.
#[repr(C)]
struct Object {
    bound: Option<Bound>,
    std: zend_object,
}

/// Registers interface and classes; after the enums and the verdict. At module start.
pub fn register() {
    let mut interface = zend::class("RateLimit\\Limiter", INTERFACE);
    // SAFETY: module start; the entry is copied.
    let interface = unsafe { zend_register_internal_interface(&raw mut interface) };
    answer::prepare();
    LOG.set(declare("SlidingWindowLog", interface));
    declare("SlidingWindowCounter", interface);
}

fn declare(name: &str, interface: *mut zend_class_entry) -> *mut zend_class_entry {
    let mut class = zend::class(name, METHODS);
    // SAFETY: module start; the entry is copied.
    let class = unsafe { zend_register_internal_class_ex(&raw mut class, ptr::null_mut()) };
    // SAFETY: both are registered.
    unsafe { zend_do_implement_interface(class, interface) };
    // SAFETY: registered, and nobody else knows it yet.
    let entry = unsafe { &mut *class };
    entry.ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
    entry.__bindgen_anon_2.create_object = Some(create);
    entry.default_object_handlers = handlers();
    zend::sensitive_first_argument(entry, "__construct");
    class
}

/// Which algorithm the object's class stands for.
pub fn algorithm(this: This<'_>) -> Algorithm {
    // SAFETY: a live object.
    if unsafe { (*this.as_ptr()).ce } == LOG.get() { Algorithm::Log } else { Algorithm::Counter }
}

/// The name of an object's class.
pub fn name(this: This<'_>) -> String {
    // SAFETY: a live object.
    unsafe { &*this.as_ptr() }.get_class_name().unwrap_or_default()
}

/// The object's limiter; none before it was constructed.
pub fn bound<'a>(this: This<'a>) -> Option<&'a Bound> {
    let object = container(this.as_ptr());
    // SAFETY: `create` made the object, and its limiter is set once and lives as long as it does.
    unsafe { &(*object).bound }.as_ref()
}

/// The object that is the `n`-th argument.
pub fn argument<'a>(args: &mut Args<'a>, n: u32) -> Result<This<'a>, Thrown> {
    let value = args.get(n);
    let object = (args.kind(n) == IS_OBJECT).then(|| This::of(value));
    object
        // SAFETY: a live object.
        .filter(|this| ptr::eq(unsafe { (*this.as_ptr()).handlers }, handlers()))
        .ok_or_else(|| wrong_class(n, "SlidingWindowLog|SlidingWindowCounter", value))
}

/// Gives the object its limiter, once.
pub fn bind(this: This<'_>, limiter: Bound) -> Result<(), Thrown> {
    if bound(this).is_some() {
        let again = format!("{}::__construct() must not be called twice", name(this));
        return Err(exceptions::error(&again));
    }
    let object = container(this.as_ptr());
    // SAFETY: `create` made the object, and nothing can refer to a limiter that is not there.
    unsafe { (*object).bound = Some(limiter) };
    Ok(())
}

/// The whole of an object that `create` made. Good to read and write only for those.
fn container(object: *mut zend_object) -> *mut Object {
    object.wrapping_byte_sub(offset_of!(Object, std)).cast()
}

fn handlers() -> &'static zend_object_handlers {
    static HANDLERS: OnceLock<zend_object_handlers> = OnceLock::new();
    HANDLERS.get_or_init(|| zend_object_handlers {
        offset: offset_of!(Object, std) as i32,
        free_obj: Some(free),
        clone_obj: None,
        get_gc: Some(get_gc),
        compare: Some(compare),
        // SAFETY: the engine's own table, which is constant.
        ..unsafe { std_object_handlers }
    })
}

unsafe extern "C" fn create(class: *mut zend_class_entry) -> *mut zend_object {
    // SAFETY: allocates for ours and PHP's part, by the size of the class.
    let object =
        unsafe { ext_php_rs_zend_object_alloc(size_of::<Object>(), class) }.cast::<Object>();
    // SAFETY: newly allocated, so nothing is dropped.
    let bound = unsafe { &raw mut (*object).bound };
    // SAFETY: as above.
    unsafe { bound.write(None) };
    // SAFETY: as above.
    let std = unsafe { &raw mut (*object).std };
    // SAFETY: as above.
    unsafe { zend_object_std_init(std, class) };
    // SAFETY: as above.
    unsafe { object_properties_init(std, class) };
    std
}

unsafe extern "C" fn free(object: *mut zend_object) {
    let limiter = container(object);
    // SAFETY: the engine frees a live object, once. The destructors of a client object may run in here.
    let taken = unsafe { (*limiter).bound.take() };
    drop(taken);
    // SAFETY: as above; the engine frees the allocation itself.
    unsafe { zend_object_std_dtor(object) };
}

/// Two limiters are not equal, though PHP sees no property in which they differ.
unsafe extern "C" fn compare(one: *mut zval, other: *mut zval) -> c_int {
    const UNCOMPARABLE: c_int = 1; // ZEND_UNCOMPARABLE of zend_operators.h
    // SAFETY: the engine passes two live values, of which one is a limiter.
    let both = [one, other].map(|value| unsafe { &*value }).map(value::kind) == [IS_OBJECT; 2];
    // SAFETY: the engine's own table, which is constant.
    match unsafe { std_object_handlers }.compare {
        // SAFETY: passed on as they came: an object and what is none.
        Some(compare) if !both => unsafe { compare(one, other) },
        _ => UNCOMPARABLE,
    }
}

/// Shows the client object to the garbage collector, since it may lead back to this one.
unsafe extern "C" fn get_gc(
    object: *mut zend_object,
    table: *mut *mut zval,
    count: *mut i32,
) -> *mut HashTable {
    let limiter = container(object);
    // SAFETY: the engine asks about a live object.
    let bound = unsafe { &(*limiter).bound };
    let held = bound.as_ref().and_then(|bound| bound.backend.object());
    // SAFETY: the engine's own places for the answer.
    unsafe { *table = held.map_or(ptr::null_mut(), |held: &Zval| ptr::from_ref(held).cast_mut()) };
    // SAFETY: as above.
    unsafe { *count = i32::from(held.is_some()) };
    // SAFETY: a live object.
    unsafe { zend_std_get_properties(object) }
}
