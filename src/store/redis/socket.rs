//! A socket under a deadline. Waits in the way that is quickest for its kind: on a unix socket
//! poll(2) before recv(2) saves a sixth of the round trip, on TCP recv(2) alone is quicker.

use std::cell::Cell;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Domain, SockAddr, Type};

use super::endpoint::Host;
use crate::clock;
use crate::core::time::Micros;

/// Why an exchange failed, before the endpoint's name is put to it.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing came within the deadline.
    Timeout,
    /// No connection, or it broke.
    Broken(String),
    /// It broke before the command was sent whole, so that the server cannot have run it.
    Unsent(String),
    /// The command was sent, and no reply came: the server may have run it. The reason, or nothing
    /// where the deadline passed.
    Unanswered(Option<String>),
    /// The server's answer is an error.
    Server(String),
    /// The answer is no reply to what was sent.
    Protocol(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::Timeout,
            _ => Self::Broken(error.to_string()),
        }
    }
}

impl Failure {
    /// A failure to receive, after a command was sent.
    pub(super) fn after_sending(self) -> Self {
        match self {
            Self::Timeout => Self::Unanswered(None),
            Self::Broken(reason) => Self::Unanswered(Some(reason)),
            other => other,
        }
    }

    /// For code between a socket and its caller that speaks `io::Error`.
    pub(super) fn into_io(self) -> io::Error {
        match self {
            Self::Timeout | Self::Unanswered(None) => io::ErrorKind::TimedOut.into(),
            Self::Broken(text)
            | Self::Unsent(text)
            | Self::Unanswered(Some(text))
            | Self::Server(text)
            | Self::Protocol(text) => io::Error::other(text),
        }
    }
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// The instant until which one call may take.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    /// The steady clock when the call began.
    pub(super) started: Micros,
    /// How long it may take, microseconds.
    pub(super) timeout: Micros,
    /// Nothing was waited for since the call began.
    prompt: Cell<bool>,
}

impl Deadline {
    /// Of a call that takes `timeout` microseconds from `started` on, which is now.
    pub(super) fn from(started: Micros, timeout: Micros) -> Self {
        Self { started, timeout, prompt: Cell::new(true) }
    }

    /// For what is there already.
    pub(super) fn none() -> Self {
        Self { started: 0, timeout: Micros::MAX, prompt: Cell::new(false) }
    }

    /// The first answer that one of `hosts` gives, each asked for an equal share of what is left.
    pub(super) fn first<T, R>(
        &self,
        hosts: &[T],
        mut ask: impl FnMut(&T, &Self) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let mut failure = Failure::Broken("there is no address".to_owned());
        for (i, host) in hosts.iter().enumerate() {
            let share = self.left()? / (hosts.len() - i) as u64;
            let share = Self::from(clock::steady(), share);
            match ask(host, &share) {
                Ok(answer) => return Ok(answer),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// What is left, never 0. Whoever asks first is about to wait, and need not ask the clock.
    pub(super) fn left(&self) -> Result<Micros, Failure> {
        if self.prompt.take() {
            return Ok(self.timeout);
        }
        let passed = clock::steady().saturating_sub(self.started);
        self.timeout.checked_sub(passed).filter(|&left| left > 0).ok_or(Failure::Timeout)
    }
}

/// A connected stream socket.
#[derive(Debug)]
pub(super) struct Socket {
    fd: socket2::Socket,
    /// How long recv(2) waits by itself: on TCP, and on unix sockets not at all.
    receive_timeout: Option<Micros>,
}

impl Socket {
    /// Connects over TCP. Looking up a name cannot be bound by the deadline; connecting is, and
    /// each of several addresses gets an equal share of what is left.
    pub(super) fn tcp(host: &Host, deadline: &Deadline) -> Result<Self, Failure> {
        let addresses: Vec<SocketAddr> =
            (host.name.as_str(), host.port).to_socket_addrs()?.collect();
        deadline.first(&addresses, |&address, share| {
            let fd = socket2::Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            fd.connect_timeout(&address.into(), Duration::from_micros(share.left()?))?;
            fd.set_tcp_nodelay(true)?;
            fd.set_read_timeout(Some(Duration::from_micros(deadline.timeout)))?;
            Ok(Self { fd, receive_timeout: Some(deadline.timeout) })
        })
    }

    /// Connects to a unix socket. Where its backlog is full, connect(2) waits for the send timeout.
    pub(super) fn unix(path: &str, deadline: &Deadline) -> Result<Self, Failure> {
        let fd = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
        fd.set_write_timeout(Some(Duration::from_micros(deadline.left()?)))?;
        fd.connect(&SockAddr::unix(path)?)?;
        Ok(Self { fd, receive_timeout: None })
    }

    /// Whether the peer has sent nothing and closed nothing since the last reply. A unix socket need
    /// not be looked at: send(2) itself refuses where the peer has closed.
    pub(super) fn is_quiet(&self) -> bool {
        if self.is_unix() {
            return true;
        }
        let mut byte = [0_u8];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        matches!(recv(&self.fd, &mut byte[..], flags), Err(Errno::AGAIN))
    }

    fn is_unix(&self) -> bool {
        self.receive_timeout.is_none()
    }

    /// Sends all of a command.
    pub(super) fn send(&self, mut bytes: &[u8], deadline: &Deadline) -> Result<(), Failure> {
        while !bytes.is_empty() {
            match send(&self.fd, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(PollFlags::POLLOUT, deadline.left()?)?,
                Err(error) => return Err(Failure::Unsent(io::Error::from(error).to_string())),
            }
        }
        Ok(())
    }

    /// Receives at least one byte.
    pub(super) fn receive(&self, into: &mut [u8], deadline: &Deadline) -> Result<usize, Failure> {
        loop {
            let left = deadline.left()?;
            // The socket's own timeout is for a call that has used little of its time yet.
            let waits_itself = self.receive_timeout.is_some_and(|t| t.abs_diff(left) <= t / 20);
            if !waits_itself {
                self.wait(PollFlags::POLLIN, left)?;
            }
            let flags = if waits_itself { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
            match recv(&self.fd, &mut *into, flags) {
                Ok((_, 0)) => {
                    return Err(Failure::Broken("the server closed the connection".to_owned()));
                }
                Ok((_, received)) => return Ok(received),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if !waits_itself => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// By poll(2), in milliseconds: ppoll(2), which is finer, takes longer.
    fn wait(&self, events: PollFlags, left: Micros) -> Result<(), Failure> {
        let limit = PollTimeout::try_from(left.div_ceil(1_000)).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.fd.as_fd(), events)], limit) {
            Ok(0) => Err(Failure::Timeout),
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }
}
