//! The format of the region: what lies where, and what holds at every instant.
//!
//! # Purpose
//! One piece of memory, shared by processes that may be at different addresses, may be stopped or
//! killed at any instruction, and trust nothing that they read in it. It holds what identities have
//! used, and nothing readable about them: a slot is found by bits of a keyed hash.
//!
//! # Offsets
//! The region's size decides everything; [`Plan::of`] computes it.
//!
//! | from | what | each | how many |
//! |---|---|---|---|
//! | 0 | [`Header`], with the [`Breaker`]s | 32768 | 1 |
//! | 32768 | [`Stripe`] | 128 | [`STRIPES`] |
//! | 98304 | [`Watch`], what operators see | 63 KiB | 1 |
//! | then | [`DenyBucket`], 6 denials, see `deny` | 256 | a sixteenth of the region |
//! | then | [`CounterBucket`], 8 slots of 24 bytes | 192 | six sixteenths |
//! | then | [`LogBucket`], 8 slots of 32 bytes | 256 | a sixteenth |
//! | then | owners, a slot number + 1, or 0 | 4 | one a line |
//! | then | [`Line`], 10 entries of 6 bytes and a link | 64 | the rest |
//!
//! A counter costs 24 bytes; a log costs 32 and 68 for each 10 entries. Where it says "then", from
//! the next multiple of 64.
//!
//! # Invariants
//! 1. Every field is an atomic or, in a stripe, a lock, so every bit pattern is a valid value.
//! 2. All bytes zero is a region in which nothing is used. So a fresh mapping needs only its header
//!    and its locks written, and memory is touched as it fills.
//! 3. Nothing is a pointer: slots and lines are numbers, and a number that is read is clamped to
//!    its section before it is used. A loop over numbers that were read is bounded by a length.
//! 4. A counter is one 16-byte word, whose tag says whose it is. It changes by compare-and-swap alone.
//! 5. One identity has at most one counter slot: only a holder of the identity's stripe inserts it.
//! 6. A log slot with tag 0 is free. Tag 0 becomes an identity's by compare-and-swap, by a holder of
//!    that identity's stripe; everything else about a log is written by a holder of that stripe.
//! 7. A line belongs to at most one log: its owner becomes a slot's by compare-and-swap from 0, and
//!    only a holder of that slot's stripe puts it back.
//! 8. A log's content is what its 16-byte word says: `length` entries, from entry `head` of line
//!    `first`, over the lines' links, to line `last`. Entries are never older than those before them.
//! 9. A line that a slot owns and that its word does not reach is garbage. It exists only while the
//!    stripe's `slot` names that slot.
//!
//! # Reader, writer
//! A counter is read by one load and written by one compare-and-swap, with nothing held. A log is
//! written with its stripe held: entries and links first, in places that the word does not reach
//! yet; then the word, in one store; then the lines that it no longer reaches are freed. It is read
//! with its stripe held, or without: then a word that is the same before and after vouches for
//! what was read in between.
//!
//! # What a crash leaves
//! | killed | left |
//! |---|---|
//! | before or after a counter's compare-and-swap | nothing, or one call counted whose caller never heard |
//! | between a counter's insertion and its `meta` | a wrong rank in eviction, until its next call |
//! | after a log slot's tag | an empty log, first to be evicted |
//! | after lines were claimed, before the word | garbage (9), freed by the next holder of the stripe |
//! | after the word, before old lines were freed | the same |
//! | while a file is prepared | a file of another name, removed by the next who prepares one |
//! | holding a stripe | its lock passes to the next who asks (`EOWNERDEAD`), who first frees garbage |
//!
//! # Where it must not be used
//! Between hosts, between boots (times count from this boot), between builds of another
//! [`VERSION`], on a file system without working shared mappings.

use std::mem::size_of;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use portable_atomic::AtomicU128;

use super::segment::Mutex;
use super::watch::Watch;

/// "rlimit" and two zero bytes, as a little-endian number.
pub(super) const MAGIC: u64 = 0x0000_7469_6d69_6c72;
/// Changes whenever anything in this file does.
pub(super) const VERSION: u32 = 7;

