//! Redis Cluster: each key belongs to one of 16384 slots, and each slot to one of several servers.
//!
//! Hand-written because a client made for general use sends a command again when its reply is lost;
//! a hit must not be counted twice. Here a command is repeated only where the server's answer says
//! that it did not run: `MOVED`, `ASK` and `TRYAGAIN`, all within the call's one deadline.

use std::collections::HashMap;
use std::time::Duration;

use super::answer::{okay, text};
use super::endpoint::{Endpoint, Host};
use super::link::{Link, Stream};
use super::resp::Reply;
use super::socket::{Deadline, Failure, Socket};

/// Number of slots.
const SLOTS: u16 = 16_384;
/// How long a slot in the middle of a move is given, before the call is made again.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(2);

/// What is known of a Cluster, and a link to each server that was asked.
#[derive(Debug)]
pub(super) struct Cluster {
    /// First and last slot of a range, and whose it is.
    ranges: Vec<(u16, u16, Host)>,
    links: HashMap<Host, Link>,
}

impl Cluster {
    /// Asks the first of `nodes` that answers for the slots.
    pub(super) fn load(
        nodes: &[Host],
        endpoint: &Endpoint,
        deadline: &Deadline,
    ) -> Result<Self, Failure> {
        let mut cluster = Self { ranges: Vec::new(), links: HashMap::new() };
        deadline.first(nodes, |node, share| cluster.learn(node, endpoint, share))?;
        Ok(cluster)
    }

    /// Whether this process opened the links.
    pub(super) fn is_ours(&self) -> bool {
        self.links.values().all(Link::is_ours)
    }

    /// Sends a command to the server of `key`'s slot, wherever it has gone, or to any server where
    /// the command has no key, and reads the reply.
    pub(super) fn exchange<R>(
        &mut self,
        key: &[u8],
        request: &[u8],
        endpoint: &Endpoint,
        deadline: &Deadline,
        read: &mut impl FnMut(&Reply<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let mut node = self.node(key)?;
        let mut result = self.link(&node, endpoint, deadline)?.exchange(request, deadline, read);
        loop {
            let Err(Failure::Server(message)) = &result else { return result };
            match redirection(message, &node) {
                None => return result,
                Some(Redirection::Moved(to)) => {
                    self.learn(&to, endpoint, deadline)?;
                    node = to;
                }
                Some(Redirection::Ask(to)) => {
                    let link = self.link(&to, endpoint, deadline)?;
                    link.ask(&[b"ASKING"], deadline, okay)?;
                    result = link.exchange(request, deadline, read);
                    continue;
                }
                Some(Redirection::TryAgain) => std::thread::sleep(TRY_AGAIN_AFTER),
            }
            deadline.left()?;
            result = self.link(&node, endpoint, deadline)?.exchange(request, deadline, read);
        }
    }

    /// Sends a command that has no key to every server that was asked before: a script that is
    /// missing where a slot is moving to must be loaded there.
    pub(super) fn tell(&mut self, command: &[&[u8]], deadline: &Deadline) -> Result<(), Failure> {
        self.links.retain(|_, link| link.is_usable(deadline.started));
        self.links.values_mut().try_for_each(|link| link.ask(command, deadline, |_| Ok(())))
    }

    /// Wipes what was sent and received last.
    pub(super) fn wipe(&mut self) {
        self.links.values_mut().for_each(Link::wipe);
    }

    /// The server of a key; without a key, any that answered, since one that is down must not stop
    /// what concerns the others.
    fn node(&self, key: &[u8]) -> Result<Host, Failure> {
        let slot = slot(key);
        let holds = |(first, last, _): &&(u16, u16, Host)| (*first..=*last).contains(&slot);
        let host = match key {
            [] => self.links.keys().next(),
            _ => self.ranges.iter().find(holds).map(|(_, _, host)| host),
        };
        host.cloned().ok_or_else(|| Failure::Server(format!("CLUSTERDOWN nobody has slot {slot}")))
    }

    fn link(
        &mut self,
        node: &Host,
        endpoint: &Endpoint,
        deadline: &Deadline,
    ) -> Result<&mut Link, Failure> {
        let usable = self.links.get_mut(node).is_some_and(|link| link.is_usable(deadline.started));
        if !usable {
            let stream = Stream::Plain(Socket::tcp(node, deadline)?);
            self.links.insert(node.clone(), Link::open(stream, endpoint, deadline)?);
        }
        Ok(self.links.get_mut(node).expect("it was there or has been put there"))
    }

    fn learn(
        &mut self,
        node: &Host,
        endpoint: &Endpoint,
        deadline: &Deadline,
    ) -> Result<(), Failure> {
        let table =
            self.link(node, endpoint, deadline)?.ask(&[b"CLUSTER", b"NODES"], deadline, text)?;
        self.ranges = table.lines().flat_map(|line| ranges(line, node)).collect();
        Ok(())
    }
}

/// Reads one line of `CLUSTER NODES`, which `asked` has answered:
/// `id ip:port@bus[,name] flags master ping pong epoch state range ...`.
fn ranges(line: &str, asked: &Host) -> Vec<(u16, u16, Host)> {
    let mut fields = line.split(' ');
    let address = fields.nth(1).unwrap_or_default();
    let host = address.split('@').next().and_then(|address| host(address, asked));
    let Some(host) = host else { return Vec::new() };
    // A slot that is being moved stands in brackets beside the range that still holds it.
    fields
        .skip(6)
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some((first.parse().ok()?, last.parse().ok()?, host.clone()))
        })
        .collect()
}

