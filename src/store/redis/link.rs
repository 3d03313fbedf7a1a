//! One connection to one server: bytes out, one reply in.

use zeroize::Zeroize;

use super::answer::okay;
use super::decimal::Decimal;
use super::endpoint::Endpoint;
use super::resp::{self, LONGEST_REPLY, Reply, Value, encode};
use super::socket::{Deadline, Failure, Socket};
use super::tls::Tls;
use crate::core::time::Micros;
use crate::{clock, process};

/// How long a link rests before it counts as idle, microseconds: longer than a loop of calls lets it
/// rest, shorter than anybody else can act in between.
const IDLE: Micros = 10;
/// Room for a reply to begin with; a script's is a tenth of it.
const ROOM: usize = 1024;
/// How much of a server's error is passed on, in bytes.
const LONGEST_MESSAGE: usize = 256;

/// What carries the bytes.
#[derive(Debug)]
pub(super) enum Stream {
    /// TCP or unix socket.
    Plain(Socket),
    /// TLS over TCP.
    Tls(Box<Tls>),
}

/// A connection that has logged in.
#[derive(Debug)]
pub(super) struct Link {
    stream: Stream,
    generation: u64,
    idle_since: Micros,
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Link {
    /// Logs in on a fresh stream, and selects the database.
    pub(super) fn open(
        stream: Stream,
        endpoint: &Endpoint,
        deadline: &Deadline,
    ) -> Result<Self, Failure> {
        let mut link = Self::without_login(stream);
        let Endpoint { user, password, database, .. } = endpoint;
        if let Some(password) = password {
            let auth = match user {
                Some(user) => &[b"AUTH", &user[..], password][..],
                None => &[b"AUTH", &password[..]],
            };
            link.ask(auth, deadline, okay).map_err(without_arguments)?;
        }
        if *database != 0 {
            let number = Decimal::unsigned(u64::from(*database));
            link.ask(&[b"SELECT", number.as_bytes()], deadline, okay)?;
        }
        Ok(link)
    }

    /// Takes a fresh stream as it is, for a server that knows no users of ours.
    pub(super) fn without_login(stream: Stream) -> Self {
        Self {
            stream,
            generation: process::generation(),
            idle_since: clock::steady(),
            request: Vec::with_capacity(512),
            reply: vec![0; ROOM],
        }
    }

    /// The steady clock at the last reply.
    pub(super) fn idle_since(&self) -> Micros {
        self.idle_since
    }

    /// Whether this process opened it, and the server has not closed it while it was idle.
    pub(super) fn is_usable(&mut self, now: Micros) -> bool {
        self.is_ours() && (now.saturating_sub(self.idle_since) < IDLE || self.is_quiet())
    }

    /// Whether this process opened it. What was open before a fork is the parent's.
    pub(super) fn is_ours(&self) -> bool {
        self.generation == process::generation()
    }

    fn is_quiet(&mut self) -> bool {
        match &mut self.stream {
            Stream::Plain(socket) => socket.is_quiet(),
            Stream::Tls(tls) => tls.is_quiet(),
        }
    }

    /// Sends one command and reads its reply.
    pub(super) fn ask<R>(
        &mut self,
        parts: &[&[u8]],
        deadline: &Deadline,
        mut read: impl FnMut(&Reply<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let mut request = std::mem::take(&mut self.request);
        request.clear();
        encode(&mut request, parts);
        let answer = self.exchange(&request, deadline, &mut read);
        self.request = request;
        answer
    }

    /// Sends one command and reads its reply, which `read` never sees where it is an error.
    pub(super) fn exchange<R>(
        &mut self,
        request: &[u8],
        deadline: &Deadline,
        read: &mut impl FnMut(&Reply<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        match &mut self.stream {
            Stream::Plain(socket) => socket.send(request, deadline)?,
            Stream::Tls(tls) => tls.send(request, deadline)?,
        }
        let result = self.receive(deadline, read).map_err(Failure::after_sending);
        self.idle_since = clock::steady();
        result
    }

    /// Wipes what was sent and received last.
    pub(super) fn wipe(&mut self) {
        self.request.zeroize();
        self.reply.as_mut_slice().zeroize();
    }

    fn receive<R>(
        &mut self,
        deadline: &Deadline,
        read: &mut impl FnMut(&Reply<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let mut filled = 0;
        loop {
            if filled == self.reply.len() {
                self.reply.resize(LONGEST_REPLY.min(2 * filled), 0);
            }
            let into = &mut self.reply[filled..];
            filled += match &mut self.stream {
                Stream::Plain(socket) => socket.receive(into, deadline)?,
                Stream::Tls(tls) => tls.receive(into, deadline)?,
            };
            match resp::parse(&self.reply[..filled]) {
                Ok(None) => {}
                Ok(Some((Reply::One(Value::Error(text)), used))) if used == filled => {
                    return Err(Failure::Server(printable(text)));
                }
                Ok(Some((ref reply, used))) if used == filled => return read(reply),
                Ok(Some(_)) => return Err(Failure::Protocol("more than one reply".to_owned())),
                Err(detail) => return Err(Failure::Protocol(detail.to_owned())),
            }
        }
    }
}

/// A server's text, fit for one line of a log.
fn printable(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(LONGEST_MESSAGE)]).replace(char::is_control, " ")
}

/// An error about `AUTH` may quote its arguments: only the code is kept.
fn without_arguments(failure: Failure) -> Failure {
    match failure {
        Failure::Server(message) => {
            let code = message.split(' ').next().unwrap_or_default();
            Failure::Server(format!("{code} the server refuses user or password"))
        }
        other => other,
    }
}
