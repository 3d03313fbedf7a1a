//! `rate_limit_status()` and the section in phpinfo(): what is in force, for an operator. No secrets.

use std::cmp::Reverse;
use std::ffi::CStr;

use ext_php_rs::ffi::{
    php_info_print_table_end, php_info_print_table_row, php_info_print_table_start,
    zend_function_entry, zend_internal_arg_info, zend_module_entry, zval,
};

use super::call::{Args, Return, native};
use super::memory::{self, Memory};
use super::value::{self, Map};
use super::zend::{self, MAY_BE_ARRAY, Thrown, display_ini_entries, plain};
use super::{enums, settings, settings_text};
use crate::core::time::{Micros, SECOND};
use crate::store::redis::{ClockMode, Layout};
use crate::store::shm::{ClockSeen, EndpointSeen, Region, Share, Shm};
use crate::tally::{self, ALGORITHMS, OUTCOMES, SOURCES};

const ARGUMENTS: &[zend_internal_arg_info] = &[zend::returns(0, plain(MAY_BE_ARRAY))];
/// `rate_limit_status(): array`
pub const FUNCTION: zend_function_entry =
    zend::function(c"rate_limit_status", native!(rate_limit_status), ARGUMENTS, 0);

fn rate_limit_status(args: &mut Args<'_>, out: &mut Return) -> Result<(), Thrown> {
    args.expect(0, 0)?;
    tally::flush();
    let shm = Memory::now().shm();
    let since = memory::region().ok().map(Region::since);
    out.set(
        Map::new()
            .text("version", env!("CARGO_PKG_VERSION"))
            .text("store", &store())
            .put("memory", memory_in_use())
            .put("since", since.map_or(value::null(), seconds))
            .put("decisions", decisions(shm))
            .put("policies", policies(shm))
            .put("servers", servers(shm))
            .put("busy", busy(shm))
            .put("settings", settings_in_force())
            .done(),
    );
    Ok(())
}

fn seconds(span: Micros) -> zval {
    value::double(span as f64 / SECOND as f64)
}

/// By class, source and outcome.
fn decisions(shm: Option<Shm>) -> zval {
    let counts: Vec<_> = shm.into_iter().flat_map(tally::decisions).collect();
    let mut counts = counts.chunks(SOURCES.len() * OUTCOMES.len());
    let mut classes = Map::new();
    for algorithm in ALGORITHMS {
        let mut sources = Map::new();
        for of_source in counts.next().unwrap_or_default().chunks(OUTCOMES.len()) {
            let outcomes = of_source.iter().fold(Map::new(), |outcomes, (_, _, outcome, count)| {
                outcomes.number(outcome.name(), *count)
            });
            sources = sources.put(of_source[0].1.name(), outcomes.done());
        }
        classes = classes.put(tally::class(algorithm), sources.done());
    }
    classes.done()
}

fn policies(shm: Option<Shm>) -> zval {
    let mut map = Map::new();
    for (name, counts) in shm.map(|shm| shm.policies()).unwrap_or_default() {
        let counts = OUTCOMES
            .iter()
            .zip(counts)
            .fold(Map::new(), |outcomes, (outcome, count)| outcomes.number(outcome.name(), count));
        map = map.put(&name, counts.done());
    }
    map.done()
}

/// How the servers of stores elsewhere do, as this host's workers see them.
fn servers(shm: Option<Shm>) -> zval {
    let mut map = Map::new();
    for endpoint in shm.map(|shm| shm.endpoints()).unwrap_or_default() {
        let deadline = match endpoint.object {
            false => "rate_limit.timeout, but for the look-up of a host's name",
            true => "the client object's own timeouts",
        };
        let (error, at) = endpoint.last_error.clone().unzip();
        let text = |text: Option<String>| {
            text.map_or(value::null(), |text| value::new_string(text.as_bytes()))
        };
        let quantile = |share| {
            let micros = endpoint.round_trips.quantile(share);
            micros.map_or(value::null(), |micros| value::double(micros / SECOND as f64))
        };
        let shown = Map::new()
            .text("state", state(&endpoint))
            .text("deadline", deadline)
            .number("failures_in_a_row", endpoint.failing)
            .put("next_try", endpoint.next_try.map_or(value::null(), seconds))
            .number("failures", endpoint.failures)
            .number("outages", endpoint.outages)
            .put("last_error", text(error))
            .put("last_error_at", at.map_or(value::null(), seconds))
            .number("answers", endpoint.round_trips.count())
            .put("p50", quantile(0.5))
            .put("p99", quantile(0.99))
            .put("clock", server_clock(endpoint.clock));
        map = map.put(&endpoint.name, shown.done());
    }
    map.done()
}

