//! Which server, and who we are there. Nothing here prints a credential.

use std::fmt;

/// A server, a database on it, and who we are there: what one connection belongs to.
///
/// Compares by all of it, credentials included; prints without them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// How the server is reached.
    pub server: Server,
    /// User of `AUTH`; `None`: the default user.
    pub user: Option<Vec<u8>>,
    /// Password of `AUTH`; `None`: no `AUTH`.
    pub password: Option<Vec<u8>>,
    /// Database of `SELECT`, from 0.
    pub database: u32,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Server {
    /// Plain TCP.
    Tcp(Host),
    /// A unix socket, by its path.
    Unix(String),
    /// TCP under TLS.
    Tls(Host, TlsFiles),
    /// A Cluster, by some of its nodes.
    Cluster(Vec<Host>),
    /// Whichever server these sentinels call the master of `master`.
    Sentinel {
        /// The sentinels.
        sentinels: Vec<Host>,
        /// The name under which they watch the servers.
        master: String,
    },
}

/// A host, by name or address (IPv6 without brackets), and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    /// Name or address.
    pub name: String,
    /// TCP port.
    pub port: u16,
}

/// Files in PEM for a TLS connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TlsFiles {
    /// Certificates of the authorities to trust; `None`: the system's.
    pub ca: Option<String>,
    /// The client's certificate, with its key.
    pub cert: Option<String>,
    /// The key of the client's certificate.
    pub key: Option<String>,
}

impl Endpoint {
    /// The default user's database 0 on `server`, without a password.
    #[must_use]
    pub fn of(server: Server) -> Self {
        Self { server, user: None, password: None, database: 0 }
    }

    /// A server's text with this endpoint's credentials taken out: some errors quote the command.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        [&self.password, &self.user].into_iter().flatten().fold(text.to_owned(), |text, secret| {
            match std::str::from_utf8(secret) {
                Ok(secret) if !secret.is_empty() => text.replace(secret, "***"),
                _ => text,
            }
        })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Server::Tcp(host) => write!(f, "redis://{host}")?,
            Server::Unix(path) => write!(f, "redis+unix://{path}")?,
            Server::Tls(host, _) => write!(f, "rediss://{host}")?,
            Server::Cluster(nodes) => write!(f, "redis-cluster://{}", Hosts(nodes))?,
            Server::Sentinel { sentinels, master } => {
                write!(f, "redis-sentinel://{}/{master}", Hosts(sentinels))?;
            }
        }
        match (self.database, &self.server) {
            (0, _) => Ok(()),
            (database, Server::Unix(_)) => write!(f, "?db={database}"),
            (database, _) => write!(f, "/{database}"),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

struct Hosts<'a>(&'a [Host]);

impl fmt::Display for Hosts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, host) in self.0.iter().enumerate() {
            write!(f, "{}{host}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}
