//! What `check()` returns: `['allowed' => bool, 'remaining' => int]`.
//!
//! Into a new array go the entries of one that was made at module start, in one piece with the hash
//! that finds them. Duplicating that array takes half as long again, adding key by key twice as long.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use ext_php_rs::ffi::{
    _zend_new_array, Bucket, HashTable, IS_ARRAY_EX, IS_FALSE, IS_LONG, IS_TRUE, zend_array,
    zend_hash_add_new, zend_value, zval,
};

use super::value;
use super::zend::{_zend_hash_init, interned, zend_hash_real_init_mixed};
use crate::core::verdict::Glance;

static MODEL: AtomicPtr<HashTable> = AtomicPtr::new(ptr::null_mut());

const ENTRIES: u32 = 2;
/// GC_NOT_COLLECTABLE of zend_types.h, among the flags of a type.
const NOT_COLLECTABLE: u32 = 1 << 4;
/// HT_MIN_SIZE of zend_types.h entries, which is what an array of two gets, have twice as many
/// numbers of 32 bits before them.
const HASH: usize = 2 * 8 * size_of::<u32>();

/// Makes the array that is copied. At module start; each start makes another, since the keys of the
/// last one ended with it.
pub fn prepare() {
    // SAFETY: all zeroes until the next line fills it.
    let model = Box::leak(Box::new(unsafe { std::mem::zeroed::<HashTable>() }));
    // SAFETY: persistent, so no request ends it; it holds no references.
    unsafe { _zend_hash_init(model, ENTRIES, None, true) };
    for (key, mut first) in [("allowed", value::bool(false)), ("remaining", value::long(0))] {
        // SAFETY: a new array, a permanent key, and a value without references.
        unsafe { zend_hash_add_new(model, interned(key), &raw mut first) };
    }
    MODEL.store(model, Relaxed); // before any worker or thread exists
}

/// The arrays of one limiter. It keeps the last one that it gave out and, once PHP holds it no longer,
/// gives it out again with new values: that takes half the time of a new one.
pub struct Answers(Cell<*mut zend_array>);

impl Answers {
    /// None given out yet.
    pub fn new() -> Self {
        Self(Cell::new(ptr::null_mut()))
    }

    /// The array that shows a decision to PHP.
    #[inline(always)]
    pub fn array(&self, Glance { allowed, remaining }: Glance) -> zval {
        // While PHP holds an array that this one holds as well, it copies it before any change.
        let (mut arr, alone) = (self.0.get(), 1);
        // SAFETY: held since it was made, and by nobody else unless its count says so.
        if arr.is_null() || unsafe { (*arr).gc.refcount } != alone {
            arr = self.renew();
        }
        // SAFETY: as above; now PHP holds it as well.
        unsafe { (*arr).gc.refcount = alone + 1 };
        let allowed = if allowed { IS_TRUE } else { IS_FALSE };
        set(arr, 0, zend_value { lval: 0 }, allowed);
        set(arr, 1, zend_value { lval: remaining.into() }, IS_LONG);
        value::value(zend_value { arr }, IS_ARRAY_EX)
    }

    /// Makes an array, and leaves the last one to PHP.
    #[inline(never)]
    fn renew(&self) -> *mut zend_array {
        let arr = new();
        let last = self.0.replace(arr);
        release(last);
        arr
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        release(self.0.get());
    }
}

/// Leaves an array to PHP, which may from here on write to it in place, and so put it into a cycle.
fn release(arr: *mut zend_array) {
    // SAFETY: null, or held until here.
    match unsafe { arr.as_mut() } {
        None => {}
        Some(table) if table.gc.refcount > 1 => {
            table.gc.refcount -= 1;
            // SAFETY: the only field of a union.
            unsafe { table.gc.u.type_info &= !NOT_COLLECTABLE };
        }
        Some(_) => drop(value::value(zend_value { arr }, IS_ARRAY_EX)),
    }
}

/// An array with the keys, in which the values are those of the model.
fn new() -> *mut zend_array {
    // SAFETY: makes a new array.
    let arr = unsafe { _zend_new_array(ENTRIES) };
    // SAFETY: new, and the keys are strings.
    unsafe { zend_hash_real_init_mixed(arr) };
    let (from, to) = (hash(MODEL.load(Relaxed)), hash(arr));
    // SAFETY: of both, hash and entries lie in one piece, and the model was asked for the same size.
    unsafe { from.copy_to_nonoverlapping(to, HASH + ENTRIES as usize * size_of::<Bucket>()) };
    // SAFETY: nobody else has it yet.
    let table = unsafe { &mut *arr };
    (table.nNumUsed, table.nNumOfElements) = (ENTRIES, ENTRIES);
    // While it is held here PHP puts nothing into it, so the collector need not look at it whenever PHP
    // lets go of it.
    // SAFETY: the only field of a union.
    unsafe { table.gc.u.type_info |= NOT_COLLECTABLE };
    arr
}

/// Where the hash of an array with string keys begins.
#[inline(always)]
fn hash(array: *mut HashTable) -> *mut u8 {
    entries(array).cast::<u8>().wrapping_sub(HASH)
}

#[inline(always)]
fn entries(array: *mut HashTable) -> *mut Bucket {
    // SAFETY: a live array.
    let data = unsafe { (*array).__bindgen_anon_1 };
    // SAFETY: with string keys it has buckets.
    unsafe { data.arData }
}

/// Sets the `n`-th value. Its `u2` links the keys of one hash and stays.
#[inline(always)]
fn set(array: *mut HashTable, n: usize, value: zend_value, type_info: u32) {
    // SAFETY: as many as [`ENTRIES`].
    let bucket = unsafe { entries(array).add(n) };
    // SAFETY: as above, and nobody else has the array yet.
    let slot = unsafe { &mut (*bucket).val };
    slot.value = value;
    slot.u1.type_info = type_info;
}
