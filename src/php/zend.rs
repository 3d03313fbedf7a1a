//! The parts of the Zend API that ext-php-rs does not bind, as PHP 8.4's headers declare them, and
//! the shapes that the binding builds from them: argument tables, classes, plain values.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use ext_php_rs::ffi::{
    _ZEND_TYPE_LITERAL_NAME_BIT, _zend_expected_type, HashTable, ext_php_rs_executor_globals,
    std_object_handlers, zend_class_entry, zend_function, zend_function_entry,
    zend_hash_str_find_ptr_lc, zend_internal_arg_info, zend_long, zend_module_entry, zend_object,
    zend_property_info, zend_string, zend_type, zif_handler, zval,
};
use ext_php_rs::types::{ZendStr, Zval};

unsafe extern "C" {
    // Zend/zend_API.h
    pub fn zend_parse_arg_long_slow(arg: *const zval, dest: *mut zend_long, arg_num: u32) -> bool;
    pub fn zend_parse_arg_str_slow(
        arg: *mut zval,
        dest: *mut *mut zend_string,
        arg_num: u32,
    ) -> bool;
    pub fn zend_wrong_parameter_type_error(num: u32, expected: _zend_expected_type, arg: *mut zval);
    pub fn zend_argument_type_error(arg_num: u32, format: *const c_char, ...);
    pub fn zend_argument_value_error(arg_num: u32, format: *const c_char, ...);
    pub fn zend_zval_value_name(arg: *const zval) -> *const c_char;
    pub fn zend_declare_typed_property(
        ce: *mut zend_class_entry,
        name: *mut zend_string,
        property: *mut zval,
        access_type: c_int,
        doc_comment: *mut zend_string,
        type_: zend_type,
    ) -> *mut zend_property_info;
    // Zend/zend_hash.h
    pub fn _zend_hash_init(
        table: *mut HashTable,
        size: u32,
        destructor: Option<unsafe extern "C" fn(*mut zval)>,
        persistent: bool,
    );
    pub fn zend_hash_real_init_mixed(table: *mut HashTable);
    // Zend/zend_attributes.h
    pub fn zend_add_attribute(
        attributes: *mut *mut HashTable,
        name: *mut zend_string,
        argc: u32,
        flags: u32,
        offset: u32,
        lineno: u32,
    ) -> *mut c_void;
    // Zend/zend_exceptions.h
    pub fn zend_exception_set_previous(exception: *mut zend_object, previous: *mut zend_object);
    pub fn zend_clear_exception();
    // Zend/zend_ini.h, main/php_ini.h
    pub fn zend_register_ini_entries_ex(
        entries: *const ext_php_rs::ffi::zend_ini_entry_def,
        module_number: c_int,
        module_type: c_int,
    ) -> c_int;
    pub fn zend_unregister_ini_entries_ex(module_number: c_int, module_type: c_int);
    pub fn zend_ini_str(name: *const c_char, length: usize, orig: bool) -> *mut zend_string;
    pub fn display_ini_entries(module: *mut zend_module_entry);
    // main/php.h
    pub fn php_log_err_with_severity(message: *const c_char, severity: c_int);
    // main/SAPI.h
    pub fn sapi_getenv(name: *const c_char, length: usize) -> *mut c_char;
    // ext/spl/spl_exceptions.h
    pub static spl_ce_RuntimeException: *mut zend_class_entry;
    pub static spl_ce_InvalidArgumentException: *mut zend_class_entry;
}

/// A PHP exception is pending: the caller returns to PHP at once.
#[derive(Debug)]
pub struct Thrown;

/// Something of the engine's that is known from module start on: a class of ours, a permanent string.
pub struct Known<T>(AtomicPtr<T>);

impl<T> Known<T> {
    pub const fn not_yet() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Null before module start.
    pub fn get(&self) -> *mut T {
        self.0.load(Relaxed) // written at module start, before any worker or thread exists
    }

    pub fn set(&self, known: *mut T) {
        self.0.store(known, Relaxed); // as above
    }
}

/// A class of ours.
pub type Class = Known<zend_class_entry>;

/// Keeps the first argument of a method out of stack traces. At module start.
pub fn sensitive_first_argument(class: &mut zend_class_entry, method: &str) {
    const PERSISTENT: u32 = 1; // ZEND_ATTRIBUTE_PERSISTENT of zend_attributes.h
    const FIRST: u32 = 1; // zend_add_parameter_attribute: the argument's number from 0, + 1
    let (table, name) = (&raw const class.function_table, method.as_ptr().cast());
    // SAFETY: the class' own table, and a name as long as is said.
    let function = unsafe { zend_hash_str_find_ptr_lc(table, name, method.len()) };
    let Some(function) = ptr::NonNull::new(function.cast::<zend_function>()) else { return };
    // SAFETY: a method of a class that was just registered.
    let attributes = unsafe { &raw mut (*function.as_ptr()).common.attributes };
    // SAFETY: as above.
    unsafe {
        zend_add_attribute(attributes, interned("SensitiveParameter"), 0, PERSISTENT, FIRST, 0)
    };
}