/// `left-alone`: nobody asks until the next try.
fn state(endpoint: &EndpointSeen) -> &'static str {
    match (endpoint.failing, endpoint.next_try) {
        (0, _) => "up",
        (_, None) => "failing",
        (_, Some(_)) => "left-alone",
    }
}

/// How far a server's clock is ahead of this host's, where that corrects stamps.
fn server_clock(clock: ClockSeen) -> zval {
    let (source, ahead) = match (settings::clock(), clock) {
        (ClockMode::Host, _) => ("host", value::null()),
        (_, ClockSeen::Unknown) => ("not asked yet", value::null()),
        (_, ClockSeen::Refused) => ("host, since the server refuses TIME", value::null()),
        (_, ClockSeen::Ahead(micros)) => ("server", value::double(micros as f64 / SECOND as f64)),
    };
    Map::new().text("source", source).put("ahead", ahead).done()
}

/// The busiest identities of the last minute, estimated from a sample, the busiest first.
fn busy(shm: Option<Shm>) -> zval {
    const MOST: usize = 20;
    let mut busy = shm.map(|shm| shm.busy()).unwrap_or_default();
    busy.sort_by_key(|busy| Reverse(busy.calls));
    let sampled = u64::from(tally::SAMPLED);
    let mut map = Map::new();
    for one in busy.iter().take(MOST) {
        let shown = Map::new()
            .number("limit", one.limit.into())
            .number("window", one.window.into())
            .number("calls", one.calls * sampled)
            .number("denied", one.denied * sampled);
        map = map.put(&one.pseudonym(), shown.done());
    }
    map.done()
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
        .put("shared", value::bool(memory::is_shared()))
        .number("size", usage.size)
        .number("used", usage.used_bytes)
        .put("counters", share(usage.counters))
        .put("logs", share(usage.logs))
        .put("log_lines", share(usage.lines))
        .number("evicted_expired", usage.evicted_expired)
        .number("evicted_live", usage.evicted_live)
        .done()
}

fn settings_in_force() -> zval {
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
        .put("enabled", value::bool(settings::enabled()))
        .put("dry_run", value::bool(settings::dry_run()))
        .done()
}

fn store() -> String {
    settings_text::without_secrets(&settings::text(c"rate_limit.store"))
}

/// The section in phpinfo().
pub unsafe extern "C" fn info(module: *mut zend_module_entry) {
    let shared = match memory::region() {
        Ok(region) if memory::is_shared() => {
            format!("{} bytes, shared with other workers", region.size())
        }
        Ok(region) => format!("{} bytes, of this process alone", region.size()),
        Err(error) => error.to_owned(),
    };
    // SAFETY: within phpinfo().
    unsafe { php_info_print_table_start() };
    row(c"rate_limit", "enabled");
    row(c"Version", env!("CARGO_PKG_VERSION"));
    row(c"Shared memory", &shared);
    for (name, value) in summary() {
        row(&zend::c_text(&name), &value);
    }
    // SAFETY: as above.
    unsafe { php_info_print_table_end() };
    // SAFETY: the engine passes the module's own entry.
    unsafe { display_ini_entries(module) };
}

/// What was decided, and how the endpoints are doing.
fn summary() -> Vec<(String, String)> {
    tally::flush();
    let Some(shm) = Memory::now().shm() else { return Vec::new() };
    let counted = tally::decisions(shm).filter(|&(_, _, _, count)| count > 0);
    let decisions = counted.map(|(algorithm, source, outcome, count)| {
        let (class, source) = (tally::class(algorithm), source.name());
        (format!("Decisions: {class}, {source}, {}", outcome.name()), count.to_string())
    });
    let endpoints = shm.endpoints().into_iter().map(|endpoint| {
        let state = state(&endpoint);
        let error = endpoint.last_error.map(|(error, _)| format!(", last error: {error}"));
        (format!("Server {}", endpoint.name), format!("{state}{}", error.unwrap_or_default()))
    });
    decisions.chain(endpoints).collect()
}

fn row(name: &CStr, value: &str) {
    let value = zend::c_text(value);
    // SAFETY: two cells, two strings.
    unsafe { php_info_print_table_row(2, name.as_ptr(), value.as_ptr()) };
}
