//! An endpoint written as one string:
//!
//! ```text
//! redis://[user[:password]@]host[:port][/database]        rediss:// the same, under TLS
//! redis+unix://[user[:password]@]/path[?db=database]
//! redis-cluster://[user[:password]@]host[:port],host[:port]
//! redis-sentinel://[user[:password]@]host[:port],host[:port]/master[/database]
//! ```
//!
//! Each may end in `?prefix=...`; `rediss` also knows `ca`, `cert` and `key`, paths of PEM files.
//! Reserved characters are percent-encoded. IPv6 addresses stand in brackets. The nodes of a Cluster
//! and the servers behind Sentinel are reached without TLS; the credentials are the servers', and the
//! sentinels are asked without any.

use super::endpoint::{Endpoint, Host, Server, TlsFiles};

/// What a DSN says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dsn {
    /// The server.
    pub endpoint: Endpoint,
    /// What stands before every key.
    pub prefix: Vec<u8>,
}

/// Why a DSN cannot be read. The texts quote nothing that may be a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DsnError {
    /// Not one of the schemes.
    #[error(
        "must begin with redis://, rediss://, redis+unix://, redis-cluster:// or redis-sentinel://"
    )]
    Scheme,
    /// A parameter that this scheme does not have.
    #[error("has an unknown parameter; {scheme}:// knows {known}")]
    Parameter {
        /// The scheme.
        scheme: String,
        /// The parameters that there are.
        known: &'static str,
    },
    /// Another rule is broken.
    #[error("{0}")]
    Rule(&'static str),
}

const ENCODE: DsnError = DsnError::Rule(
    "is ambiguous: the characters @ / ? & % in a user, password, path or prefix must be percent-encoded",
);
const REDIS_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

impl Dsn {
    /// Reads a DSN.
    ///
    /// # Errors
    /// [`DsnError`] with the rule that is broken.
    pub fn parse(dsn: &str) -> Result<Self, DsnError> {
        let (scheme, rest) = dsn.split_once("://").ok_or(DsnError::Scheme)?;
        let known = match scheme {
            "redis" | "redis-cluster" | "redis-sentinel" => "prefix",
            "rediss" => "prefix, ca, cert, key",
            "redis+unix" => "prefix, db",
            _ => return Err(DsnError::Scheme),
        };
        let (main, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = match main.find('/') {
            Some(slash) => main.split_at(slash),
            None => (main, ""),
        };
        // An unencoded '/' or '?' in a password would make its end look like a path or a query.
        if path.contains('@') || query.contains('@') {
            return Err(ENCODE);
        }
        let (credentials, hosts) = match authority.rsplit_once('@') {
            Some((credentials, hosts)) => (Some(credentials), hosts),
            None => (None, authority),
        };
        let (user, password) = credentials.map_or(Ok((None, None)), self::credentials)?;
        let parameters = parameters(query, scheme, known)?;
        let (server, database) = server(scheme, hosts, path, &parameters)?;
        Ok(Self {
            endpoint: Endpoint { server, user, password, database },
            prefix: parameters.prefix,
        })
    }
}

type Credentials = (Option<Vec<u8>>, Option<Vec<u8>>);

fn credentials(text: &str) -> Result<Credentials, DsnError> {
    let (user, password) = text
        .split_once(':')
        .ok_or(DsnError::Rule("must give a password with the user, as user:password@"))?;
    let user = decode(user)?;
    Ok(((!user.is_empty()).then_some(user), Some(decode(password)?)))
}

#[derive(Default)]
struct Parameters {
    prefix: Vec<u8>,
    database: Option<u32>,
    tls: TlsFiles,
}

fn parameters(query: &str, scheme: &str, known: &'static str) -> Result<Parameters, DsnError> {
    let mut parameters = Parameters::default();
    let mut seen = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !known.split(", ").any(|known| known == name) {
            return Err(DsnError::Parameter { scheme: scheme.to_owned(), known });
        }
        if seen.contains(&name) {
            return Err(DsnError::Rule("gives a parameter twice"));
        }
        seen.push(name);
        match name {
            "prefix" => parameters.prefix = decode(value)?,
            "db" => parameters.database = Some(database(value)?),
            "ca" => parameters.tls.ca = Some(text(value)?),
            "cert" => parameters.tls.cert = Some(text(value)?),
            _ => parameters.tls.key = Some(text(value)?),
        }
    }
    if parameters.tls.cert.is_some() != parameters.tls.key.is_some() {
        return Err(DsnError::Rule("must give cert and key together"));
    }
    Ok(parameters)
}

