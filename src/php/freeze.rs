//! For tests alone: lets a script stand the clock still.

use ext_php_rs::ffi::{IS_NULL, zend_function_entry, zend_internal_arg_info};

use super::call::{Args, Return, native, value_error};
use super::zend::{self, MAY_BE_LONG, MAY_BE_NULL, MAY_BE_VOID, Thrown, plain};
use crate::clock;

const ARGUMENTS: &[zend_internal_arg_info] = &[
    zend::returns(1, plain(MAY_BE_VOID)),
    zend::arg(c"microseconds", plain(MAY_BE_LONG | MAY_BE_NULL)),
];
/// `rate_limit_freeze(?int $microseconds): void`: every clock shows this instant, null lets them run.
pub const FUNCTION: zend_function_entry =
    zend::function(c"rate_limit_freeze", native!(rate_limit_freeze), ARGUMENTS, 0);

fn rate_limit_freeze(args: &mut Args<'_>, _: &mut Return) -> Result<(), Thrown> {
    args.expect(1, 1)?;
    if args.kind(1) == IS_NULL {
        clock::freeze(None);
        return Ok(());
    }
    let at = u64::try_from(args.long(1)?);
    clock::freeze(Some(at.map_err(|_| value_error(1, "must be greater than or equal to 0"))?));
    Ok(())
}
