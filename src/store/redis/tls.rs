//! TLS over a socket, under the same deadline.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::endpoint::{Host, TlsFiles};
use super::socket::{Deadline, Failure, Socket};

/// A socket and the session on it.
#[derive(Debug)]
pub(super) struct Tls {
    socket: Socket,
    session: ClientConnection,
}

/// Whom to trust and who we are. Reading it takes milliseconds, so it is kept.
pub(super) fn config(files: &TlsFiles) -> Result<Arc<ClientConfig>, Failure> {
    let mut roots = RootCertStore::empty();
    match &files.ca {
        Some(path) => roots.add_parsable_certificates(certificates(path)?),
        None => roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
    };
    if roots.is_empty() {
        return Err(Failure::Broken("no certificate of an authority to trust (ca)".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(broken)?
        .with_root_certificates(roots);
    let config = match (&files.cert, &files.key) {
        (Some(cert), Some(key)) => {
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error))?;
            builder.with_client_auth_cert(certificates(cert)?, key).map_err(broken)?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, Failure> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(path, error))
}

fn unreadable(path: &str, error: rustls::pki_types::pem::Error) -> Failure {
    Failure::Broken(format!("{path}: {error}"))
}

fn broken(error: rustls::Error) -> Failure {
    Failure::Broken(error.to_string())
}

impl Tls {
    /// Connects and shakes hands.
    pub(super) fn connect(
        host: &Host,
        config: Arc<ClientConfig>,
        deadline: &Deadline,
    ) -> Result<Self, Failure> {
        let name = ServerName::try_from(host.name.clone())
            .map_err(|_| Failure::Broken("no name that a certificate could be for".to_owned()))?;
        let mut session = ClientConnection::new(config, name).map_err(broken)?;
        let socket = Socket::tcp(host, deadline)?;
        while session.is_handshaking() {
            session.complete_io(&mut Bound { socket: &socket, deadline })?;
        }
        Ok(Self { socket, session })
    }

    /// Sends all of a command. A record that was not sent whole cannot be read.
    pub(super) fn send(&mut self, bytes: &[u8], deadline: &Deadline) -> Result<(), Failure> {
        let send = |tls: &mut Self| {
            tls.session.writer().write_all(bytes)?;
            while tls.session.wants_write() {
                tls.session.write_tls(&mut Bound { socket: &tls.socket, deadline })?;
            }
            Ok(())
        };
        send(self).map_err(|error: io::Error| match error.into() {
            Failure::Broken(detail) => Failure::Unsent(detail),
            other => other,
        })
    }

    /// Receives at least one byte.
    pub(super) fn receive(
        &mut self,
        into: &mut [u8],
        deadline: &Deadline,
    ) -> Result<usize, Failure> {
        loop {
            match self.session.reader().read(into) {
                Ok(0) => {
                    return Err(Failure::Broken("the server closed the connection".to_owned()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Ok(result?),
            }
            self.session.read_tls(&mut Bound { socket: &self.socket, deadline })?;
            self.session.process_new_packets().map_err(broken)?;
        }
    }

    /// Whether the server has sent no reply and closed nothing. It may have sent tickets.
    pub(super) fn is_quiet(&mut self) -> bool {
        let deadline = Deadline::none();
        while !self.socket.is_quiet() {
            let bound = &mut Bound { socket: &self.socket, deadline: &deadline };
            let state = match self.session.read_tls(bound) {
                Ok(1..) => self.session.process_new_packets(),
                _ => return false,
            };
            match state {
                Ok(state) if state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed() => {}
                _ => return false,
            }
        }
        true
    }
}

/// A socket for the time of one call.
struct Bound<'a> {
    socket: &'a Socket,
    deadline: &'a Deadline,
}

impl Read for Bound<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.receive(into, self.deadline).map_err(Failure::into_io)
    }
}

impl Write for Bound<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.send(bytes, self.deadline).map_err(Failure::into_io)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