/// Locks. Enough that two of 16 workers rarely meet, few enough to write at creation.
pub(super) const STRIPES: usize = 512;
/// Slots of a bucket. An identity has two buckets, so nothing is evicted from a table that is up to
/// 70 % full, and one in 700 identities from one that is 85 % full (measured).
pub(super) const BUCKET: usize = 8;
/// Endpoints that can be told apart; more share the records that there are.
pub(super) const BREAKERS: usize = 500;
/// Entries of a line.
pub(super) const ENTRIES: u32 = 10;
/// Bytes that a line costs, its owner included.
pub(super) const LINE_BYTES: usize = size_of::<Line>() + size_of::<AtomicU32>();

/// Written once, before anybody else sees the region, but for the statistics and the two hands.
#[repr(C, align(4096))]
pub(super) struct Header {
    /// [`MAGIC`], written last: a region without it was never finished.
    pub magic: AtomicU64,
    pub version: AtomicU32,
    _unused: AtomicU32,
    /// Bytes of the region.
    pub size: AtomicU64,
    /// The boot in which it was made: its clock is that boot's.
    pub boot: [AtomicU64; 2],
    /// Key of the hash that finds identities.
    pub key: [AtomicU64; 2],
    /// What the wall clock was ahead of the boot's when the region was made, microseconds.
    pub anchor: AtomicU64,
    /// A hash of the six words above.
    pub seal: AtomicU64,
    pub stats: Stats,
    pub hands: Hands,
    pub breakers: [Breaker; BREAKERS],
}

/// Counts for the operator; off by at most one for each worker that was killed.
#[repr(C, align(64))]
#[derive(Default)]
pub(super) struct Stats {
    pub counters: AtomicU64,
    pub logs: AtomicU64,
    pub lines: AtomicU64,
    pub evicted_expired: AtomicU64,
    pub evicted_live: AtomicU64,
}

/// Where the next search begins. Hints: any value is right.
#[repr(C, align(64))]
pub(super) struct Hands {
    /// The next line that may be free.
    pub line: AtomicU32,
    /// The next log bucket to look for a victim in.
    pub victim: AtomicU32,
}

/// What a worker holds while it inserts a counter or touches a log.
#[repr(C, align(128))]
pub(super) struct Stripe {
    pub lock: Mutex,
    /// The log slot that the holder is changing, + 1 (invariant 9); 0: none.
    pub slot: AtomicU32,
    /// A line that was free when a holder last looked, a hint.
    pub line: AtomicU32,
    /// A hash of the stripe's number under the region's key: that this is a lock, and not what
    /// something else wrote over it.
    pub seal: AtomicU64,
}

/// Where an identity's counter may lie: eight slots. What is looked through lies together.
#[repr(C, align(64))]
pub(super) struct CounterBucket<W = AtomicU128> {
    /// tag 34 | window index 32 | units of the window before 31 | units of this window 31. See
    /// [`super::counters`].
    pub words: [W; BUCKET],
    /// limit 32 | window in seconds 32, as of the last admitted call. For ranking victims only.
    pub metas: [AtomicU64; BUCKET],
}

/// One log. See [`super::logs`] for the word.
#[repr(C)]
pub(super) struct LogSlot {
    /// era 28 | head 4 | length 32 | last line 32 | first line 32.
    pub word: AtomicU128,
    /// Bits of the identity's hash, the stripe's number among them; 0: free.
    pub tag: AtomicU64,
    /// As a counter's.
    pub meta: AtomicU64,
}

/// Where an identity's log may lie.
#[repr(C, align(64))]
pub(super) struct LogBucket(pub [LogSlot; BUCKET]);

/// Ten entries of a log: the low 48 bits of their times in microseconds, in two parts.
#[repr(C, align(64))]
pub(super) struct Line {
    pub low: [AtomicU32; ENTRIES as usize],
    pub high: [AtomicU16; ENTRIES as usize],
    /// The log's next line; means nothing in its last.
    pub next: AtomicU32,
}

