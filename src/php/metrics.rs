//! `rate_limit_metrics()`.

use ext_php_rs::ffi::{zend_function_entry, zend_internal_arg_info};

use super::call::{Args, Return, native};
use super::memory::{self, Memory};
use super::zend::{self, MAY_BE_STRING, Thrown, plain};
use super::{settings, value};
use crate::metrics::{self, Facts};
use crate::tally;

const ARGUMENTS: &[zend_internal_arg_info] = &[zend::returns(0, plain(MAY_BE_STRING))];
/// `rate_limit_metrics(): string`
pub const FUNCTION: zend_function_entry =
    zend::function(c"rate_limit_metrics", native!(rate_limit_metrics), ARGUMENTS, 0);

fn rate_limit_metrics(args: &mut Args<'_>, out: &mut Return) -> Result<(), Thrown> {
    args.expect(0, 0)?;
    tally::flush();
    let facts = Facts {
        version: env!("CARGO_PKG_VERSION"),
        enabled: settings::enabled(),
        dry_run: settings::dry_run(),
        shared: memory::is_shared(),
    };
    let memory = memory::region().ok().zip(Memory::now().shm());
    out.set(value::new_string(metrics::text(&facts, memory).as_bytes()));
    Ok(())
}
