//! The extension's own connection: one for each endpoint and thread, kept for the life of the
//! process, so that a request pays for neither connecting nor loading a script.
//!
//! Hand-written because the `redis` crate's does not give out its socket, and its way of reading is
//! slower on a unix socket than phpredis' (benches/socket.rs).
//!
//! 1. While an exchange runs, the link is out of its slot, and it comes back only with a whole
//!    reply. So a link that timed out, broke, answered nonsense or was left by a panic is gone, and a
//!    call that enters from a signal handler in the middle of another finds none and opens its own.
//! 2. A link that was open before a fork belongs to the parent: the child closes its descriptor
//!    without a word and opens another.
//! 3. A link that has been idle is looked at before anything is sent. One that the server closed is
//!    opened again, which is no failure.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::decimal::Decimal;
use super::endpoint::{Endpoint, Server};
use super::resp::{self, LONGEST_REPLY, Reply, Value};
use super::script::Script;
use super::server_clock::ServerClock;
use super::socket::{Deadline, Failure, Socket};
use super::transport::{Transport, refuses_time, server_error};
use crate::core::time::{Micros, SECOND};
use crate::store::StoreError;
use crate::{clock, process};

/// How long a link rests before it counts as idle, microseconds: longer than a loop of calls lets it
/// rest, shorter than anybody else can act in between.
const IDLE: Micros = 10;

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
    link: Cell<Option<Box<Link>>>,
    clock: Rc<ServerClock>,
}

struct Link {
    socket: Socket,
    generation: u64,
    idle_since: Micros,
    request: Vec<u8>,
    reply: Box<[u8; LONGEST_REPLY]>,
}

thread_local!(static SLOTS: RefCell<HashMap<Endpoint, Rc<Slot>>> = RefCell::default());

/// This thread's connection to `endpoint`. Opens nothing yet.
#[must_use]
pub fn connection(endpoint: &Endpoint, options: Options) -> SharedConnection {
    let new = || {
        let (link, clock) = (Cell::default(), Rc::default());
        Rc::new(Slot { endpoint: endpoint.clone(), link, clock })
    };
    let slot = SLOTS.with(|slots| match slots.try_borrow_mut() {
        Ok(mut slots) => match slots.get(endpoint) {
            Some(slot) => slot.clone(),
            None => slots.entry(endpoint.clone()).or_insert_with(new).clone(),
        },
        Err(_) => new(), // entered from a signal handler in the middle of the lines above
    });
    SharedConnection { slot, deadline: Deadline { started: 0, timeout: options.timeout } }
}

impl Transport for SharedConnection {
    fn begin(&mut self, started: Micros) -> Result<(), StoreError> {
        self.deadline.started = started;
        let link = match self.slot.link.take().filter(|link| link.is_usable(started)) {
            Some(link) => link,
            None => self.connect().map_err(|failure| self.error(failure))?,
        };
        self.slot.link.set(Some(link));
        Ok(())
    }

    fn run(
        &mut self,
        script: &'static Script,
        keys: &[&[u8]],
        args: &[&[u8]],
        reply: &mut [i64],
    ) -> Result<(), StoreError> {
        let mut evalsha = || {
            let encode = |out: &mut Vec<u8>| encode_evalsha(out, script, keys, args);
            self.exchange(encode, |answer| integers(answer, reply))
        };
        let result = match evalsha() {
            Err(Failure::Server(message)) if message.starts_with("NOSCRIPT") => self
                .ask(&[b"SCRIPT", b"LOAD", script.source().as_bytes()], |_| Ok(()))
                .and_then(|()| evalsha()),
            result => result,
        };
        result.map_err(|failure| self.error(failure))
    }

