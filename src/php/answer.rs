//! What `check()` returns: `['allowed' => bool, 'remaining' => int]`.
//!
//! A copy of one array that is made at module start: that takes half the time of making one key by
//! key.

use ext_php_rs::ffi::{
    HashTable, IS_ARRAY_EX, IS_FALSE, IS_LONG, IS_TRUE, zend_array_dup, zend_hash_add_new,
    zend_value, zval,
};

use super::value;
use super::zend::{_zend_hash_init, Known, interned};
use crate::limiter::Decision;

static MODEL: Known<HashTable> = Known::not_yet();

/// Makes the array that is copied. At module start; each start makes another, since the keys of the
/// last one ended with it.
pub fn prepare() {
    // SAFETY: all zeroes until the next line fills it.
    let model = Box::leak(Box::new(unsafe { std::mem::zeroed::<HashTable>() }));
    // SAFETY: persistent, so no request ends it; it holds no references.
    unsafe { _zend_hash_init(model, 2, None, true) };
    for (key, mut first) in [("allowed", value::bool(false)), ("remaining", value::long(0))] {
        // SAFETY: a new array, a permanent key, and a value without references.
        unsafe { zend_hash_add_new(model, interned(key), &raw mut first) };
    }
    MODEL.set(model);
}

/// The array that shows `decision` to PHP.
#[inline(always)]
pub fn array(decision: &Decision) -> zval {
    // SAFETY: made at module start.
    let arr = unsafe { zend_array_dup(MODEL.get()) };
    let allowed = if decision.verdict.allowed { IS_TRUE } else { IS_FALSE };
    set(arr, 0, zend_value { lval: 0 }, allowed);
    set(arr, 1, zend_value { lval: decision.verdict.remaining.into() }, IS_LONG);
    value::value(zend_value { arr }, IS_ARRAY_EX)
}

/// Sets the `n`-th value. Its `u2` links the keys of one hash and stays.
#[inline(always)]
fn set(array: *mut HashTable, n: usize, value: zend_value, type_info: u32) {
    // SAFETY: a copy of the model.
    let data = unsafe { (*array).__bindgen_anon_1 };
    // SAFETY: an array with string keys has buckets.
    let buckets = unsafe { data.arData };
    // SAFETY: the model has two.
    let bucket = unsafe { buckets.add(n) };
    // SAFETY: as above, and nobody else has the copy yet.
    let slot = unsafe { &mut (*bucket).val };
    slot.value = value;
    slot.u1.type_info = type_info;
}
