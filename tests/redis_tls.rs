//! Redis under TLS, with certificates made for the test.
#![cfg(feature = "redis")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rate_limit::clock;
use rate_limit::core::limit::Algorithm;
use rate_limit::core::time::{Micros, SECOND};
use rate_limit::store::redis::{ClockMode, Dsn, Naming, Options, RedisStore, connection};
use rate_limit::store::{Store, StoreError};
use support::redis::{Redis, call};
use support::server::{Server, free_port, temporary_directory};

/// An authority, and a server's and a client's certificate by it, in a directory.
struct Certificates(PathBuf);

impl Certificates {
    fn new() -> Self {
        let directory = temporary_directory();
        let openssl = |arguments: &str| {
            let mut command = Command::new("openssl");
            command.args(arguments.split(' ')).current_dir(&directory).stderr(Stdio::null());
            assert!(command.status().unwrap().success(), "openssl {arguments}");
        };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"));
        for name in ["server", "client"] {
            openssl(&format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"));
            std::fs::write(directory.join("san"), "subjectAltName=IP:127.0.0.1").unwrap();
            openssl(&format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
                 -out {name}.pem -extfile san"
            ));
        }
        Self(directory)
    }

    fn path(&self, name: &str) -> String {
        Path::join(&self.0, name).to_str().unwrap().to_owned()
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(certificates: &Certificates) -> (Server, u16) {
    let port = free_port();
    let arguments = [
        ("--tls-port", port.to_string()),
        ("--tls-cert-file", certificates.path("server.pem")),
        ("--tls-key-file", certificates.path("server.key")),
        ("--tls-ca-cert-file", certificates.path("ca.pem")),
    ];
    let arguments: Vec<&str> =
        arguments.iter().flat_map(|(name, value)| [*name, value.as_str()]).collect();
    (Server::with(&arguments), port)
}

fn over(dsn: &str, timeout: Micros) -> Redis {
    let transport = connection(&Dsn::parse(dsn).unwrap().endpoint, Options { timeout });
    RedisStore::new(transport, Naming::default(), ClockMode::Server)
}

#[test]
fn tls_is_a_connection_like_any_other() {
    let certificates = Certificates::new();
    let (server, port) = start(&certificates);
    server.admin().say("CONFIG SET requirepass word");
    let [ca, cert, key] = ["ca.pem", "client.pem", "client.key"].map(|n| certificates.path(n));
    let dsn = format!("rediss://:word@127.0.0.1:{port}/2?ca={ca}&cert={cert}&key={key}");
    let call = call(Algorithm::Counter, b"a", 1_000, 3_600, 1);
    let mut store = over(&dsn, 2 * SECOND);
    let admin = server.admin();
    admin.say("AUTH word");
    for _ in 0..30 {
        for _ in 0..3 {
            store.attempt(&call).unwrap();
        }
        admin.say("CLIENT KILL TYPE normal");
    }
    assert_eq!(store.peek(&call).unwrap().remaining, 1_000 - 90);
    let clients = admin.say("INFO stats");
    let connections = clients.lines().find_map(|l| l.strip_prefix("total_connections_received:"));
    assert!(connections.unwrap().parse::<u32>().unwrap() < 40, "one a kill, none for tickets");
}

#[test]
fn whom_to_trust_is_checked_both_ways() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let (_server, port) = start(&certificates);
    let [ca, cert, key] = ["ca.pem", "client.pem", "client.key"].map(|n| certificates.path(n));
    let call = call(Algorithm::Log, b"a", 10, 60, 1);
    for (parameters, part) in [
        (format!("ca={}&cert={cert}&key={key}", others.path("ca.pem")), "certificate"),
        (
            format!(
                "ca={ca}&cert={0}&key={1}",
                others.path("client.pem"),
                others.path("client.key")
            ),
            "",
        ),
        (format!("ca={ca}"), ""),
        (format!("ca={}", certificates.path("none.pem")), "none.pem"),
        (format!("ca={}", certificates.path("ca.key")), "no certificate of an authority"),
    ] {
        let dsn = format!("rediss://127.0.0.1:{port}?{parameters}");
        let error = over(&dsn, 2 * SECOND).attempt(&call).unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{parameters}: {error:?}");
        assert!(error.to_string().contains(part), "{parameters}: {error}");
    }
}

/// Also in the middle of shaking hands.
#[test]
fn a_stopped_server_is_answered_for_in_time_under_tls() {
    let certificates = Certificates::new();
    let (server, port) = start(&certificates);
    server.admin().say("CONFIG SET tls-auth-clients no");
    let dsn = format!("rediss://127.0.0.1:{port}?ca={}", certificates.path("ca.pem"));
    let call = call(Algorithm::Log, b"a", 10, 60, 1);
    let mut store = over(&dsn, SECOND / 10);
    let _ = store.attempt(&call); // a handshake may take longer than this on a busy machine
    server.pause();
    for _ in 0..2 {
        let before = clock::steady();
        assert!(matches!(store.attempt(&call), Err(StoreError::Timeout { .. })));
        assert!(clock::steady() - before < SECOND / 10 + 60_000);
    }
    server.resume();
    assert!(over(&dsn, 2 * SECOND).attempt(&call).unwrap().allowed);
}
