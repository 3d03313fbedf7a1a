//! Short texts in the region, and records that are found by what they are called.
//!
//! A text is written word by word by whoever needs it there, in a record's name always the same bytes
//! for the same tag, then its length.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Whose record this is, and what it is called.
#[repr(C)]
pub(super) struct Label<const WORDS: usize> {
    pub tag: AtomicU64,
    owner: AtomicU64,
    text: Text<WORDS>,
}

impl<const WORDS: usize> Label<WORDS> {
    /// Names a record that was claimed. Whoever dies in the middle leaves it to the next.
    pub fn write(&self, owner: u64, text: &[u8]) {
        if self.text.length.load(Relaxed) == 0 {
            // nothing is read here
            self.owner.store(owner, Relaxed); // published by the text's length
            self.text.write(text);
        }
    }

    pub fn read(&self, owner: u64) -> Option<String> {
        let text = self.text.read()?;
        (self.owner.load(Relaxed) == owner).then_some(text) // published by the text's length
    }
}

/// Up to 8 bytes a word.
#[repr(C)]
pub(super) struct Text<const WORDS: usize> {
    /// In bytes, + 1; 0: never written.
    length: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Text<WORDS> {
    pub fn write(&self, text: &[u8]) {
        let text = &text[..text.len().min(8 * WORDS)];
        for (word, bytes) in self.words.iter().zip(text.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(padded), Relaxed); // published by the length
        }
        // Release: pairs with the Acquire in `read`.
        self.length.store(text.len() as u64 + 1, Release);
    }

    /// The text; what no terminal should see in it is replaced.
    pub fn read(&self) -> Option<String> {
        // Acquire: pairs with the Release in `write`; so that the words are there.
        let length = self.length.load(Acquire).checked_sub(1)? as usize;
        let bytes: Vec<u8> =
            self.words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
        let text = String::from_utf8_lossy(&bytes[..length.min(bytes.len())]);
        Some(text.replace(char::is_control, "?"))
    }
}

/// The record with this tag, or a free one that now has it; none where all are others'.
pub(super) fn claim<T>(records: &[T], tag: u64, of: impl Fn(&T) -> &AtomicU64) -> Option<&T> {
    let first = tag as usize % records.len();
    let (before, after) = records.split_at(first);
    after.iter().chain(before).find(|record| {
        let owner = of(record).load(Relaxed); // a tag guards no other memory
        owner == tag
            || owner == 0
                && match of(record).compare_exchange(0, tag, Relaxed, Relaxed) {
                    Ok(_) => true,
                    Err(owner) => owner == tag,
                }
    })
}
