//! Somebody else's client object: the scripts go through its own methods.
//!
//! | object | call |
//! |---|---|
//! | `Redis` and what extends it, `Relay\Relay` | `rawCommand(command, ...)` |
//! | `RedisCluster` | `rawCommand(key, command, ...)`: the key says which node |
//! | `Predis\ClientInterface` | `executeCommand(createCommand(command, [...]))`: Predis adds its prefix |
//!
//! No borrow is held across a call: PHP code may run in it, throw, enter the limiter again, or end
//! the request without coming back.

use std::cell::Cell;
use std::rc::Rc;

use ext_php_rs::types::{ZendHashTable, Zval};

use super::object::{self, Kind};
use super::servers;
use super::value;
use super::zend::Thrown;
use crate::core::time::{Micros, SECOND};
use crate::store::redis::{
    NO_NUMBERS, Request, ServerClock, Transport, Unreadable, numbers, refuses_time, server_error,
};
use crate::store::shm::Asked;
use crate::store::{StoreError, scope};

/// A client object that a limiter was given, and what is known about it.
pub struct Client {
    object: Zval,
    kind: Kind,
    cluster: bool,
    prefix: Vec<u8>,
    endpoint: String,
    endpoint_hash: u64,
    scope: u64,
    clock: Rc<ServerClock>,
    /// The exception behind the last failure.
    cause: Cell<Option<Zval>>,
}

impl Client {
    /// Asks the object what it knows: its address, its prefix, whether it speaks to a Cluster.
    pub fn of(object: Zval, kind: Kind) -> Result<Self, Thrown> {
        let endpoint = object::address(&object, kind)?;
        let endpoint_hash = scope(&endpoint);
        let scope = scope(&(&endpoint, object::belongings(&object, kind)?));
        let clock = servers::clock(&endpoint, Rc::default);
        let cluster = object::is_cluster(&object, kind)?;
        let prefix = if kind == Kind::Predis { Vec::new() } else { object::prefix(&object)? };
        let cause = Cell::new(None);
        Ok(Self { object, kind, cluster, prefix, endpoint, endpoint_hash, scope, clock, cause })
    }

    /// The object itself.
    pub fn object(&self) -> &Zval {
        &self.object
    }

    /// What the object is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the keys of one call must share a slot.
    pub fn is_cluster(&self) -> bool {
        self.cluster
    }

    /// What stands before every key; nothing where the object adds it by itself.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// The server's address, without credentials, or the object's class.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Stands for server, credentials and prefix. See [`crate::store::Host`].
    pub fn scope(&self) -> u64 {
        self.scope
    }

    /// A question to it, of which nothing is known yet.
    pub fn asked(&self) -> Asked<'_> {
        servers::asked(&self.endpoint, self.endpoint_hash, self.scope, true)
    }

    /// The clock of the server at the other end.
    pub fn clock(&self) -> &ServerClock {
        &self.clock
    }

    /// The exception behind the last failure, for the one that PHP will see.
    pub fn take_cause(&self) -> Option<Zval> {
        self.cause.take()
    }

    /// Sends one command about `key`, which is without the prefix: RedisCluster adds it when it looks
    /// for the node, though not to what it sends.
    fn ask(&self, key: &[u8], command: &str, parts: &[&[u8]]) -> Result<Zval, Refusal> {
        let text = |bytes: &[u8]| value::new_string(bytes);
        let reply = if self.kind == Kind::Predis {
            let mut list = ZendHashTable::with_capacity(parts.len() as u32);
            for part in parts {
                list.push(text(part)).map_err(|e| self.unavailable(e.to_string()))?;
            }
            let mut arguments = Zval::new();
            arguments.set_hashtable(list);
            self.call("createCommand", vec![text(command.as_bytes()), arguments])
                .and_then(|command| self.call("executeCommand", vec![command]))?
        } else {
            let node = (self.kind == Kind::Cluster).then(|| text(key));
            let rest = parts.iter().map(|part| text(part));
            let arguments = node.into_iter().chain([text(command.as_bytes())]).chain(rest);
            self.call("rawCommand", arguments.collect())?
        };
        self.refusal(&reply)?.map_or(Ok(reply), |text| Err(Refusal::Server(text)))
    }

    /// The error that a reply stands for, if it does. The object keeps it for us to fetch, except
    /// that Predis hands it out where it was told not to throw.
    fn refusal(&self, reply: &Zval) -> Result<Option<String>, Refusal> {
        let text = if object::is_a(reply, "Predis\\Response\\ErrorInterface") {
            object::call(reply, "getMessage", vec![]).map_err(|Thrown| self.thrown())?
        } else if self.kind != Kind::Predis && reply.is_false() {
            let text = self.call("getLastError", vec![])?;
            self.call("clearLastError", vec![])?;
            text
        } else {
            return Ok(None);
        };
        Ok(Some(object::text(&text).unwrap_or_else(|| "the client answered false".to_owned())))
    }

    fn call(&self, method: &str, arguments: Vec<Zval>) -> Result<Zval, Refusal> {
        object::call(&self.object, method, arguments).map_err(|Thrown| self.thrown())
    }

    /// What a pending exception says. An `Error` is a fault in the code and stays pending, as does
    /// the end of the request by `exit`.
    fn thrown(&self) -> Refusal {
        let Some(exception) = object::take_exception() else {
            let endpoint = self.endpoint.clone();
            return Refusal::Failed(StoreError::Aborted { endpoint });
        };
        let message = object::exception_message(&exception);
        self.cause.set(Some(exception));
        // Predis throws the server's errors; both throw when the connection breaks.
        if message.starts_with("NOSCRIPT")
            || refuses_time(&message)
            || message.contains("WRONGTYPE")
        {
            Refusal::Server(message)
        } else {
            self.unavailable(message)
        }
    }

    fn unavailable(&self, detail: String) -> Refusal {
        // The object does not say what it had sent.
        let endpoint = self.endpoint.clone();
        Refusal::Failed(StoreError::Unavailable { endpoint, detail, sent: true })
    }
}