/// A denial that is remembered: four instants by the steady clock, and a sum over them that says
/// whose they are. See `deny`.
#[repr(C)]
pub(super) struct Denial {
    pub check: AtomicU64,
    pub until: AtomicU64,
    pub retry: AtomicU64,
    pub replenish: AtomicU64,
    pub reset: AtomicU64,
}

/// Where an identity's denials may lie.
#[repr(C, align(64))]
pub(super) struct DenyBucket {
    /// How often an identity of this bucket was reset.
    pub resets: AtomicU64,
    pub denials: [Denial; 6],
    _unused: AtomicU64,
}

/// What the workers of this host know about one endpoint. See `breaker`.
#[repr(C, align(64))]
pub(super) struct Breaker {
    /// Bits of the endpoint's hash; 0: nobody's.
    pub tag: AtomicU64,
    /// failures in a row 12 | instant of the next try by the steady clock, microseconds, 52.
    pub word: AtomicU64,
    /// Failures since the region was made.
    pub failures: AtomicU64,
    /// Until when, by the steady clock, an identity may owe it units that still count.
    pub debts_until: AtomicU64,
    /// What its clock is ahead of the steady clock, microseconds; 0: not known.
    pub ahead: AtomicU64,
    _unused: [AtomicU64; 3],
}

const _: () = assert!(size_of::<Header>() == 32768);
const _: () = assert!(size_of::<Stripe>() == 128);
const _: () = assert!(size_of::<CounterBucket>() == 192);
const _: () = assert!(size_of::<LogBucket>() == 256);
const _: () = assert!(size_of::<Line>() == 64);
const _: () = assert!(size_of::<DenyBucket>() == 256);
const _: () = assert!(size_of::<Breaker>() == 64);

/// A run of equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Bytes from the region's start, a multiple of 64.
    pub offset: usize,
    /// How many.
    pub count: usize,
}

/// Where everything lies in a region of a given size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub stripes: Span,
    pub watch: Span,
    pub denials: Span,
    pub counters: Span,
    pub logs: Span,
    pub owners: Span,
    pub lines: Span,
}

impl Plan {
    /// The plan of a region of `size` bytes, at least [`super::MIN_SIZE`].
    pub const fn of(size: usize) -> Self {
        let stripes = Span { offset: size_of::<Header>(), count: STRIPES };
        let watch = after(stripes, size_of::<Stripe>(), 1);
        let denials = after(watch, size_of::<Watch>(), size / 16 / size_of::<DenyBucket>());
        let counters =
            after(denials, size_of::<DenyBucket>(), size / 16 * 6 / size_of::<CounterBucket>());
        let logs = least(size / 16 / size_of::<LogBucket>(), MOST_LOGS / BUCKET);
        let logs = after(counters, size_of::<CounterBucket>(), logs);
        let rest = size - after(logs, size_of::<LogBucket>(), 0).offset - 64;
        let lines = least(rest / LINE_BYTES, MOST_LINES);
        let owners = after(logs, size_of::<LogBucket>(), lines);
        let lines = after(owners, size_of::<AtomicU32>(), lines);
        Self { stripes, watch, denials, counters, logs, owners, lines }
    }
}

/// So that a line's number fits its 32 bits, and the length of a log of all lines does.
const MOST_LINES: usize = u32::MAX as usize / ENTRIES as usize;

/// So that a slot's number + 1 leaves an owner's highest bit free, see `lines`.
const MOST_LOGS: usize = 1 << 30;

const fn least(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}

/// The span of `count` parts that begins after `before`, whose parts have `each` bytes.
const fn after(before: Span, each: usize, count: usize) -> Span {
    Span { offset: (before.offset + before.count * each).next_multiple_of(64), count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_fits_its_region_and_uses_almost_all_of_it() {
        for size in [1 << 20, (1 << 20) + 1, 3_000_017, 64 << 20, 1 << 33] {
            let plan = Plan::of(size);
            let end = plan.lines.offset + plan.lines.count * size_of::<Line>();
            assert!(end <= size && size - end < 512, "{size}: {plan:?}");
            assert!(plan.owners.offset + 4 * plan.owners.count <= plan.lines.offset);
        }
    }
}
