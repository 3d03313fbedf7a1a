//! The extension's own connection: one for each endpoint and thread, kept for the life of the
//! process, so that a request pays for neither connecting nor loading a script.
//!
//! Hand-written, where the `redis` crate was tried first, for four reasons. Its connection does not
//! give out its socket, and its way of reading is slower on a unix socket than phpredis'. Its Cluster
//! client sends a command again when the reply is lost. Its handshakes (TLS, Sentinel) have no
//! deadline. And one reader for all of them is less code than two.
//!
//! 1. While an exchange runs, the line is out of its slot, and it comes back only with a whole
//!    reply. So a line that timed out, broke, answered nonsense or was left by a panic is gone, and a
//!    call that enters from a signal handler in the middle of another finds none and opens its own.
//! 2. A line that was open before a fork belongs to the parent: the child closes its descriptor
//!    without a word and opens another.
//! 3. A line that has been idle is looked at before anything is sent, unless sending itself would tell
//!    (unix sockets). One that the server closed is opened again, which is no failure.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use rustls::ClientConfig;

use super::answer::{Answer, integers, seconds_and_micros, unexpected};
use super::cluster::Cluster;
use super::endpoint::{Endpoint, Server};
use super::link::{Link, Stream};
use super::request::Request;
use super::resp::{Reply, Value, encode};
use super::script::Script;
use super::sentinel;
use super::server_clock::ServerClock;
use super::socket::{Deadline, Failure, Socket};
use super::tls::{self, Tls};
use super::transport::{Transport, refuses_time, server_error};
use crate::clock;
use crate::core::time::Micros;
use crate::store::StoreError;

/// What a caller may choose about a connection.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long one call may take, microseconds (`rate_limit.timeout`); at least 1.
    pub timeout: Micros,
}

/// A caller's handle on the connection that its thread has to an endpoint.
#[derive(Clone)]
pub struct SharedConnection {
    slot: Rc<Slot>,
    deadline: Deadline,
}

struct Slot {
    endpoint: Endpoint,
    line: Cell<Option<Box<Line>>>,
    /// The steady clock at the last reply.
    answered: Cell<Micros>,
    clock: Rc<ServerClock>,
    tls: OnceCell<Arc<ClientConfig>>,
}

enum Line {
    Single(Link),
    Cluster(Cluster),
}

thread_local!(static SLOTS: RefCell<HashMap<Endpoint, Rc<Slot>>> = RefCell::default());

/// This thread's connection to `endpoint`. Opens nothing yet.
#[must_use]
pub fn connection(endpoint: &Endpoint, options: Options) -> SharedConnection {
    let slot = SLOTS.with(|slots| match slots.try_borrow_mut() {
        Ok(mut slots) => match slots.get(endpoint) {
            Some(slot) => slot.clone(),
            None => slots.entry(endpoint.clone()).or_insert_with_key(Slot::new).clone(),
        },
        Err(_) => Slot::new(endpoint), // entered from a signal handler in the middle of the above
    });
    SharedConnection { slot, deadline: Deadline::from(0, options.timeout) }
}

impl Transport for SharedConnection {
    fn begin(&mut self, started: Micros) -> Result<(), StoreError> {
        self.deadline = Deadline::from(started, self.deadline.timeout);
        let mut kept = self.slot.line.take();
        if !kept.as_mut().is_some_and(|line| line.is_usable(started)) {
            kept = Some(self.open().map_err(|failure| self.error(failure))?);
        }
        self.slot.line.set(kept);
        Ok(())
    }

    fn patience(&self) -> Micros {
        self.deadline.timeout
    }

    fn run(&mut self, request: &Request, reply: &mut [i64]) -> Result<(), StoreError> {
        let script = request.script();
        let mut read = |answer: &Reply<'_>| integers(answer, reply);
        let mut exchange = || self.exchange(request.key(), request.wire(), &mut read);
        let result = match exchange() {
            Err(Failure::Server(message)) if message.starts_with("NOSCRIPT") => {
                self.load(script).and_then(|()| exchange())
            }
            result => result,
        };
        if script.is_secret() {
            self.wipe();
        }
        result.map_err(|failure| self.error(failure))
    }

    fn delete(&mut self, keys: &[&[u8]]) -> Result<(), StoreError> {
        let command = [&[&b"DEL"[..]], keys].concat();
        let number = |answer: &Reply<'_>| match answer {
            Reply::One(Value::Integer(_)) => Ok(()),
            other => Err(unexpected("a number of keys", other)),
        };
        self.ask(keys[0], &command, number).map_err(|failure| self.error(failure))
    }

    fn time(&mut self) -> Result<Option<Micros>, StoreError> {
        match self.ask(b"", &[b"TIME"], seconds_and_micros) {
            Ok(time) => Ok(Some(time)),
            Err(Failure::Server(message)) if refuses_time(&message) => Ok(None),
            Err(failure) => Err(self.error(failure)),
        }
    }

    fn clock(&self) -> Rc<ServerClock> {
        self.slot.clock.clone()
    }

    fn endpoint(&self) -> String {
        self.slot.endpoint.to_string()
    }
}

impl SharedConnection {
    /// The same connection for a caller with options of its own.
    #[must_use]
    pub fn with(&self, options: Options) -> Self {
        Self { slot: self.slot.clone(), deadline: Deadline::from(0, options.timeout) }
    }

    /// How long the call that began last took until its reply, microseconds.
    pub(super) fn took(&self) -> Micros {
        self.slot.answered.get().saturating_sub(self.deadline.started)
    }