/// `host:port`, where an empty host is that of the server that said so.
fn host(address: &str, said_by: &Host) -> Option<Host> {
    let (name, port) = address.rsplit_once(':')?;
    let name = if name.is_empty() { said_by.name.clone() } else { name.to_owned() };
    Some(Host { name, port: port.parse().ok().filter(|&port| port != 0)? })
}

enum Redirection {
    /// The slot has moved.
    Moved(Host),
    /// The slot is being moved, and this call's keys are at its new place.
    Ask(Host),
    /// The slot is being moved, and this call's keys are at both places.
    TryAgain,
}

fn redirection(message: &str, said_by: &Host) -> Option<Redirection> {
    let mut words = message.split(' ');
    let code = words.next()?;
    let mut to = || host(words.nth(1)?, said_by);
    match code {
        "MOVED" => Some(Redirection::Moved(to()?)),
        "ASK" => Some(Redirection::Ask(to()?)),
        "TRYAGAIN" => Some(Redirection::TryAgain),
        _ => None,
    }
}

/// The slot of a key: CRC-16 (XMODEM) of what stands between its first brace and the next closing
/// one, or of all of it where nothing stands there.
fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&b| b == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        rest.iter()
            .position(|&b| b == b'}')
            .map(|close| &rest[..close])
            .filter(|tag| !tag.is_empty())
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host_of(name: &str, port: u16) -> Host {
        Host { name: name.to_owned(), port }
    }

    /// The check value of CRC-16/XMODEM, and slots as `CLUSTER KEYSLOT` gives them.
    #[test]
    fn slots_are_those_of_the_servers() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, expected) in [
            ("foo", 12182),
            ("{foo}bar", 12182),
            ("a{foo}{b}", 12182),
            ("foo{}{bar}", 8363),
            ("", 0),
        ] {
            assert_eq!(slot(key.as_bytes()), expected, "{key}");
        }
    }

    #[test]
    fn the_table_of_nodes_is_read() {
        let asked = host_of("10.0.0.9", 7000);
        let line = "07c37d 127.0.0.1:7001@17001,name master - 0 1426238317239 4 connected \
                    0-5460 5462 [5461->-e7d1]";
        let at = host_of("127.0.0.1", 7001);
        assert_eq!(ranges(line, &asked), [(0, 5460, at.clone()), (5462, 5462, at)]);
        let myself = "07c37d :7000@17000 myself,master - 0 0 1 connected 7";
        assert_eq!(ranges(myself, &asked), [(7, 7, asked.clone())]);
        let six = "07c37d ::1:7001@17001 master - 0 0 1 connected 7-8";
        assert_eq!(ranges(six, &asked), [(7, 8, host_of("::1", 7001))]);
        for nothing in ["", "07c37d 127.0.0.1:7002@1 slave 07c37d 0 0 4 connected", "x :0@0 noaddr"]
        {
            assert!(ranges(nothing, &asked).is_empty(), "{nothing}");
        }
    }
}
