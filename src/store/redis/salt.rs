//! The key of a day, which all hosts get from the server. It is made by whoever needs it first.

use zeroize::Zeroizing;

use super::decimal::Decimal;
use super::script::SALT;
use super::transport::Transport;
use super::{RedisStore, SLACK_MS};
use crate::core::identity::Key;
use crate::core::midnight::key_expires;
use crate::core::time::{DAY, Day, Micros};
use crate::store::StoreError;

impl<T: Transport> RedisStore<T> {
    /// The key of `day` that is in force: the server's, or `offered` where it has none (any more).
    /// `now` is by the host's wall clock; the server forgets the key when it is of no more use.
    ///
    /// # Errors
    /// [`StoreError`] where the server cannot answer.
    pub fn salt(&mut self, day: Day, offered: &Key, now: Micros) -> Result<Key, StoreError> {
        self.begin()?;
        let useful = key_expires(day).saturating_sub(now) / 1_000 + SLACK_MS;
        self.naming.salt(Micros::from(day) * DAY, &mut self.name);
        self.request.begin(&SALT, 1, 2);
        self.request.part(&self.name);
        self.request.part(&offered[..]);
        self.request.number(Decimal::unsigned(useful));
        let mut words = Zeroizing::new([0; 8]);
        let answer = self.transport.run(&self.request, &mut *words);
        self.request.wipe();
        answer?;
        let mut key = Key::default();
        for (bytes, word) in key.chunks_exact_mut(4).zip(*words) {
            bytes.copy_from_slice(&(word as u32).to_be_bytes()); // the script sends 32 bits
        }
        Ok(key)
    }
}
