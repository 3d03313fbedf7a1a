//! The keys that this host's workers share (`rate_limit.salt = "managed"`): one for each UTC day and
//! each store that hosts share it by.
//!
//! They lie in a mapping of their own, which children inherit and no file holds, whatever
//! `rate_limit.memory_file` says. It is kept out of swap and core dumps where the system lets us, and
//! each key in it is masked with a pad that stands in the processes' private memory alone, so that the
//! mapping by itself is worth nothing.
//!
//! # Records
//! All reading and writing happens under one robust lock, once a request for each day that it asks
//! about. `used` is written last and cleared first, so a worker that is killed in between leaves a
//! record that is free or whole.

use std::io;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, Release},
};

use hmac::{Hmac, KeyInit, Mac};
use rand::TryRng;
use rand::rngs::SysRng;
use sha2::Sha256;

use super::layout::Span;
use super::segment::{Held, Mutex, Section, Segment};
use crate::core::identity::Key;
use crate::core::midnight::key_expires;
use crate::core::time::{Day, Micros};
use crate::store::StoreError;

/// Keys that there is room for: five days of 51 stores.
const RECORDS: usize = 255;

/// Which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyName {
    /// Stands for those who share it.
    pub scope: u64,
    /// The day that it is for.
    pub day: Day,
}

/// A key that was found.
pub struct Kept {
    /// The key.
    pub key: Key,
    /// It was last confirmed so long ago that this caller, and no other, is asked to do it again.
    pub due: bool,
}

#[repr(C, align(64))]
struct Record {
    scope: AtomicU64,
    /// By the steady clock, microseconds: when the key was last confirmed.
    confirmed: AtomicU64,
    key: [AtomicU64; 4],
    day: AtomicU32,
    /// 1, or 0: the record is free.
    used: AtomicU32,
}

const _: () = assert!(size_of::<Record>() == 64 && size_of::<Mutex>() <= 64);

/// The ring. Wiped when dropped.
pub struct KeyRing {
    lock: Section<Mutex>,
    records: Section<Record>,
    pad: Key,
    /// Last: the sections above lie in it.
    _segment: Segment,
}

impl KeyRing {
    /// Maps an empty ring. Shared with the children that are forked from now on.
    ///
    /// # Errors
    /// What the system said.
    pub fn map() -> io::Result<Self> {
        let segment = Segment::anonymous((1 + RECORDS) * size_of::<Record>())?;
        segment.hide();
        // SAFETY: a lock, for which there is room before the first record; dropped before the segment.
        let lock = unsafe { segment.section::<Mutex>(Span { offset: 0, count: 1 }) };
        let offset = size_of::<Record>();
        // SAFETY: atomics, of which every bit pattern is valid; dropped before the segment.
        let records = unsafe { segment.section(Span { offset, count: RECORDS }) };
        // SAFETY: nobody else has this memory yet.
        unsafe { lock[0].init()? };
        let mut pad = Key::default();
        SysRng.try_fill_bytes(&mut *pad).map_err(io::Error::other)?;
        Ok(Self { lock, records, pad, _segment: segment })
    }

    /// The key of this name. It counts as confirmed for `fresh` microseconds; after that one caller
    /// each `fresh` is told that it is due. `now` is by the steady clock.
    ///
    /// # Errors
    /// [`StoreError::Busy`].
    pub fn find(
        &self,
        name: KeyName,
        now: Micros,
        fresh: Micros,
    ) -> Result<Option<Kept>, StoreError> {
        let _held = self.hold()?;
        let Some(record) = self.record(name) else { return Ok(None) };
        let due = now.saturating_sub(record.confirmed.load(Relaxed)) >= fresh;
        if due {
            record.confirmed.store(now, Relaxed);
        }
        Ok(Some(Kept { key: self.masked(name, record), due }))
    }

    /// Keeps `key` under a name that has none, and gives the one that is there now.
    ///
    /// # Errors
    /// [`StoreError::Busy`], or [`StoreError::Unavailable`] where there is no room.
    pub fn first(&self, name: KeyName, key: Key, now: Micros) -> Result<Key, StoreError> {
        let _held = self.hold()?;
        if let Some(record) = self.record(name) {
            return Ok(self.masked(name, record));
        }
        self.write(name, &key, now)?;
        Ok(key)
    }

    /// Keeps `key` under a name, in the place of another if there is one.
    ///
    /// # Errors
    /// As [`Self::first`].
    pub fn replace(&self, name: KeyName, key: &Key, now: Micros) -> Result<(), StoreError> {
        let _held = self.hold()?;
        if let Some(record) = self.record(name) {
            record.wipe();
        }
        self.write(name, key, now)
    }

    /// Wipes every key that is of no use any more at `now`, by the wall clock.
    pub fn wipe_expired(&self, now: Micros) {
        let expired =
            |record: &&Record| record.is_used() && key_expires(record.day.load(Relaxed)) <= now;
        if self.records.iter().any(|record| expired(&record))
            && let Ok(_held) = self.hold()
        {
            self.records.iter().filter(expired).for_each(Record::wipe);
        }
    }

