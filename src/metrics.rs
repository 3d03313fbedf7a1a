//! What `rate_limit_status()` says, for Prometheus: the text format 0.0.4.
//!
//! Identities stay out of it, pseudonyms included: each would be a time series of its own.
#![forbid(unsafe_code)]

use std::fmt::{Display, Write};

use crate::core::time::SECOND;
use crate::store::shm::{ClockSeen, EndpointSeen, Region, Share, Shm};
use crate::tally::{self, OUTCOMES};

/// What the caller knows of the process.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Of the extension.
    pub version: &'a str,
    /// `rate_limit.enabled`
    pub enabled: bool,
    /// `rate_limit.dry_run`
    pub dry_run: bool,
    /// Whether other processes look at the same region.
    pub shared: bool,
}

/// All metrics. `memory`: the region and this namespace's part of it, where there is one.
#[must_use]
pub fn text(facts: &Facts<'_>, memory: Option<(&Region, Shm)>) -> String {
    let mut text = Text(String::with_capacity(8192));
    text.family("info", "gauge", "The extension's version.");
    text.sample("info", &[("version", facts.version)], 1);
    text.single("enabled", "gauge", "Whether rate_limit.enabled is 1.", u8::from(facts.enabled));
    text.single("dry_run", "gauge", "Whether rate_limit.dry_run is 1.", u8::from(facts.dry_run));
    let size = memory.map_or(0, |(region, _)| region.size());
    let help = "Size of the shared memory in bytes; 0 where none could be mapped.";
    text.single("memory_size_bytes", "gauge", help, size);
    if let Some((region, shm)) = memory {
        text.decisions(shm);
        text.stores(&shm.endpoints());
        text.memory(region, facts.shared);
    }
    text.0
}

struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail; here and below.
        let _ =
            write!(self.0, "# HELP rate_limit_{name} {help}\n# TYPE rate_limit_{name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.0, "rate_limit_{name}");
        for (n, (label, of)) in labels.iter().enumerate() {
            let before = if n == 0 { '{' } else { ',' };
            let of = of.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{before}{label}=\"{of}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    fn decisions(&mut self, shm: Shm) {
        self.family("decisions_total", "counter", "Answers of check() and attempt().");
        for (algorithm, source, outcome, count) in tally::decisions(shm) {
            let class = tally::class(algorithm);
            let labels = [("class", class), ("source", source.name()), ("outcome", outcome.name())];
            self.sample("decisions_total", &labels, count);
        }
        let help = "Verdicts whose headers() were asked for under a policy's name.";
        self.family("policy_verdicts_total", "counter", help);
        for (policy, counts) in shm.policies() {
            for (outcome, count) in OUTCOMES.iter().zip(counts) {
                let labels = [("policy", policy.as_str()), ("outcome", outcome.name())];
                self.sample("policy_verdicts_total", &labels, count);
            }
        }
    }

    fn stores(&mut self, endpoints: &[EndpointSeen]) {
        self.each("store_up", "gauge", "1 unless the last answer was a failure.", endpoints, |e| {
            Some(f64::from(u8::from(e.failing == 0)))
        });
        let help = "Calls that the store failed.";
        self.each("store_failures_total", "counter", help, endpoints, |e| Some(e.failures as f64));
        let help = "Runs of such failures.";
        self.each("store_outages_total", "counter", help, endpoints, |e| Some(e.outages as f64));
        let help = "How far the store's clock is ahead of this host's.";
        self.each("store_clock_ahead_seconds", "gauge", help, endpoints, |e| match e.clock {
            ClockSeen::Ahead(micros) => Some(micros as f64 / SECOND as f64),
            _ => None,
        });
        let name = "store_round_trip_seconds";
        self.family(name, "histogram", "How long the store's answers took.");
        for endpoint in endpoints {
            self.histogram(name, endpoint);
        }
    }

    fn each(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        endpoints: &[EndpointSeen],
        value: impl Fn(&EndpointSeen) -> Option<f64>,
    ) {
        self.family(name, kind, help);
        for endpoint in endpoints {
            if let Some(value) = value(endpoint) {
                self.sample(name, &[("endpoint", &endpoint.name)], value);
            }
        }
    }

    fn histogram(&mut self, name: &str, endpoint: &EndpointSeen) {
        let (round_trips, endpoint) = (&endpoint.round_trips, endpoint.name.as_str());
        let (_, bounded) = round_trips.counts.split_last().expect("there are buckets");
        let mut below = 0;
        for (n, count) in bounded.iter().enumerate() {
            below += count;
            let bound = ((1_u64 << n) as f64 / SECOND as f64).to_string();
            let labels = [("endpoint", endpoint), ("le", bound.as_str())];
            self.sample(&format!("{name}_bucket"), &labels, below);
        }
        let all = round_trips.count();
        self.sample(&format!("{name}_bucket"), &[("endpoint", endpoint), ("le", "+Inf")], all);
        let sum = round_trips.sum as f64 / SECOND as f64;
        self.sample(&format!("{name}_sum"), &[("endpoint", endpoint)], sum);
        self.sample(&format!("{name}_count"), &[("endpoint", endpoint)], all);
    }

    fn memory(&mut self, region: &Region, shared: bool) {
        let usage = region.usage();
        let help = "When the shared memory was made and counting began, Unix time.";
        let since = region.since() as f64 / SECOND as f64;
        self.single("start_time_seconds", "gauge", help, since);
        let help = "Whether other processes look at the same shared memory.";
        self.single("memory_shared", "gauge", help, u8::from(shared));
        let help = "Bytes of it that states take up.";
        self.single("memory_used_bytes", "gauge", help, usage.used_bytes);
        let parts = [("counter", usage.counters), ("log", usage.logs), ("log_line", usage.lines)];
        let mut share = |name, help, of: fn(Share) -> u64| {
            self.family(name, "gauge", help);
            parts.iter().for_each(|&(part, share)| self.sample(name, &[("part", part)], of(share)));
        };
        share("memory_parts_used", "Counters, logs and lines of ten log entries.", |share| {
            share.used
        });
        share("memory_parts", "How many there is room for.", |share| share.of);
        self.family("memory_evicted_total", "counter", "States that made room for others.");
        let evicted = [("live", usage.evicted_live), ("expired", usage.evicted_expired)];
        for (state, count) in evicted {
            self.sample("memory_evicted_total", &[("state", state)], count);
        }
    }
}
