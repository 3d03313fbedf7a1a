//! What a server says of itself.

use std::collections::HashMap;

use rate_limit::store::StoreError;
use rate_limit::store::redis::{
    Answer, Dsn, Endpoint, Host, Options, Script, Server, SharedConnection, connection,
};

use super::Finding;

static KEYS: Script = Script::new(include_str!("keys.lua"));
/// Pages of a thousand keys that are looked at, so that the check of a large server ends.
const MOST_PAGES: u32 = 200;
/// One node of a Cluster may be far away.
const NODE_TIMEOUT: u64 = 1_000_000;

/// Looks at one server. `name` tells it from others where there are several.
pub fn one(link: &mut SharedConnection, prefix: &[u8], name: &str, findings: &mut Vec<Finding>) {
    match info(link) {
        Err(error) => {
            let remedy = "allow INFO to this user while you check; the extension does without it";
            findings.push(Finding::unknown("server", &error, remedy));
        }
        Ok(info) => {
            findings.push(version(&info, name));
            findings.push(role(&info));
            findings.push(eviction(&info));
            if name.is_empty() && info.is("cluster_enabled", "1") {
                let remedy = "use redis-cluster://host:port: elsewhere a counter's keys lie on \
                              different nodes, and calls fail";
                findings.push(Finding::fail("cluster", "this is a node of a Cluster", remedy));
            }
        }
    }
    findings.push(match keys_without_ttl(link, prefix) {
        Ok(finding) => finding,
        Err(error) => {
            let remedy = "allow SCAN and PTTL to this user while you check; the extension does \
                          without SCAN";
            Finding::unknown("keys", &error, remedy)
        }
    });
}

/// Looks at a Cluster, and at each of its masters.
pub fn cluster(link: &mut SharedConnection, dsn: &Dsn, findings: &mut Vec<Finding>) {
    match text(link, &[b"CLUSTER", b"INFO"]).map(Info::parse) {
        Ok(info) => {
            let slots = info.get("cluster_slots_ok");
            let text =
                format!("state {}, {slots} of 16384 slots served", info.get("cluster_state"));
            findings.push(if info.is("cluster_state", "ok") && slots == "16384" {
                Finding::ok("cluster", text)
            } else {
                let remedy = "calls on the other slots fail: redis-cli --cluster check, then fix";
                Finding::fail("cluster", text, remedy)
            });
        }
        Err(error) => findings.push(Finding::fail("cluster", error.to_string(), "")),
    }
    let nodes = text(link, &[b"CLUSTER", b"NODES"]).unwrap_or_default();
    for host in masters(&nodes) {
        let name = format!(" at {host}");
        let endpoint = Endpoint { server: Server::Tcp(host), ..dsn.endpoint.clone() };
        let mut node = connection(&endpoint, Options { timeout: NODE_TIMEOUT });
        one(&mut node, &dsn.prefix, &name, findings);
    }
}

/// The masters of a `CLUSTER NODES`: `id host:port@bus[,name] flags ...`.
fn masters(nodes: &str) -> Vec<Host> {
    let master = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let (address, flags) = (fields.next()?, fields.next()?);
        let (name, port) = address.split('@').next()?.rsplit_once(':')?;
        let host = Host { name: name.to_owned(), port: port.parse().ok()? };
        flags.split(',').any(|flag| flag == "master").then_some(host)
    };
    nodes.lines().filter_map(master).collect()
}

/// The fields of `INFO`.
struct Info(HashMap<String, String>);

impl Info {
    fn parse(text: String) -> Self {
        let fields = text.lines().filter_map(|line| line.trim_end().split_once(':'));
        Self(fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("?", String::as_str)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.get(name) == value
    }

    fn number(&self, name: &str) -> u64 {
        self.get(name).parse().unwrap_or(0)
    }
}

fn info(link: &mut SharedConnection) -> Result<Info, StoreError> {
    text(link, &[b"INFO"]).map(Info::parse)
}

fn text(link: &mut SharedConnection, parts: &[&[u8]]) -> Result<String, StoreError> {
    Ok(match link.command(b"", parts)? {
        Answer::Text(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    })
}

fn version(info: &Info, name: &str) -> Finding {
    let (server, version) = match info.0.get("valkey_version") {
        Some(version) => ("Valkey", version.as_str()),
        None => ("Redis", info.get("redis_version")),
    };
    Finding::ok("server", format!("{server} {version}{name}, spoken to in RESP2"))
}

fn role(info: &Info) -> Finding {
    if info.is("role", "master") {
        return Finding::ok("role", "takes writes");
    }
    let remedy = "a replica takes no writes: name its master, or use redis-sentinel://";
    let master = format!("{}:{}", info.get("master_host"), info.get("master_port"));
    Finding::fail("role", format!("a read-only replica of {master}"), remedy)
}

fn eviction(info: &Info) -> Finding {
    let (most, used) = (info.number("maxmemory"), info.number("used_memory"));
    let policy = info.get("maxmemory_policy");
    if most == 0 {
        return Finding::ok("eviction", "no maxmemory, so nothing is evicted");
    }
    let share = used * 100 / most;
    let text = format!("maxmemory-policy {policy}, {share} % of maxmemory used");
    if policy != "noeviction" {
        let remedy = "an evicted key gives its client a fresh budget: noeviction, or a server for \
                      the limiters alone";
        return Finding::warn("eviction", text, remedy);
    }
    if share >= 90 {
        let remedy = "when it is full every write is refused: raise maxmemory";
        return Finding::warn("eviction", text, remedy);
    }
    Finding::ok("eviction", text)
}

fn keys_without_ttl(link: &mut SharedConnection, prefix: &[u8]) -> Result<Finding, StoreError> {
    link.command(b"", &[b"SCRIPT", b"LOAD", KEYS.source().as_bytes()])?;
    let mut pattern = Vec::new();
    for &byte in prefix {
        if matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\') {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern.extend_from_slice(b"rl:*");
    let (mut cursor, mut keys, mut without) = (b"0".to_vec(), 0, 0);
    let mut complete = false;
    for _ in 0..MOST_PAGES {
        let page = link.command(b"", &[b"EVALSHA", KEYS.sha1(), b"0", &cursor, &pattern])?;
        if let Answer::Array(page) = page
            && let [Answer::Text(next), Answer::Integer(seen), Answer::Integer(bare)] = &page[..]
        {
            (cursor, keys, without) = (next.clone(), keys + seen, without + bare);
        }
        complete = cursor == b"0";
        if complete {
            break;
        }
    }
    let more = if complete { "" } else { " seen, more not looked at" };
    let text = format!("{keys} of the limiters{more}, {without} without a time to live");
    if without == 0 {
        return Ok(Finding::ok("keys", text));
    }
    let remedy = "left by something else under rl:, or by PERSIST: a client whose key it is gets a \
                  time to live with its next call, the others stay until you DEL them";
    Ok(Finding::warn("keys", text, remedy))
}
