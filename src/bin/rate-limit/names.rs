//! Clients and routes as small numbers, so that a request in memory is three numbers.

use std::collections::HashMap;
use std::net::IpAddr;

use rate_limit::core::identity::{Ipv6Prefix, client, spelled};

use crate::policy::Policies;

/// A fast hash, keyed afresh in each run: what is hashed was chosen by clients.
pub type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Number of a client, from 0. Memory ends long before 2^32 of them.
pub type ClientId = u32;

/// Number of a route: below [`Policies::len`] all paths under that policy, and a path from there on.
pub type RouteId = u32;

/// The clients of a log, told apart as the extension's identity tells them apart.
pub struct Clients {
    prefix: Ipv6Prefix,
    addresses: Map<IpAddr, ClientId>,
    hosts: Map<Box<[u8]>, ClientId>,
}

impl Clients {
    /// None yet. `prefix` bits of an IPv6 address make a client.
    pub fn new(prefix: Ipv6Prefix) -> Self {
        Self { prefix, addresses: Map::default(), hosts: Map::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.addresses.len() + self.hosts.len()
    }

    /// The number of the client that the log calls `name`: an address, or any other text.
    pub fn id(&mut self, name: &[u8]) -> ClientId {
        let next = self.len() as ClientId;
        match client(name, self.prefix) {
            Some(address) => *self.addresses.entry(address).or_insert(next),
            None => id_of(&mut self.hosts, name, next),
        }
    }

    /// What the identity of a client is made of: its address in the one spelling, or its name.
    pub fn name(&self, id: ClientId) -> Vec<u8> {
        match key_of(&self.addresses, id) {
            Some(&address) => spelled(address, self.prefix).as_bytes().to_vec(),
            None => key_of(&self.hosts, id).map_or_else(Vec::new, |name| name.to_vec()),
        }
    }
}

/// The routes of a log: a policy's pattern for all paths that it covers, and every other path.
pub struct Routes {
    policies: Policies,
    known: Map<Box<[u8]>, RouteId>,
    next: RouteId,
    max_paths: usize,
}

impl Routes {
    /// None yet. When `max_paths` are known, others are one route together, that of their policy.
    pub fn new(policies: Policies, max_paths: usize) -> Self {
        let next = policies.len() as RouteId;
        Self { policies, known: Map::default(), next, max_paths }
    }

    /// The policies, as given.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The number of the route of `path`.
    pub fn id(&mut self, path: &[u8]) -> RouteId {
        if let Some(&id) = self.known.get(path) {
            return id;
        }
        let policy = self.policies.of(path) as RouteId;
        if self.known.len() == self.max_paths {
            return policy;
        }
        let id = if policy == 0 { self.next } else { policy };
        self.next = self.next.max(id + 1);
        id_of(&mut self.known, path, id)
    }

    /// The policy that holds on a route.
    pub fn policy(&self, id: RouteId) -> usize {
        Some(id as usize).filter(|&policy| policy < self.policies.len()).unwrap_or(0)
    }

    /// A route's pattern or path.
    pub fn name(&self, id: RouteId) -> Vec<u8> {
        if (id as usize) < self.policies.len() {
            return self.policies.name(id as usize).into();
        }
        key_of(&self.known, id).map_or_else(Vec::new, |path| path.to_vec())
    }
}

fn id_of(ids: &mut Map<Box<[u8]>, u32>, name: &[u8], next: u32) -> u32 {
    if let Some(&id) = ids.get(name) {
        return id;
    }
    *ids.entry(name.into()).or_insert(next)
}

/// Searched from end to end: a report asks for a dozen names, once.
fn key_of<K>(ids: &Map<K, u32>, wanted: u32) -> Option<&K> {
    ids.iter().find_map(|(key, &id)| (id == wanted).then_some(key))
}
