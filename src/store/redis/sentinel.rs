//! Sentinel: servers that know which of several others is the master.

use super::answer::{text, unexpected};
use super::endpoint::{Endpoint, Host};
use super::link::{Link, Stream};
use super::resp::{Reply, Value};
use super::socket::{Deadline, Failure, Socket};

/// Opens a link to whichever server the first sentinel that answers calls the master of `master`.
///
/// A server that was demoted a moment ago still answers what does not write, so it is asked whether
/// it is the master. One that is demoted later closes its connections.
pub(super) fn open(
    sentinels: &[Host],
    master: &str,
    endpoint: &Endpoint,
    deadline: &Deadline,
) -> Result<Link, Failure> {
    let host = deadline.first(sentinels, |sentinel, share| address(sentinel, master, share))?;
    let mut link = Link::open(Stream::Plain(Socket::tcp(&host, deadline)?), endpoint, deadline)?;
    let role = link.ask(&[b"INFO", b"replication"], deadline, text)?;
    if role.lines().any(|line| line == "role:master") {
        Ok(link)
    } else {
        Err(Failure::Broken(format!("{host} is no master any more")))
    }
}

fn address(sentinel: &Host, master: &str, deadline: &Deadline) -> Result<Host, Failure> {
    let mut link = Link::without_login(Stream::Plain(Socket::tcp(sentinel, deadline)?));
    let question: &[&[u8]] = &[b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", master.as_bytes()];
    link.ask(question, deadline, |answer| {
        let Reply::Array(2, [Value::Text(name), Value::Text(port), ..]) = answer else {
            return Err(match answer {
                Reply::One(Value::Nil) => {
                    Failure::Broken(format!("{sentinel} knows no master of that name"))
                }
                other => unexpected("an address", other),
            });
        };
        let name = String::from_utf8_lossy(name).into_owned();
        let port = std::str::from_utf8(port).ok().and_then(|port| port.parse().ok());
        port.map(|port| Host { name, port }).ok_or_else(|| unexpected("an address", answer))
    })
}