    /// A worker that died with the lock left nothing to put right.
    fn hold(&self) -> Result<Held<'_>, StoreError> {
        let mut held =
            self.lock[0].lock().map_err(|e| StoreError::Busy { after_ms: e.after / 1_000 })?;
        if held.orphaned {
            held.repaired();
        }
        Ok(held)
    }

    fn record(&self, name: KeyName) -> Option<&Record> {
        self.records.iter().find(|record| {
            record.is_used()
                && record.day.load(Relaxed) == name.day
                && record.scope.load(Relaxed) == name.scope
        })
    }

    fn write(&self, name: KeyName, key: &Key, now: Micros) -> Result<(), StoreError> {
        let free = self.records.iter().find(|record| !record.is_used());
        let record = free.ok_or_else(|| StoreError::Unavailable {
            endpoint: "memory://".to_owned(),
            detail: format!("no room for more than {RECORDS} identity keys"),
            sent: false,
        })?;
        record.scope.store(name.scope, Relaxed);
        record.confirmed.store(now, Relaxed);
        record.day.store(name.day, Relaxed);
        let words = key.chunks_exact(8).zip(self.pad(name));
        for (place, (word, pad)) in record.key.iter().zip(words) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            place.store(word ^ pad, Relaxed);
        }
        // Release: after all that it says is there, wherever the worker may be killed.
        record.used.store(1, Release);
        Ok(())
    }

    fn masked(&self, name: KeyName, record: &Record) -> Key {
        let mut key = Key::default();
        let words = record.key.iter().zip(self.pad(name));
        for (bytes, (word, pad)) in key.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&(word.load(Relaxed) ^ pad).to_le_bytes());
        }
        key
    }

    /// What the key of this name is masked with.
    fn pad(&self, name: KeyName) -> [u64; 4] {
        let mac = Hmac::<Sha256>::new_from_slice(&*self.pad).expect("HMAC takes any key");
        let name = [name.scope.to_le_bytes(), u64::from(name.day).to_le_bytes()].concat();
        let bytes = mac.chain_update(name).finalize().into_bytes();
        std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| bytes[8 * i + j])))
    }
}

impl Record {
    fn is_used(&self) -> bool {
        self.used.load(Relaxed) == 1 // the lock's hand-over publishes the rest
    }

    fn wipe(&self) {
        self.used.store(0, Relaxed);
        // Release: not before the record is free.
        self.key.iter().for_each(|word| word.store(0, Release));
    }
}

impl Drop for KeyRing {
    fn drop(&mut self) {
        self.records.iter().for_each(Record::wipe);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::time::{DAY, SECOND};

    const TODAY: KeyName = KeyName { scope: 7, day: 20_000 };
    const FRESH: Micros = 10 * SECOND;

    fn key(byte: u8) -> Key {
        Key::new([byte; 32])
    }

    fn found(ring: &KeyRing, name: KeyName) -> Option<Key> {
        ring.find(name, 0, FRESH).unwrap().map(|kept| kept.key)
    }

    /// Every byte of the records.
    fn bytes(ring: &KeyRing) -> Vec<u8> {
        let words = ring.records.iter().flat_map(|record| &record.key);
        words.flat_map(|word| word.load(Relaxed).to_le_bytes()).collect()
    }

    #[test]
    fn the_first_key_of_a_name_stays_until_it_is_replaced() {
        let ring = KeyRing::map().unwrap();
        assert_eq!(found(&ring, TODAY), None);
        assert_eq!(ring.first(TODAY, key(1), 0).unwrap(), key(1));
        assert_eq!(ring.first(TODAY, key(2), 0).unwrap(), key(1));
        ring.replace(TODAY, &key(3), 0).unwrap();
        assert_eq!(found(&ring, TODAY), Some(key(3)));
        for other in [KeyName { scope: 8, ..TODAY }, KeyName { day: 19_999, ..TODAY }] {
            assert_eq!(found(&ring, other), None);
        }
    }

    #[test]
    fn one_caller_each_interval_is_asked_to_confirm() {
        let ring = KeyRing::map().unwrap();
        ring.first(TODAY, key(1), 100).unwrap();
        let due = |now| ring.find(TODAY, now, FRESH).unwrap().unwrap().due;
        assert_eq!(
            [100, 99 + FRESH, 100 + FRESH, 101 + FRESH].map(due),
            [false, false, true, false]
        );
    }

    #[test]
    fn a_key_does_not_stand_in_the_mapping_and_is_wiped_after_its_last_use() {
        let ring = KeyRing::map().unwrap();
        ring.first(TODAY, key(0xa5), 0).unwrap();
        assert!(!bytes(&ring).windows(8).any(|part| part == [0xa5; 8]));
        ring.wipe_expired(20_005 * DAY - 1);
        assert_eq!(found(&ring, TODAY), Some(key(0xa5)));
        ring.wipe_expired(20_005 * DAY);
        assert!(bytes(&ring).iter().all(|&byte| byte == 0));
        assert_eq!(found(&ring, TODAY), None);
    }

    #[test]
    fn a_full_ring_says_so_and_has_room_again() {
        let ring = KeyRing::map().unwrap();
        for scope in 0..RECORDS as u64 {
            ring.first(KeyName { scope, ..TODAY }, key(1), 0).unwrap();
        }
        let one_more = KeyName { scope: u64::MAX, ..TODAY };
        assert!(matches!(ring.first(one_more, key(1), 0), Err(StoreError::Unavailable { .. })));
        ring.wipe_expired(Micros::MAX);
        ring.first(one_more, key(1), 0).unwrap();
    }
}
