//! A phpredis `Redis`, read for what the extension's own connection needs.

use ext_php_rs::types::Zval;

use super::exceptions;
use super::object::{self, bytes, call, text};
use super::zend::Thrown;
use crate::store::redis::{Endpoint, Host, Server};

/// How a `Redis` is spoken to.
pub enum Handed {
    /// Over the extension's own connection.
    Endpoint(Endpoint, Vec<u8>),
    /// Through the object: it is under TLS, or may be, and those options cannot be read.
    Object,
}

/// Reads `object`, which is a `Redis` and nothing that extends it.
pub fn read(object: &Zval) -> Result<Handed, Thrown> {
    let connected = call(object, "isConnected", vec![])?.is_true();
    let host = call(object, "getHost", vec![])?; // opens the connection of a lazy object
    let Some(host) = text(&host).filter(|host| !host.is_empty()) else {
        return Err(exceptions::config(
            "$redis was never connected: call connect() or pconnect() before it is handed to a \
             limiter",
        ));
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
    Ok(Handed::Endpoint(endpoint, object::prefix(object)?))
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
