//! The checks, in the order in which one explains the next.

use rate_limit::clock;
use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::time::{Micros, SECOND};
use rate_limit::store::redis::{
    ClockMode, Dsn, Endpoint, Known, Naming, Options, RedisStore, Server, SharedConnection,
    connection,
};
use rate_limit::store::{Call, Store as _, StoreError};

use super::{Finding, permissions, server};
use crate::args::DoctorArgs;

/// How long the store is given where `rate_limit.timeout` was too short.
const PATIENCE: Micros = 5 * SECOND;
/// How many round trips are measured, and for how long at the most.
const ROUND_TRIPS: usize = 500;
const MEASURE_FOR: Micros = 2 * SECOND;
/// From which distance on hosts that do not correct their clocks would decide otherwise.
const FAR: u64 = SECOND;

/// All findings about the store.
pub fn all(dsn: &Dsn, args: &DoctorArgs) -> Vec<Finding> {
    let timeout = (args.timeout * SECOND as f64) as Micros;
    let mut findings = Vec::new();
    let Some(mut link) = reach(&dsn.endpoint, timeout, &mut findings) else { return findings };
    match &dsn.endpoint.server {
        Server::Cluster(_) => server::cluster(&mut link, dsn, &mut findings),
        _ => server::one(&mut link, &dsn.prefix, "", &mut findings),
    }
    let cluster = matches!(dsn.endpoint.server, Server::Cluster(_));
    let naming = Naming { prefix: dsn.prefix.clone(), cluster, layout: args.log_layout.into() };
    let identity = format!("rate-limit doctor {}", std::process::id());
    findings.push(permissions::check(&mut link, &naming, &identity));
    let mut store = RedisStore::new(link, naming, ClockMode::Server);
    match decide(&mut store, identity.as_bytes()) {
        Err(error) => findings.push(Finding::fail(
            "decision",
            error.to_string(),
            "every call would follow rate_limit.on_failure until this is put right",
        )),
        Ok(()) => {
            findings.push(Finding::ok("decision", "both classes decide and forget"));
            findings.push(clocks(store.clock()));
            findings.push(latency(&mut store, identity.as_bytes(), timeout));
        }
    }
    findings
}

/// A connection that answers, if there is one within [`PATIENCE`].
fn reach(
    endpoint: &Endpoint,
    timeout: Micros,
    findings: &mut Vec<Finding>,
) -> Option<SharedConnection> {
    let ping = |timeout| {
        let mut link = connection(endpoint, Options { timeout });
        let started = clock::monotonic();
        match link.command(b"", &[b"PING"]) {
            Err(error) if !is_no_right(&error) => Err(error),
            _ => Ok((link, clock::monotonic() - started)), // a refusal is an answer
        }
    };
    let within = ping(timeout);
    let too_slow = matches!(within, Err(StoreError::Timeout { .. }));
    match if too_slow { ping(PATIENCE) } else { within } {
        Ok((link, took)) => {
            let text = format!("{endpoint} answers, {} ms after connecting began", millis(took));
            findings.push(if too_slow {
                let remedy = "calls fail beyond rate_limit.timeout: find out what is slow (name \
                              resolution, network, a busy server), or raise it";
                Finding::fail("reachable", text, remedy)
            } else {
                Finding::ok("reachable", text)
            });
            Some(link)
        }
        Err(error) => {
            findings.push(Finding::fail("reachable", error.to_string(), remedy(&error)));
            None
        }
    }
}

fn remedy(error: &StoreError) -> &'static str {
    match error {
        StoreError::Server { message, .. } if message.contains("NOAUTH") => {
            "the server wants a password: scheme://[user]:password@host"
        }
        StoreError::Server { message, .. } if message.contains("WRONGPASS") => {
            "check user and password; percent-encode @ / ? & % in them"
        }
        StoreError::Timeout { .. } => "a firewall, a wrong address, or a server that hangs",
        _ => "is the server running, and does the address lead to it?",
    }
}

fn is_no_right(error: &StoreError) -> bool {
    matches!(error, StoreError::Server { message, .. } if message.contains("NOPERM"))
}

fn call<'a>(algorithm: Algorithm, identity: &'a [u8]) -> Call<'a> {
    let limit = Limit::new(10, 60).expect("within its range");
    Call { algorithm, identity, earlier: &[], limit, cost: Cost::ONE }
}

fn decide(store: &mut RedisStore<SharedConnection>, identity: &[u8]) -> Result<(), StoreError> {
    for algorithm in [Algorithm::Log, Algorithm::Counter] {
        let call = call(algorithm, identity);
        store.attempt(&call)?;
        store.reset(&call)?;
    }
    Ok(())
}

fn clocks(known: Known) -> Finding {
    match known {
        Known::Nothing => Finding::ok("clock", "not measured"),
        Known::Refused => Finding::warn(
            "clock",
            "the server refuses TIME, so each host goes by its own clock",
            "allow TIME to this user, or keep the hosts' clocks together (NTP)",
        ),
        Known::Distance(ahead) => {
            let text = format!("the server's is {:+.3} s from this host's", ahead as f64 / 1e6);
            if ahead.unsigned_abs() < FAR {
                return Finding::ok("clock", text);
            }
            let remedy = "the extension corrects this, hosts with the userland classes do not: run \
                          NTP on both, or set rate_limit.clock = host for the rollout";
            Finding::warn("clock", text, remedy)
        }
    }
}

fn latency(store: &mut RedisStore<SharedConnection>, identity: &[u8], timeout: Micros) -> Finding {
    let (call, began) = (call(Algorithm::Counter, identity), clock::monotonic());
    let mut times = Vec::with_capacity(ROUND_TRIPS);
    while times.len() < ROUND_TRIPS && clock::monotonic() - began < MEASURE_FOR {
        let sent = clock::monotonic();
        if let Err(error) = store.peek(&call) {
            return Finding::fail("latency", error.to_string(), remedy(&error));
        }
        times.push(clock::monotonic() - sent);
    }
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    let (p50, p99) = (millis(at(50)), millis(at(99)));
    let text = format!("p50 {p50} ms, p99 {p99} ms over {} decisions", times.len());
    if at(99) < timeout / 2 {
        return Finding::ok("latency", text);
    }
    let remedy = "more than half of rate_limit.timeout: a store nearer by, a unix socket, or a \
                  longer timeout";
    Finding::warn("latency", text, remedy)
}

fn millis(span: Micros) -> String {
    format!("{:.2}", span as f64 / 1e3)
}