/// Immutable tables for the engine: they hold pointers into other constants alone.
#[repr(transparent)]
pub struct Table<T: ?Sized + 'static>(pub &'static T);

// SAFETY: the pointers lead to constants, and the engine only reads through them.
unsafe impl<T: ?Sized> Sync for Table<T> {}

/// No type at all.
pub const NO_TYPE: zend_type = plain(0);
pub const MAY_BE_NULL: u32 = 1 << 1;
pub const MAY_BE_BOOL: u32 = 3 << 2;
pub const MAY_BE_LONG: u32 = 1 << 4;
pub const MAY_BE_DOUBLE: u32 = 1 << 5;
pub const MAY_BE_STRING: u32 = 1 << 6;
pub const MAY_BE_ARRAY: u32 = 1 << 7;
pub const MAY_BE_VOID: u32 = 1 << 14;

/// A type of scalars, arrays, null and void.
pub const fn plain(mask: u32) -> zend_type {
    zend_type { ptr: ptr::null_mut(), type_mask: mask }
}

/// A type of classes (`A|B`), and of what `mask` adds. The engine splits the names.
pub const fn classes(names: &'static CStr, mask: u32) -> zend_type {
    zend_type {
        ptr: names.as_ptr().cast_mut().cast(),
        type_mask: _ZEND_TYPE_LITERAL_NAME_BIT | mask,
    }
}

/// First entry of an argument table: how many arguments are required, and the return type.
pub const fn returns(required: usize, type_: zend_type) -> zend_internal_arg_info {
    zend_internal_arg_info {
        name: ptr::without_provenance(required),
        type_,
        default_value: ptr::null(),
    }
}

/// A required argument.
pub const fn arg(name: &'static CStr, type_: zend_type) -> zend_internal_arg_info {
    zend_internal_arg_info { name: name.as_ptr(), type_, default_value: ptr::null() }
}

/// An argument with a default, written as PHP.
pub const fn optional(
    name: &'static CStr,
    type_: zend_type,
    default: &'static CStr,
) -> zend_internal_arg_info {
    zend_internal_arg_info { default_value: default.as_ptr(), ..arg(name, type_) }
}

/// A function or method. `args` begins with [`returns`].
pub const fn function(
    name: &'static CStr,
    handler: zif_handler,
    args: &'static [zend_internal_arg_info],
    flags: u32,
) -> zend_function_entry {
    zend_function_entry {
        fname: name.as_ptr(),
        handler,
        arg_info: args.as_ptr(),
        num_args: args.len() as u32 - 1,
        flags,
        frameless_function_infos: ptr::null(),
        doc_comment: ptr::null(),
    }
}

/// Last entry of a function table.
pub const END: zend_function_entry = zend_function_entry {
    fname: ptr::null(),
    handler: None,
    arg_info: ptr::null(),
    num_args: 0,
    flags: 0,
    frameless_function_infos: ptr::null(),
    doc_comment: ptr::null(),
};

/// A class that is not registered yet. `functions` ends with [`END`].
pub fn class(name: &str, functions: &'static [zend_function_entry]) -> zend_class_entry {
    let class = std::mem::MaybeUninit::<zend_class_entry>::zeroed();
    // SAFETY: all zeroes is how INIT_CLASS_ENTRY of zend_API.h begins.
    let mut class = unsafe { class.assume_init() };
    class.name = interned(name);
    class.default_object_handlers = &raw const std_object_handlers;
    class.info.internal.builtin_functions = functions.as_ptr();
    class
}

/// A permanent string. Only while the module starts.
pub fn interned(text: &str) -> *mut zend_string {
    ZendStr::new_interned(text, true).into_raw()
}

/// `text` for C; what follows a NUL would be lost, so NULs are shown.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default()
}

/// The pending PHP exception, or null.
fn pending() -> *mut zend_object {
    // SAFETY: the engine's globals exist as long as the module is loaded.
    let globals = unsafe { ext_php_rs_executor_globals() };
    // SAFETY: as above; only this thread writes the field.
    unsafe { (*globals).exception }
}

/// Whether a PHP exception is pending. Asked after every call into PHP.
pub fn thrown() -> Result<(), Thrown> {
    if pending().is_null() { Ok(()) } else { Err(Thrown) }
}

/// The class of the pending exception.
pub fn pending_class() -> Option<*mut zend_class_entry> {
    // SAFETY: null or a live object that the engine owns.
    unsafe { pending().as_ref() }.map(|exception| exception.ce)
}

/// Takes the pending exception, so that it no longer is one.
pub fn take_exception() -> Option<Zval> {
    // SAFETY: null or a live object that the engine owns.
    let exception = unsafe { pending().as_mut() }?;
    let mut taken = Zval::new();
    taken.set_object(exception); // adds a reference
    // SAFETY: an exception is pending.
    unsafe { zend_clear_exception() };
    Some(taken)
}
