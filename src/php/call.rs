//! The way in: every function that PHP calls begins at [`enter`], and reads its arguments by PHP's
//! own rules.

use std::ffi::c_char;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use ext_php_rs::ffi::{
    _zend_expected_type, _zend_expected_type_Z_EXPECTED_LONG,
    _zend_expected_type_Z_EXPECTED_STRING, IS_LONG, IS_NULL, IS_STRING, zend_execute_data,
    zend_object, zend_wrong_parameters_count_error, zval,
};

use super::exceptions;
use super::value::{self, kind};
use super::zend::{
    self, Thrown, zend_argument_type_error, zend_argument_value_error, zend_parse_arg_long_slow,
    zend_parse_arg_str_slow, zend_wrong_parameter_type_error, zend_zval_value_name,
};

/// ZEND_CALL_FRAME_SLOT of zend_compile.h: arguments stand behind the frame, aligned to a zval.
const FRAME_SLOTS: usize = size_of::<zend_execute_data>().div_ceil(size_of::<zval>());

/// The body of a function that PHP can call.
pub type Body = fn(&mut Args<'_>, &mut Return) -> Result<(), Thrown>;

/// Where a function's answer goes; PHP has set it to null.
pub struct Return(*mut zval);

/// Runs `body` on a call from PHP. A panic becomes an `Error`: none may cross into C.
///
/// # Safety
/// `frame` and `out` are what the engine passes to an internal function.
#[inline(always)]
pub unsafe fn enter(frame: *mut zend_execute_data, out: *mut zval, body: Body) {
    let call = || body(&mut Args { frame, call: PhantomData }, &mut Return(out));
    if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
        exceptions::internal_error(panic.as_ref());
    }
}

/// The C function that runs a [`Body`].
macro_rules! native {
    ($body:path) => {{
        unsafe extern "C" fn handler(
            frame: *mut ext_php_rs::ffi::zend_execute_data,
            out: *mut ext_php_rs::ffi::zval,
        ) {
            // SAFETY: the engine calls this as an internal function.
            unsafe { $crate::php::call::enter(frame, out, $body) }
        }
        Some(handler as unsafe extern "C" fn(_, _))
    }};
}
pub(super) use native;

/// The arguments of a call, numbered from 1.
pub struct Args<'a> {
    frame: *mut zend_execute_data,
    call: PhantomData<&'a mut zend_execute_data>,
}

/// The object whose method was called, alive until the call returns. No reference, since what is
/// ours stands in front of PHP's part: a write to it by way of a shared reference to that part is
/// one that the optimiser may drop, and does.
#[derive(Clone, Copy)]
pub struct This<'a> {
    object: *mut zend_object,
    call: PhantomData<&'a zend_object>,
}

impl This<'_> {
    /// The object that an argument is, which lives until the call returns.
    pub fn of(argument: &zval) -> Self {
        // SAFETY: the caller has seen that it is an object.
        Self { object: unsafe { argument.value.obj }, call: PhantomData }
    }

    /// Where PHP's part of it is.
    pub fn as_ptr(self) -> *mut zend_object {
        self.object
    }
}

impl<'a> Args<'a> {
    /// How many were passed.
    pub fn count(&self) -> u32 {
        // SAFETY: ZEND_CALL_NUM_ARGS: the engine keeps the count there.
        unsafe { self.this_value().u2.num_args }
    }

