//! A phpredis `Redis`, read for what the extension's own connection needs.

use std::cell::RefCell;
use std::collections::HashMap;

use ext_php_rs::types::Zval;

use super::object::{self, bytes, call, text};
use super::zend::Thrown;
use super::{exceptions, settings};
use crate::clock;
use crate::core::time::{Micros, SECOND};
use crate::limiter::OnFailure;
use crate::store::StoreError;
use crate::store::redis::{Endpoint, Host, Options, Server, Transport, connection};

/// Where phpredis looks for a server when it was told of none.
const DEFAULT_ADDRESS: &str = "127.0.0.1:6379";

/// How a `Redis` is spoken to from here on.
pub enum Handed {
    /// Over the extension's own connection.
    Endpoint(Endpoint, Vec<u8>),
    /// Through the object: what it takes to reach its server cannot be read from it.
    Object,
}

/// Reads `object`, which is a `Redis` and nothing that extends it.
///
/// A bare `new Redis` is to phpredis one that connects by itself to [`DEFAULT_ADDRESS`]: nothing tells
/// it from `new Redis(['host' => '127.0.0.1'])`. So it is refused only where that cannot connect, and
/// only under the policy that would throw anyway: elsewhere an outage must not become an exception.
pub fn read(object: &Zval, on_failure: OnFailure) -> Result<Handed, Thrown> {
    let connected = call(object, "isConnected", vec![])?.is_true();
    let host = object::ask(object, "getHost", vec![])?; // opens the connection of a lazy object
    let Some(host) = host.as_ref().and_then(text) else {
        return if on_failure == OnFailure::Throw && !was_given_an_address(object)? {
            Err(exceptions::config(
                "$redis was never connected: call connect() or pconnect() before it is handed to \
                 a limiter (one made to connect by itself to 127.0.0.1:6379, where nothing \
                 answers, looks the same)",
            ))
        } else {
            Ok(Handed::Object)
        };
    };
    let port = call(object, "getPort", vec![])?.long().unwrap_or(0);
    let server = match server(&host, port) {
        Some(server) if connected => server,
        _ => return Ok(Handed::Object),
    };
    let (user, password) = credentials(&call(object, "getAuth", vec![])?);
    let database = call(object, "getDbNum", vec![])?.long().unwrap_or(0);
    let database = u32::try_from(database).unwrap_or(0);
    let endpoint = Endpoint { server, user, password, database };
    let prefix = object::prefix(object)?;
    Ok(if answers(&endpoint) { Handed::Endpoint(endpoint, prefix) } else { Handed::Object })
}

/// Tells an object that cannot connect from one that nobody told to. Both know no host, but the first
/// complains about another address, or, where a connect() has failed, about none.
fn was_given_an_address(object: &Zval) -> Result<bool, Thrown> {
    match call(object, "ping", vec![]) {
        Ok(_) => Ok(true),
        Err(Thrown) => {
            let exception = object::take_exception().ok_or(Thrown)?;
            Ok(!object::exception_message(&exception).contains(DEFAULT_ADDRESS))
        }
    }
}

thread_local! {
    /// Endpoints that were tried: whether the extension's own connection is for them, and until when
    /// that is believed.
    static TRIED: RefCell<HashMap<Endpoint, (bool, Micros)>> = RefCell::default();
}

/// Whether the server answers the extension's own connection. The application's answers it, but that
/// may be under TLS without its host saying so (`new Redis(['ssl' => ...])`), or from another address.
/// One that answers nothing at all is down: then the object would not be answered either, and knows
/// no deadline.
fn answers(endpoint: &Endpoint) -> bool {
    const AGAIN: Micros = 10 * SECOND;
    let now = clock::steady();
    let tried =
        TRIED.with(|tried| tried.try_borrow().ok().and_then(|map| map.get(endpoint).copied()));
    match tried {
        Some((answers, until)) if now < until => return answers,
        _ => {}
    }
    let mut connection = connection(endpoint, Options { timeout: settings::timeout() });
    let answer = connection.begin(now).and_then(|()| connection.time());
    let (answers, until) = match answer {
        Ok(_) => (true, Micros::MAX),
        Err(error) => (matches!(error, StoreError::Timeout { .. }), now + AGAIN),
    };
    TRIED.with(|tried| {
        tried.try_borrow_mut().map(|mut map| map.insert(endpoint.clone(), (answers, until))).ok()
    });
    answers
}

/// Where a host as phpredis takes it leads; nothing where that is not plain TCP or a unix socket.
fn server(host: &str, port: i64) -> Option<Server> {
    let host = host.strip_prefix("tcp://").unwrap_or(host);
    let path = host.strip_prefix("unix://").unwrap_or(host);
    if path.starts_with('/') {
        return Some(Server::Unix(path.to_owned()));
    }
    let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = u16::try_from(port).ok().filter(|&port| port > 0)?;
    (!host.contains("://")).then_some(Server::Tcp(Host { name, port }))
}

/// What `auth()` was given: a password, or a list of a password or of user and password.
fn credentials(auth: &Zval) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let list: Vec<&Zval> = auth.array().map_or_else(|| vec![auth], |list| list.values().collect());
    let mut parts = list.into_iter().filter_map(bytes).map(<[u8]>::to_vec);
    match (parts.next(), parts.next()) {
        (user, Some(password)) => (user, Some(password)),
        (password, None) => (None, password),
    }
}
