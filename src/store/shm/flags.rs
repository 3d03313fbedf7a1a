//! Bits that a process shares with its children: what one of them has said, no other says again.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::layout::Span;
use super::segment::{Section, Segment};

/// 32 bits, all clear at first.
pub struct Flags {
    bits: Section<AtomicU32>,
    /// Last: the section above lies in it.
    _segment: Segment,
}

impl Flags {
    /// Maps them. Shared with the children that are forked from now on.
    ///
    /// # Errors
    /// What the system said.
    pub fn map() -> io::Result<Self> {
        let segment = Segment::anonymous(size_of::<AtomicU32>())?;
        // SAFETY: an atomic, of which every bit pattern is valid; dropped before the segment.
        let bits = unsafe { segment.section(Span { offset: 0, count: 1 }) };
        Ok(Self { bits, _segment: segment })
    }

    /// Sets bit `number`, 0 to 31; whether it was clear before.
    pub fn first(&self, number: u32) -> bool {
        let bit = 1 << number;
        self.bits[0].fetch_or(bit, Relaxed) & bit == 0 // guards no other memory
    }
}