    /// The object whose method was called. Only in methods.
    pub fn this(&self) -> This<'a> {
        // SAFETY: `This` is an object in a method.
        This { object: unsafe { self.this_value().value.obj }, call: PhantomData }
    }

    fn this_value(&self) -> &zval {
        // SAFETY: the frame lives until the call returns.
        unsafe { &(*self.frame).This }
    }

    /// Checks the number of arguments.
    pub fn expect(&self, least: u32, most: u32) -> Result<(), Thrown> {
        if (least..=most).contains(&self.count()) {
            return Ok(());
        }
        // SAFETY: throws, and reads the frame for the function's name.
        unsafe { zend_wrong_parameters_count_error(least, most) };
        Err(Thrown)
    }

    /// The `n`-th argument, which [`Self::expect`] or [`Self::count`] says was passed.
    pub fn get(&mut self, n: u32) -> &'a mut zval {
        assert!(0 < n && n <= self.count());
        // SAFETY: the arguments stand behind the frame, as many as `count` says.
        let slot = unsafe { self.frame.cast::<zval>().add(FRAME_SLOTS + n as usize - 1) };
        // SAFETY: as above; the engine fills each before the call.
        unsafe { &mut *slot }
    }

    /// The type of the `n`-th argument, `IS_*`.
    pub fn kind(&mut self, n: u32) -> u32 {
        kind(self.get(n))
    }

    /// The bytes of the `n`-th argument, a string.
    pub fn string(&mut self, n: u32) -> Result<&'a [u8], Thrown> {
        let wrong =
            |argument: &mut zval| wrong_type(n, _zend_expected_type_Z_EXPECTED_STRING, argument);
        self.string_or(n, wrong)
    }

    /// The bytes of the `n`-th argument, where it is or may become a string.
    pub fn string_or(
        &mut self,
        n: u32,
        wrong: impl FnOnce(&mut zval) -> Thrown,
    ) -> Result<&'a [u8], Thrown> {
        let argument = self.get(n);
        let mut string = ptr::null_mut();
        if kind(argument) == IS_STRING {
            // SAFETY: its type says so.
            string = unsafe { argument.value.str_ };
        } else if kind(argument) == IS_NULL
            // SAFETY: converts the argument in place where PHP's rules allow that.
            || !unsafe { zend_parse_arg_str_slow(argument, &raw mut string, n) }
        {
            return Err(wrong(argument));
        }
        // SAFETY: the argument owns the string until the call returns.
        Ok(unsafe { value::bytes(string) })
    }

    /// The `n`-th argument, an int.
    pub fn long(&mut self, n: u32) -> Result<i64, Thrown> {
        let argument = self.get(n);
        let mut value = 0;
        if kind(argument) == IS_LONG {
            // SAFETY: its type says so.
            value = unsafe { argument.value.lval };
        } else if kind(argument) == IS_NULL
            // SAFETY: reads the argument, converting where PHP's rules allow that.
            || !unsafe { zend_parse_arg_long_slow(argument, &raw mut value, n) }
        {
            return Err(wrong_type(n, _zend_expected_type_Z_EXPECTED_LONG, argument));
        }
        Ok(value)
    }

    /// The `n`-th argument, an int that may be left out.
    pub fn optional_long(&mut self, n: u32, default: i64) -> Result<i64, Thrown> {
        if n <= self.count() { self.long(n) } else { Ok(default) }
    }
}

impl Return {
    /// Answers with `value`, whose reference this takes over.
    pub fn set(&mut self, value: zval) {
        // SAFETY: the engine's slot for the answer, which holds null and needs no release.
        unsafe { self.0.write(value) };
    }
}

/// Throws PHP's `TypeError` about the `n`-th argument, unless the conversion threw already.
///
/// A userland `string` or `int` refuses null in every mode; so do these, though the engine's own
/// functions only deprecate it.
#[cold]
fn wrong_type(n: u32, expected: _zend_expected_type, argument: &mut zval) -> Thrown {
    // SAFETY: throws only if nothing is pending.
    unsafe { zend_wrong_parameter_type_error(n, expected, argument) };
    Thrown
}

/// Throws a `TypeError` about the `n`-th argument, which is of none of `types`.
#[cold]
pub fn wrong_class(n: u32, types: &str, argument: &zval) -> Thrown {
    if zend::thrown().is_ok() {
        let types = zend::c_text(types);
        // SAFETY: a live value; the name is the engine's.
        let given = unsafe { zend_zval_value_name(argument) };
        const FORMAT: *const c_char = c"must be of type %s, %s given".as_ptr();
        // SAFETY: two strings for two %s.
        unsafe { zend_argument_type_error(n, FORMAT, types.as_ptr(), given) };
    }
    Thrown
}

/// Throws a `ValueError` about the `n`-th argument.
#[cold]
pub fn value_error(n: u32, rule: impl std::fmt::Display) -> Thrown {
    const FORMAT: *const c_char = c"%s".as_ptr();
    let rule = zend::c_text(&rule.to_string());
    // SAFETY: one string for one %s.
    unsafe { zend_argument_value_error(n, FORMAT, rule.as_ptr()) };
    Thrown
}
