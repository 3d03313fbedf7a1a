//! `rate_limit_status()` and the section in phpinfo(): what is in force, for an operator. No secrets.

use std::ffi::CStr;

use ext_php_rs::ffi::{
    php_info_print_table_end, php_info_print_table_row, php_info_print_table_start,
    zend_function_entry, zend_internal_arg_info, zend_module_entry, zval,
};

use super::call::{Args, Return, native};
use super::value::{self, Map};
use super::zend::{self, MAY_BE_ARRAY, Thrown, display_ini_entries, plain};
use super::{clocks, enums, memory, settings, settings_text};
use crate::core::time::{Micros, SECOND};
use crate::store::redis::{ClockMode, Known, Layout};
use crate::store::shm::Share;

const ARGUMENTS: &[zend_internal_arg_info] = &[zend::returns(0, plain(MAY_BE_ARRAY))];
/// `rate_limit_status(): array`
pub const FUNCTION: zend_function_entry =
    zend::function(c"rate_limit_status", native!(rate_limit_status), ARGUMENTS, 0);

fn rate_limit_status(args: &mut Args<'_>, out: &mut Return) -> Result<(), Thrown> {
    args.expect(0, 0)?;
    out.set(
        Map::new()
            .text("version", env!("CARGO_PKG_VERSION"))
            .text("store", &store())
            .put("memory", memory_in_use())
            .put("clocks", server_clocks())
            .put("settings", settings_in_force())
            .done(),
    );
    Ok(())
}

fn memory_in_use() -> zval {
    let region = match memory::region() {
        Ok(region) => region,
        Err(error) => {
            return Map::new().put("mapped", value::bool(false)).text("error", error).done();
        }
    };
    let usage = region.usage();
    let share = |share: Share| Map::new().number("used", share.used).number("of", share.of).done();
    Map::new()
        .put("mapped", value::bool(true))
        .put("shared", value::bool(memory::is_inherited()))
        .number("size", usage.size)
        .number("used", usage.used_bytes)
        .put("counters", share(usage.counters))
        .put("logs", share(usage.logs))
        .put("log_lines", share(usage.lines))
        .number("evicted_expired", usage.evicted_expired)
        .number("evicted_live", usage.evicted_live)
        .done()
}

/// How far each server's clock is ahead of this host's, in seconds, where that corrects stamps.
fn server_clocks() -> zval {
    let mut map = Map::new();
    for (endpoint, known) in clocks::all() {
        let (source, ahead) = match (settings::clock(), known) {
            (ClockMode::Host, _) => ("host", value::null()),
            (_, Known::Nothing) => ("not asked yet", value::null()),
            (_, Known::Refused) => ("host, since the server refuses TIME", value::null()),
            (_, Known::Distance(micros)) => {
                ("server", value::double(micros as f64 / SECOND as f64))
            }
        };
        map = map.put(&endpoint, Map::new().text("source", source).put("ahead", ahead).done());
    }
    map.done()
}

fn settings_in_force() -> zval {
    let seconds = |span: Micros| value::double(span as f64 / SECOND as f64);
    let text = |name: &CStr| String::from_utf8_lossy(&settings::text(name)).into_owned();
    Map::new()
        .text("on_failure", enums::on_failure_name(settings::on_failure()))
        .put("timeout", seconds(settings::timeout()))
        .number("breaker", settings::breaker())
        .put("retry_interval", seconds(settings::retry_interval()))
        .number("memory_size", settings::memory_size())
        .text("memory_file", &text(c"rate_limit.memory_file"))
        .text("namespace", &text(c"rate_limit.namespace"))
        .text("salt", &text(c"rate_limit.salt"))
        .text("salt_file", &text(c"rate_limit.salt_file"))
        .number("ipv6_prefix", settings::ipv6_prefix().bits())
        .put("deny_cache", value::bool(settings::deny_cache()))
        .text(
            "log_layout",
            match settings::log_layout() {
                Layout::SortedSet => "sorted-set",
                Layout::List => "list",
            },
        )
        .text(
            "clock",
            match settings::clock() {
                ClockMode::Server => "server",
                ClockMode::Host => "host",
            },
        )
        .done()
}

fn store() -> String {
    settings_text::without_secrets(&settings::text(c"rate_limit.store"))
}

/// The section in phpinfo().
pub unsafe extern "C" fn info(module: *mut zend_module_entry) {
    let shared = match memory::region() {
        Ok(region) => format!("{} bytes", region.size()),
        Err(error) => error.to_owned(),
    };
    // SAFETY: within phpinfo().
    unsafe { php_info_print_table_start() };
    row(c"rate_limit", "enabled");
    row(c"Version", env!("CARGO_PKG_VERSION"));
    row(c"Shared memory", &shared);
    // SAFETY: as above.
    unsafe { php_info_print_table_end() };
    // SAFETY: the engine passes the module's own entry.
    unsafe { display_ini_entries(module) };
}

fn row(name: &CStr, value: &str) {
    let value = zend::c_text(value);
    // SAFETY: two cells, two strings.
    unsafe { php_info_print_table_row(2, name.as_ptr(), value.as_ptr()) };
}