    fn delete(&mut self, keys: &[&[u8]]) -> Result<(), StoreError> {
        let parts: Vec<&[u8]> = std::iter::once(&b"DEL"[..]).chain(keys.iter().copied()).collect();
        let integer = |answer: &Reply<'_>| match answer {
            Reply::One(Value::Integer(_)) => Ok(()),
            other => Err(unexpected("a number of keys", other)),
        };
        self.ask(&parts, integer).map_err(|failure| self.error(failure))
    }

    fn time(&mut self) -> Result<Option<Micros>, StoreError> {
        match self.ask(&[b"TIME"], seconds_and_micros) {
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
    fn connect(&self) -> Result<Box<Link>, Failure> {
        let endpoint = &self.slot.endpoint;
        let socket = match &endpoint.server {
            Server::Tcp(host) => Socket::tcp(host, &self.deadline)?,
            Server::Unix(path) => Socket::unix(path, &self.deadline)?,
            _ => return Err(Failure::Broken("not a plain connection".to_owned())),
        };
        let mut link = Box::new(Link {
            socket,
            generation: process::generation(),
            idle_since: self.deadline.started,
            request: Vec::with_capacity(512),
            reply: Box::new([0; LONGEST_REPLY]),
        });
        self.log_in(&mut link)?;
        self.slot.clock.renew();
        Ok(link)
    }

    fn log_in(&self, link: &mut Link) -> Result<(), Failure> {
        let Endpoint { user, password, database, .. } = &self.slot.endpoint;
        if let Some(password) = password {
            let auth = |out: &mut Vec<u8>| match user {
                Some(user) => encode(out, &[b"AUTH", user, password]),
                None => encode(out, &[b"AUTH", password]),
            };
            link.exchange(auth, &self.deadline, okay).map_err(without_arguments)?;
        }
        if *database != 0 {
            let number = Decimal::unsigned(u64::from(*database));
            let select = |out: &mut Vec<u8>| encode(out, &[b"SELECT", number.as_bytes()]);
            link.exchange(select, &self.deadline, okay)?;
        }
        Ok(())
    }

    /// Sends one command and reads its answer. Where the link turns out to be dead before all of the
    /// command was sent, another is opened, once.
    fn exchange<R>(
        &self,
        encode: impl Fn(&mut Vec<u8>),
        read: impl FnOnce(&Reply<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let mut link = match self.slot.link.take() {
            Some(link) => link,
            None => self.connect()?,
        };
        if let Err(failure) = link.send(&encode, &self.deadline) {
            let Failure::Unsent(_) = failure else { return Err(failure) };
            link = self.connect()?;
            link.send(&encode, &self.deadline)?;
        }
        let result = link.receive(&self.deadline, read);
        if matches!(result, Ok(_) | Err(Failure::Server(_))) {
            link.idle_since = clock::steady();
            self.slot.link.set(Some(link));
        }
        result
    }

    fn ask<R>(
        &self,
        parts: &[&[u8]],
        read: impl FnOnce(&Reply<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        self.exchange(|out| encode(out, parts), read)
    }

    fn error(&self, failure: Failure) -> StoreError {
        let endpoint = self.endpoint();
        match failure {
            Failure::Timeout => {
                StoreError::Timeout { endpoint, after_ms: self.deadline.timeout.div_ceil(1_000) }
            }
            Failure::Broken(detail) | Failure::Unsent(detail) => {
                StoreError::Unavailable { endpoint, detail }
            }
            Failure::Protocol(detail) => StoreError::Protocol { endpoint, detail },
            Failure::Server(message) => {
                let error = server_error(endpoint, self.slot.endpoint.redact(&message));
                if error.concerns_endpoint() {
                    self.slot.link.take(); // the next one may lead to a server that is well
                }
                error
            }
        }
    }
}

impl Link {
    fn is_usable(&self, now: Micros) -> bool {
        self.generation == process::generation()
            && (now.saturating_sub(self.idle_since) < IDLE || self.socket.is_quiet())
    }

    fn exchange<R>(
        &mut self,
        encode: impl Fn(&mut Vec<u8>),
        deadline: &Deadline,
        read: impl FnOnce(&Reply<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        self.send(&encode, deadline)?;
        self.receive(deadline, read)
    }

    fn send(&mut self, encode: &impl Fn(&mut Vec<u8>), deadline: &Deadline) -> Result<(), Failure> {
        self.request.clear();
        encode(&mut self.request);
        self.socket.send(&self.request, deadline)
    }

    fn receive<R>(
        &mut self,
        deadline: &Deadline,
        read: impl FnOnce(&Reply<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let mut filled = 0;
        loop {
            filled += self.socket.receive(&mut self.reply[filled..], deadline)?;
            match resp::parse(&self.reply[..filled]) {
                Ok(None) => {}
                Ok(Some((Reply::One(Value::Error(text)), used))) if used == filled => {
                    return Err(Failure::Server(String::from_utf8_lossy(text).into_owned()));
                }
                Ok(Some((reply, used))) if used == filled => return read(&reply),
                Ok(Some(_)) => return Err(Failure::Protocol("more than one reply".to_owned())),
                Err(detail) => return Err(Failure::Protocol(detail.to_owned())),
            }
        }
    }
}

fn encode(out: &mut Vec<u8>, parts: &[&[u8]]) {
    resp::command(out, parts.len());
    for part in parts {
        resp::bulk(out, part);
    }
}

fn encode_evalsha(out: &mut Vec<u8>, script: &Script, keys: &[&[u8]], args: &[&[u8]]) {
    resp::command(out, 3 + keys.len() + args.len());
    resp::bulk(out, b"EVALSHA");
    resp::bulk(out, script.sha1());
    resp::bulk(out, Decimal::unsigned(keys.len() as u64).as_bytes());
    for part in keys.iter().chain(args) {
        resp::bulk(out, part);
    }
}

fn integers(answer: &Reply<'_>, into: &mut [i64]) -> Result<(), Failure> {
    let wrong = || unexpected("the integers of a script", answer);
    let Reply::Array(length, values) = answer else { return Err(wrong()) };
    if *length != into.len() {
        return Err(wrong());
    }
    for (slot, value) in into.iter_mut().zip(values) {
        let Value::Integer(number) = value else { return Err(wrong()) };
        *slot = *number;
    }
    Ok(())
}

fn seconds_and_micros(answer: &Reply<'_>) -> Result<Micros, Failure> {
    let number = |value: &Value<'_>| match value {
        Value::Text(text) => std::str::from_utf8(text).ok()?.parse::<Micros>().ok(),
        _ => None,
    };
    let time = match answer {
        Reply::Array(2, [seconds, micros, ..]) => number(seconds).zip(number(micros)),
        _ => None,
    };
    // Until the year 9999, so that nothing overflows.
    time.filter(|&(seconds, micros)| seconds < 253_402_300_800 && micros < SECOND)
        .map(|(seconds, micros)| seconds * SECOND + micros)
        .ok_or_else(|| unexpected("a time", answer))
}

fn okay(answer: &Reply<'_>) -> Result<(), Failure> {
    match answer {
        Reply::One(Value::Text(b"OK")) => Ok(()),
        other => Err(unexpected("OK", other)),
    }
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

fn unexpected(expected: &str, answer: &Reply<'_>) -> Failure {
    let came = match answer {
        Reply::One(Value::Integer(_)) => "a number".to_owned(),
        Reply::One(Value::Text(_)) => "a string".to_owned(),
        Reply::One(Value::Error(_)) => "an error".to_owned(),
        Reply::One(Value::Nil) => "nothing".to_owned(),
        Reply::Array(length, _) => format!("an array of {length}"),
    };
    Failure::Protocol(format!("expected {expected}, got {came}"))
}