/// `path` is empty or begins with a slash.
fn server(
    scheme: &str,
    hosts: &str,
    path: &str,
    parameters: &Parameters,
) -> Result<(Server, u32), DsnError> {
    let below = path.strip_prefix('/').unwrap_or(path);
    match scheme {
        "redis" => Ok((Server::Tcp(host(hosts, REDIS_PORT)?), database(below)?)),
        "rediss" => {
            let server = Server::Tls(host(hosts, REDIS_PORT)?, parameters.tls.clone());
            Ok((server, database(below)?))
        }
        "redis+unix" => match (hosts, below) {
            ("", "") => Err(DsnError::Rule("must name a socket, as redis+unix:///path")),
            ("", _) => Ok((Server::Unix(text(path)?), parameters.database.unwrap_or(0))),
            _ => Err(DsnError::Rule("must give the socket's path after three slashes")),
        },
        "redis-cluster" if !below.is_empty() => {
            Err(DsnError::Rule("names a database, but a Cluster has only database 0"))
        }
        "redis-cluster" if has_empty_tag(&parameters.prefix) => {
            Err(DsnError::Rule("has {} in its prefix, which would part a call's keys on a Cluster"))
        }
        "redis-cluster" => Ok((Server::Cluster(list(hosts, REDIS_PORT)?), 0)),
        _ => {
            let (master, number) = below.split_once('/').unwrap_or((below, ""));
            let master = text(master)?;
            if master.is_empty() {
                return Err(DsnError::Rule("must name the master after the sentinels, as /name"));
            }
            let sentinels = list(hosts, SENTINEL_PORT)?;
            Ok((Server::Sentinel { sentinels, master }, database(number)?))
        }
    }
}

/// Whether the first brace of a prefix opens an empty hash tag, so that the whole key is hashed.
fn has_empty_tag(prefix: &[u8]) -> bool {
    prefix.iter().position(|&b| b == b'{').is_some_and(|at| prefix.get(at + 1) == Some(&b'}'))
}

fn list(hosts: &str, default_port: u16) -> Result<Vec<Host>, DsnError> {
    hosts.split(',').map(|one| host(one, default_port)).collect()
}

fn host(text: &str, default_port: u16) -> Result<Host, DsnError> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let rule = DsnError::Rule("must close the bracket around an IPv6 address");
            let (address, port) = rest.split_once(']').ok_or(rule)?;
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(DsnError::Rule("must have an IPv6 address between brackets"));
            }
            (address, port)
        }
        None => match text.find(':') {
            Some(colon) => text.split_at(colon),
            None => (text, ""),
        },
    };
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|&p| p != 0),
        None if port.is_empty() => Some(default_port),
        None => None,
    };
    if name.is_empty() {
        return Err(DsnError::Rule("must name a host"));
    }
    // A name or an IPv4 address; an IPv6 address was read above.
    let in_names = |b: u8| b.is_ascii_alphanumeric() || b".-_:".contains(&b);
    if !name.bytes().all(in_names) {
        return Err(DsnError::Rule(
            "must name a host by letters, digits, dots, hyphens or underscores",
        ));
    }
    let name = name.to_owned();
    let port = port.ok_or(DsnError::Rule("must have a port from 1 to 65535 after the host"))?;
    Ok(Host { name, port })
}

fn database(text: &str) -> Result<u32, DsnError> {
    match text {
        "" => Ok(0),
        digits => digits
            .parse()
            .ok()
            .filter(|&n| n <= i32::MAX as u32)
            .ok_or(DsnError::Rule("must have a whole number, from 0, as its database")),
    }
}

fn text(encoded: &str) -> Result<String, DsnError> {
    String::from_utf8(decode(encoded)?)
        .map_err(|_| DsnError::Rule("must be UTF-8 in its paths and names"))
}

