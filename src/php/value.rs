//! PHP values: what is in one, and new ones.

use ext_php_rs::boxed::ZBox;
use ext_php_rs::ffi::{
    IS_ARRAY_EX, IS_DOUBLE, IS_FALSE, IS_LONG, IS_NULL, IS_OBJECT, IS_STRING, IS_TRUE, zend_long,
    zend_object, zend_string, zend_value, zval,
};
use ext_php_rs::types::{ZendHashTable, ZendStr};

/// The bytes of a string that PHP owns.
///
/// # Safety
/// `string` is a live string and outlives `'a`.
pub unsafe fn bytes<'a>(string: *const zend_string) -> &'a [u8] {
    // SAFETY: live by this function's contract.
    let length = unsafe { (*string).len };
    // SAFETY: likewise; no reference is made to the one declared byte.
    let start = unsafe { &raw const (*string).val };
    // SAFETY: a zend_string holds `len` bytes from `val` on.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}

/// The type of a value, `IS_*`.
#[inline(always)]
pub fn kind(value: &zval) -> u32 {
    // SAFETY: every zval has a type.
    u32::from(unsafe { value.u1.v }.type_)
}

/// The `n`-th declared property of an object, from 0.
///
/// # Safety
/// A live object whose class declares more than `n` properties.
pub unsafe fn property(object: *mut zend_object, n: usize) -> *mut zval {
    // SAFETY: the caller's.
    let table = unsafe { &raw mut (*object).properties_table };
    // SAFETY: the table has as many entries as the class declares properties.
    unsafe { table.cast::<zval>().add(n) }
}

/// A value from its payload and type.
pub const fn value(value: zend_value, type_info: u32) -> zval {
    zval {
        value,
        u1: ext_php_rs::ffi::_zval_struct__bindgen_ty_1 { type_info },
        u2: ext_php_rs::ffi::_zval_struct__bindgen_ty_2 { extra: 0 },
    }
}

/// A bool.
pub fn bool(on: bool) -> zval {
    value(zend_value { lval: 0 }, if on { IS_TRUE } else { IS_FALSE })
}

/// An int.
pub fn long(lval: zend_long) -> zval {
    value(zend_value { lval }, IS_LONG)
}

/// A float.
pub fn double(dval: f64) -> zval {
    value(zend_value { dval }, IS_DOUBLE)
}

/// Null.
pub fn null() -> zval {
    value(zend_value { lval: 0 }, IS_NULL)
}

/// The object in a value, whose reference passes to the caller.
pub fn into_object(value: zval) -> Option<*mut zend_object> {
    let held = std::mem::ManuallyDrop::new(value);
    // SAFETY: its type says so.
    (kind(&held) == IS_OBJECT).then(|| unsafe { held.value.obj })
}

/// A permanent string.
pub fn string(str_: *mut zend_string) -> zval {
    value(zend_value { str_ }, IS_STRING)
}

/// A new string.
pub fn new_string(bytes: &[u8]) -> zval {
    let mut text = zval::new();
    text.set_zend_string(ZendStr::new(bytes, false)); // knows that short ones are permanent
    text
}

/// A PHP array with string keys, in the making.
pub struct Map(ZBox<ZendHashTable>);

impl Map {
    /// An empty one.
    pub fn new() -> Self {
        Self(ZendHashTable::new())
    }

    /// Adds a value, whose reference this takes over.
    pub fn put(mut self, name: &str, value: zval) -> Self {
        // Only a key with a NUL cannot be inserted; no name of ours has one, and an address or a policy
        // with one is left out.
        let _ = self.0.insert(name, value);
        self
    }

    /// Adds a string.
    pub fn text(self, name: &str, value: &str) -> Self {
        self.put(name, new_string(value.as_bytes()))
    }

    /// Adds an int, at most PHP's largest.
    pub fn number(self, name: &str, value: u64) -> Self {
        self.put(name, long(value as i64))
    }

    /// The array.
    pub fn done(self) -> zval {
        value(zend_value { arr: self.0.into_raw() }, IS_ARRAY_EX)
    }
}