    /// Any command, for an operator's tool. On a Cluster the server of `key`'s slot is asked, or any
    /// server where `key` is empty.
    ///
    /// # Errors
    /// [`StoreError`] where there is no answer, it is an error, or an array of more than eight
    /// elements or of arrays.
    pub fn command(&mut self, key: &[u8], parts: &[&[u8]]) -> Result<Answer, StoreError> {
        self.begin(clock::steady())?;
        self.ask(key, parts, |reply| Ok(Answer::of(reply))).map_err(|failure| self.error(failure))
    }

    /// Wipes what was received last. A line that failed is gone, and wiped with it.
    fn wipe(&self) {
        let mut line = self.slot.line.take();
        match line.as_deref_mut() {
            Some(Line::Single(link)) => link.wipe(),
            Some(Line::Cluster(cluster)) => cluster.wipe(),
            None => {}
        }
        self.slot.line.set(line);
    }

    fn open(&self) -> Result<Box<Line>, Failure> {
        let (endpoint, deadline) = (&self.slot.endpoint, &self.deadline);
        let single = |stream| Link::open(stream, endpoint, deadline).map(Line::Single);
        let line = match &endpoint.server {
            Server::Tcp(host) => single(Stream::Plain(Socket::tcp(host, deadline)?))?,
            Server::Unix(path) => single(Stream::Plain(Socket::unix(path, deadline)?))?,
            Server::Tls(host, files) => {
                let config = match self.slot.tls.get() {
                    Some(config) => config.clone(),
                    None => {
                        let config = tls::config(files)?;
                        self.slot.tls.get_or_init(|| config).clone()
                    }
                };
                single(Stream::Tls(Box::new(Tls::connect(host, config, deadline)?)))?
            }
            Server::Cluster(nodes) => Line::Cluster(Cluster::load(nodes, endpoint, deadline)?),
            Server::Sentinel { sentinels, master } => {
                Line::Single(sentinel::open(sentinels, master, endpoint, deadline)?)
            }
        };
        self.slot.clock.renew();
        Ok(Box::new(line))
    }

    /// Sends one command and reads its answer; a Cluster's server is found by `key`. Where the line
    /// turns out to be dead before all of the command was sent, another is opened, once.
    fn exchange<R>(
        &self,
        key: &[u8],
        request: &[u8],
        read: &mut impl FnMut(&Reply<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let (endpoint, deadline) = (&self.slot.endpoint, &self.deadline);
        let mut line = self.line()?;
        let mut exchange = |line: &mut Line| match line {
            Line::Single(link) => link.exchange(request, deadline, read),
            Line::Cluster(cluster) => cluster.exchange(key, request, endpoint, deadline, read),
        };
        let mut result = exchange(&mut line);
        if matches!(result, Err(Failure::Unsent(_))) {
            line = self.open()?;
            result = exchange(&mut line);
        }
        if matches!(result, Ok(_) | Err(Failure::Server(_))) {
            self.slot.answered.set(line.last_used());
            self.slot.line.set(Some(line));
        }
        result
    }

    fn load(&self, script: &Script) -> Result<(), Failure> {
        let command: &[&[u8]] = &[b"SCRIPT", b"LOAD", script.source().as_bytes()];
        let mut line = self.line()?;
        match &mut *line {
            Line::Single(link) => link.ask(command, &self.deadline, |_| Ok(()))?,
            Line::Cluster(cluster) => cluster.tell(command, &self.deadline)?,
        }
        self.slot.line.set(Some(line));
        Ok(())
    }

    /// Takes the line out of its slot; a call that finds none opens one.
    fn line(&self) -> Result<Box<Line>, Failure> {
        self.slot.line.take().map_or_else(|| self.open(), Ok)
    }

    fn ask<R>(
        &self,
        key: &[u8],
        parts: &[&[u8]],
        mut read: impl FnMut(&Reply<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let mut request = Vec::new();
        encode(&mut request, parts);
        self.exchange(key, &request, &mut read)
    }

    fn error(&self, failure: Failure) -> StoreError {
        let endpoint = self.endpoint();
        let after_ms = self.deadline.timeout.div_ceil(1_000);
        match failure {
            Failure::Timeout => StoreError::Timeout { endpoint, after_ms, sent: false },
            Failure::Unanswered(None) => StoreError::Timeout { endpoint, after_ms, sent: true },
            Failure::Broken(detail) | Failure::Unsent(detail) => {
                StoreError::Unavailable { endpoint, detail, sent: false }
            }
            Failure::Unanswered(Some(detail)) => {
                StoreError::Unavailable { endpoint, detail, sent: true }
            }
            Failure::Protocol(detail) => StoreError::Protocol { endpoint, detail, sent: true },
            Failure::Server(message) => {
                let error = server_error(endpoint, self.slot.endpoint.redact(&message));
                if error.concerns_endpoint() {
                    self.slot.line.take(); // the next one may lead to a server that is well
                }
                error
            }
        }
    }
}

impl Slot {
    fn new(endpoint: &Endpoint) -> Rc<Self> {
        Rc::new(Self {
            endpoint: endpoint.clone(),
            line: Cell::default(),
            answered: Cell::default(),
            clock: Rc::default(),
            tls: OnceCell::new(),
        })
    }
}

impl Line {
    fn last_used(&self) -> Micros {
        match self {
            Self::Single(link) => link.idle_since(),
            Self::Cluster(_) => clock::steady(),
        }
    }

    fn is_usable(&mut self, now: Micros) -> bool {
        match self {
            Self::Single(link) => link.is_usable(now),
            Self::Cluster(cluster) => cluster.is_ours(),
        }
    }
}