/// Takes percent-encoding away.
fn decode(encoded: &str) -> Result<Vec<u8>, DsnError> {
    let mut bytes = encoded.bytes();
    let mut decoded = Vec::with_capacity(encoded.len());
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
            match (digit(), digit()) {
                (Some(high), Some(low)) => (high * 16 + low) as u8,
                _ => return Err(DsnError::Rule("must have two hex digits after each %")),
            }
        } else {
            byte
        });
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(dsn: &str) -> Endpoint {
        Dsn::parse(dsn).unwrap_or_else(|error| panic!("{dsn}: {error}")).endpoint
    }

    fn host(name: &str, port: u16) -> Host {
        Host { name: name.to_owned(), port }
    }

    #[test]
    fn each_scheme_is_read_and_printed_without_credentials() {
        for (dsn, printed) in [
            ("redis://localhost", "redis://localhost:6379"),
            ("redis://u:p%40%2F@10.0.0.1:7000/3", "redis://10.0.0.1:7000/3"),
            ("redis://[::1]:7000/0", "redis://[::1]:7000"),
            ("rediss://:p@h/2?ca=/a.pem&cert=/c.pem&key=/k.pem", "rediss://h:6379/2"),
            ("redis+unix:///run/redis.sock?db=4", "redis+unix:///run/redis.sock?db=4"),
            ("redis+unix://u:p@/run/redis.sock", "redis+unix:///run/redis.sock"),
            ("redis-cluster://:p@a:1,b:2,[::1]", "redis-cluster://a:1,b:2,[::1]:6379"),
            ("redis-sentinel://u:p@a,b:2/main/5", "redis-sentinel://a:26379,b:2/main/5"),
        ] {
            assert_eq!(server(dsn).to_string(), printed);
            assert_eq!(format!("{:?}", server(dsn)), printed);
        }
    }

    #[test]
    fn percent_encoding_is_taken_away() {
        let dsn = Dsn::parse("redis://us%3Aer:p%40s%25%00@h?prefix=app%3a%26").unwrap();
        assert_eq!(dsn.endpoint.user.as_deref(), Some(&b"us:er"[..]));
        assert_eq!(dsn.endpoint.password.as_deref(), Some(&b"p@s%\0"[..]));
        assert_eq!(dsn.prefix, b"app:&");
        assert_eq!(server("redis://:p:q@h").password.as_deref(), Some(&b"p:q"[..]));
        assert_eq!(server("redis://:p:q@h").user, None);
        assert_eq!(server("redis://p@q:p@h").server, Server::Tcp(host("h", 6379)));
    }

    #[test]
    fn credentials_tell_endpoints_apart() {
        assert_ne!(server("redis://u:p@h"), server("redis://u:q@h"));
        assert_ne!(server("redis://h/1"), server("redis://h/2"));
        assert_eq!(server("redis://h?prefix=a"), server("redis://h?prefix=b"));
    }

    #[test]
    fn what_cannot_be_read_names_the_rule_and_no_credential() {
        for (dsn, rule) in [
            ("secret", "must begin with redis://"),
            ("", "must begin with redis://"),
            ("http://secret@h", "must begin with redis://"),
            ("redis://", "must name a host"),
            ("redis://:secret@", "must name a host"),
            ("redis://:secret@:6379", "must name a host"),
            ("redis://secret@h", "password with the user"),
            ("redis://:secret@h:0", "port from 1 to 65535"),
            ("redis://:secret@h:65536", "port from 1 to 65535"),
            ("redis://:secret@h:", "port from 1 to 65535"),
            ("redis://:secret@[::1", "close the bracket"),
            ("redis://:secret@[h]", "IPv6 address between brackets"),
            ("redis://:secret@[::1]x", "port from 1 to 65535"),
            ("redis://:secret@h/x", "whole number"),
            ("redis://:secret@h/-1", "whole number"),
            ("redis://:secret@h/4294967296", "whole number"),
            ("redis://:secret@h/1/2", "whole number"),
            ("redis://:a/secret@h", "percent-encoded"),
            ("redis://:a?secret=b@h", "percent-encoded"),
            ("redis://:secret%@h", "two hex digits"),
            ("redis://:secret%zz@h", "two hex digits"),
            ("redis://:secret@h\0x", "name a host by letters"),
            ("redis://:secret@h#x", "name a host by letters"),
            ("redis://a:1#secret", "port from 1 to 65535"),
            ("redis://:secret@h?timeout=1", "unknown parameter; redis:// knows prefix"),
            ("redis://h?secret", "unknown parameter"),
            ("redis://:secret@h?prefix=a&prefix=b", "twice"),
            ("rediss://:secret@h?cert=/c", "cert and key together"),
            ("redis+unix://", "name a socket"),
            ("redis+unix://h/path", "three slashes"),
            ("redis-cluster://:secret@a/1", "only database 0"),
            ("redis-cluster://:secret@a?prefix={}x", "part a call's keys"),
            ("redis-cluster://:secret@a,,b", "must name a host"),
            ("redis-sentinel://:secret@a", "name the master"),
        ] {
            let error = Dsn::parse(dsn).expect_err(dsn).to_string();
            assert!(error.contains(rule), "{dsn}: {error}");
            assert!(!error.contains("secret"), "{dsn}: {error}");
        }
    }
}
