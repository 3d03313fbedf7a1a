//! How a script reaches the server.

use std::rc::Rc;

use super::answer::NO_NUMBERS;
use super::request::Request;
use super::server_clock::ServerClock;
use crate::core::time::Micros;
use crate::store::StoreError;

/// A way to the server: the extension's own connection, or somebody else's client object.
///
/// Whatever was sent is sent once: where its reply is lost, that is an error. The one exception is
/// `NOSCRIPT`, which says that nothing was run.
pub trait Transport {
    /// Begins a call that was made when [`crate::clock::steady`] showed `started`: one deadline
    /// holds from there for all that follows. Makes sure that there is a live connection, where the
    /// transport can.
    ///
    /// # Errors
    /// [`StoreError`] where no connection can be made.
    fn begin(&mut self, started: Micros) -> Result<(), StoreError>;

    /// How long after it began a call can still be answered, microseconds.
    fn patience(&self) -> Micros;

    /// Runs a script with `EVALSHA`; on `NOSCRIPT`, and on that alone, loads it and repeats the call
    /// once. Fills `reply` with the integers that the script returned.
    ///
    /// # Errors
    /// [`StoreError`] where there is no answer, the answer is an error, or it is not an array of
    /// exactly `reply.len()` integers.
    fn run(&mut self, request: &Request, reply: &mut [i64]) -> Result<(), StoreError>;

    /// Deletes keys (`DEL`).
    ///
    /// # Errors
    /// [`StoreError`] where there is no answer or it is an error.
    fn delete(&mut self, keys: &[&[u8]]) -> Result<(), StoreError>;

    /// The server's clock (`TIME`), microseconds since the epoch. `None`: the server refuses to tell.
    ///
    /// # Errors
    /// [`StoreError`] where there is no answer or it is another error.
    fn time(&mut self) -> Result<Option<Micros>, StoreError>;

    /// The corrected clock of the server at the other end. All transports of a thread that lead to
    /// one server share it.
    fn clock(&self) -> Rc<ServerClock>;

    /// The server's address, without credentials.
    fn endpoint(&self) -> String;
}

/// What a server's error says, sorted by whom it concerns.
///
/// Servers wrap the error of a command inside a script in different words, so the code may stand
/// anywhere in the text. A script that cannot reckon has read a key that holds no numbers.
#[must_use]
pub fn server_error(endpoint: String, message: String) -> StoreError {
    if message.contains("attempt to perform arithmetic on") {
        StoreError::Key { endpoint, message: NO_NUMBERS.to_owned() }
    } else if message.contains("WRONGTYPE") || message.contains("value is not an integer") {
        StoreError::Key { endpoint, message }
    } else {
        StoreError::Server { endpoint, message }
    }
}

/// Whether an error answer to `TIME` says that this user may not ask, or that there is no such
/// command, so that nothing is wrong with the server.
#[must_use]
pub fn refuses_time(message: &str) -> bool {
    message.starts_with("NOPERM") || message.to_ascii_lowercase().contains("unknown command")
}