/// Why there is no reply.
enum Refusal {
    /// The server answered with an error.
    Server(String),
    /// Anything else.
    Failed(StoreError),
}

/// The way through a [`Client`] for the length of one call.
pub struct Through<'a>(pub &'a Client);

impl Through<'_> {
    /// A key without the prefix.
    fn bare<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        key.strip_prefix(self.0.prefix()).unwrap_or(key)
    }

    fn error(&self, refusal: Refusal) -> StoreError {
        match refusal {
            Refusal::Server(message) => server_error(self.endpoint(), message),
            Refusal::Failed(error) => error,
        }
    }

    fn protocol(&self, expected: &str) -> StoreError {
        let detail = format!("expected {expected}");
        StoreError::Protocol { endpoint: self.endpoint(), detail, sent: true }
    }
}

impl Transport for Through<'_> {
    fn begin(&mut self, _: Micros) -> Result<(), StoreError> {
        Ok(()) // the object has its own timeouts
    }

    fn patience(&self) -> Micros {
        Micros::MAX // and they are not known
    }

    fn run(&mut self, request: &Request, reply: &mut [i64]) -> Result<(), StoreError> {
        let (script, key) = (request.script(), self.bare(request.key()));
        let number = request.keys().count().to_string();
        let parts = |script| -> Vec<&[u8]> {
            let head = [script, number.as_bytes()];
            head.into_iter().chain(request.keys()).chain(request.arguments()).collect()
        };
        let answer = match self.0.ask(key, "EVALSHA", &parts(script.sha1())) {
            // Nothing was run. EVAL runs the script and keeps it for the next EVALSHA.
            Err(Refusal::Server(text)) if text.starts_with("NOSCRIPT") => {
                self.0.take_cause();
                self.0.ask(key, "EVAL", &parts(script.source().as_bytes()))
            }
            answer => answer,
        };
        let answer = answer.map_err(|refusal| self.error(refusal))?;
        let wrong = || self.protocol("the integers of a script");
        match object::bytes(&answer) {
            Some(text) => numbers(text, reply).map_err(|unreadable| match unreadable {
                Unreadable::State => server_error(self.endpoint(), NO_NUMBERS.to_owned()),
                Unreadable::Reply => wrong(),
            }),
            None => object::integers(&answer, reply).ok_or_else(wrong),
        }
    }

    fn delete(&mut self, keys: &[&[u8]]) -> Result<(), StoreError> {
        let answer =
            self.0.ask(self.bare(keys[0]), "DEL", keys).map_err(|refusal| self.error(refusal))?;
        if answer.is_long() { Ok(()) } else { Err(self.protocol("a number of keys")) }
    }

    fn time(&mut self) -> Result<Option<Micros>, StoreError> {
        if self.0.kind == Kind::Predis && self.0.cluster {
            return Ok(None); // Predis does not send commands without a key to a Cluster
        }
        match self.0.ask(b"rl", "TIME", &[]) {
            Ok(answer) => object::integers_of_texts(&answer)
                .map(|[seconds, micros]| Some(seconds * SECOND + micros))
                .ok_or_else(|| self.protocol("a time")),
            Err(Refusal::Server(text)) if refuses_time(&text) => {
                self.0.take_cause();
                Ok(None)
            }
            Err(refusal) => Err(self.error(refusal)),
        }
    }

    fn clock(&self) -> Rc<ServerClock> {
        self.0.clock.clone()
    }

    fn endpoint(&self) -> String {
        self.0.endpoint.clone()
    }
}
