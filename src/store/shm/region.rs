//! The region: mapped once, before workers are forked, and looked at by all of them.

use std::hash::Hasher as _;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use portable_atomic::AtomicU128;
use rand::TryRng;
use rand::rngs::SysRng;
use siphasher::sip::SipHasher13;

use super::file::{self, FileProblem};
use super::layout::{
    CounterBucket, DenyBucket, Header, LINE_BYTES, Line, LogBucket, MAGIC, Plan, Stripe, VERSION,
};
use super::segment::{self, Section, Segment};
use super::watch::Watch;
use crate::clock;
use crate::core::time::Micros;

/// Least size of a region, bytes.
pub const MIN_SIZE: usize = 1 << 20;

/// What a region is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionConfig {
    /// Bytes, at least [`MIN_SIZE`] (`rate_limit.memory_size`).
    pub size: usize,
    /// A file that unrelated processes share (`rate_limit.memory_file`); without one the region is
    /// shared with the children of this process alone.
    pub file: Option<PathBuf>,
}

/// Why there is no region. The text says the value, the rule and the setting.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    /// Below [`MIN_SIZE`].
    #[error("rate_limit.memory_size must be at least {MIN_SIZE} bytes (1M), {size} given")]
    TooSmall {
        /// What was asked for, in bytes.
        size: usize,
    },
    /// The system does not give it.
    #[error("rate_limit.memory_size: cannot map {size} bytes: {source}")]
    Map {
        /// What was asked for, in bytes.
        size: usize,
        /// What the system said.
        source: io::Error,
    },
    /// The processor cannot change 16 bytes in one step, which all of this rests on.
    #[error("memory:// needs a processor with a 16-byte compare-and-swap, which this one has not")]
    Processor,
    /// No random key, or no locks.
    #[error("shared memory cannot be prepared: {0}")]
    Prepare(io::Error),
    /// The file cannot be used.
    #[error("rate_limit.memory_file: {}: {problem}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: FileProblem,
    },
}

/// What is used, for the operator. Counts may be off by one for each worker that was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of the region.
    pub size: u64,
    /// Counters that there is room for, and that there are (expired ones included until their
    /// place is needed).
    pub counters: Share,
    /// Logs, likewise.
    pub logs: Share,
    /// Lines of ten log entries each, likewise.
    pub lines: Share,
    /// Bytes that those take up.
    pub used_bytes: u64,
    /// States that made room when nothing in them counted any more.
    pub evicted_expired: u64,
    /// States that made room although something in them still counted.
    pub evicted_live: u64,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The part.
    pub used: u64,
    /// The whole.
    pub of: u64,
}

/// Shared memory that holds limiter state. Unmapped when dropped.
pub struct Region {
    size: usize,
    pub(super) notice: Option<String>,
    key: [u64; 2],
    anchor: Micros,
    pub(super) header: Section<Header>,
    pub(super) stripes: Section<Stripe>,
    pub(super) watch: Section<Watch>,
    pub(super) denials: Section<DenyBucket>,
    pub(super) counters: Section<CounterBucket>,
    pub(super) logs: Section<LogBucket>,
    pub(super) owners: Section<AtomicU32>,
    pub(super) lines: Section<Line>,
    /// Last: the sections above lie in it.
    _segment: Segment,
}

impl Region {
    /// Maps and prepares a region.
    ///
    /// # Errors
    /// [`RegionError`], which says what to change.
    pub fn map(config: &RegionConfig) -> Result<Self, RegionError> {
        let size = config.size;
        if size < MIN_SIZE {
            return Err(RegionError::TooSmall { size });
        }
        if !(AtomicU128::is_lock_free() && segment::processor_swaps_16_bytes()) {
            return Err(RegionError::Processor);
        }
        segment::watch_forks();
        match &config.file {
            Some(path) => file::open(path, size),
            None => {
                let segment =
                    Segment::anonymous(size).map_err(|source| RegionError::Map { size, source })?;
                Self::new(segment, size, 0).map_err(RegionError::Prepare)
            }
        }
    }

    /// Makes a region of zero bytes, in boot `boot`.
    pub(super) fn new(segment: Segment, size: usize, boot: u128) -> io::Result<Self> {
        let mut region = Self::over(segment, size);
        region.key = random().map_err(io::Error::other)?;
        let now = clock::wall();
        region.watch[0].since.store(now, Relaxed); // published by the magic
        region.anchor = now.wrapping_sub(clock::steady());
        for (number, stripe) in region.stripes.iter().enumerate() {
            // SAFETY: nobody else has this memory yet, and it is prepared once.
            unsafe { stripe.lock.init()? };
            stripe.seal.store(region.stripe_seal(number), Relaxed); // published by the magic
        }
        let header = &region.header[0];
        let words = [
            size as u64,
            boot as u64,
            (boot >> 64) as u64,
            region.key[0],
            region.key[1],
            region.anchor,
        ];
        for (field, word) in header.sealed().into_iter().zip(words) {
            field.store(word, Relaxed); // published by the magic
        }
        header.version.store(VERSION, Relaxed); // as above
        header.seal.store(seal(&words), Relaxed); // as above
        // Release: pairs with the Acquire in `existing`.
        header.magic.store(MAGIC, Release);
        Ok(region)
    }

    /// Takes what is mapped for a region of boot `boot`, or says why it is none.
    pub(super) fn existing(segment: Segment, size: usize, boot: u128) -> Result<Self, String> {
        let mut region = Self::over(segment, size);
        let header = &region.header[0];
        // Acquire: pairs with the Release in `new`; so that everything else is there.
        if header.magic.load(Acquire) != MAGIC {
            return Err("was never finished".into());
        }
        let version = header.version.load(Relaxed); // published by the magic, as the rest
        if version != VERSION {
            return Err(format!("has layout version {version}, and this build {VERSION}"));
        }
        let words = header.sealed().map(|field| field.load(Relaxed));
        let [of_size, low, high, key @ .., anchor] = words;
        if header.seal.load(Relaxed) != seal(&words) || of_size != size as u64 {
            return Err("has a damaged header".into());
        }
        if (u128::from(high) << 64 | u128::from(low)) != boot {
            return Err("is from before this host was started".into());
        }
        (region.key, region.anchor) = (key, anchor);
        let intact = |(n, stripe): (usize, &Stripe)| {
            stripe.seal.load(Relaxed) == region.stripe_seal(n) // published by the magic
        };
        if !region.stripes.iter().enumerate().all(intact) {
            return Err("has damaged locks".into());
        }
        Ok(region)
    }

    fn stripe_seal(&self, number: usize) -> u64 {
        SipHasher13::new_with_keys(self.key[0], self.key[1]).hash(&number.to_le_bytes())
    }

    fn over(segment: Segment, size: usize) -> Self {
        let plan = Plan::of(size);
        let header = super::layout::Span { offset: 0, count: 1 };
        // SAFETY: a type of the layout in its place; the section lives in `Self` and is dropped
        // with it. The same holds for the seven below.
        let header = unsafe { segment.section(header) };
        // SAFETY: as above.
        let stripes = unsafe { segment.section(plan.stripes) };
        // SAFETY: as above.
        let watch = unsafe { segment.section(plan.watch) };
        // SAFETY: as above.
        let denials = unsafe { segment.section(plan.denials) };
        // SAFETY: as above.
        let counters = unsafe { segment.section(plan.counters) };
        // SAFETY: as above.
        let logs = unsafe { segment.section(plan.logs) };
        // SAFETY: as above.
        let owners = unsafe { segment.section(plan.owners) };
        // SAFETY: as above.
        let lines = unsafe { segment.section(plan.lines) };
        let (key, anchor) = ([0; 2], 0);
        Self {
            size,
            notice: None,
            key,
            anchor,
            header,
            stripes,
            watch,
            denials,
            counters,
            logs,
            owners,
            lines,
            _segment: segment,
        }
    }

    /// What the operator should read: that something in the file was thrown away.
    #[must_use]
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// The time by this region's clock: microseconds since the Unix epoch, set to the wall clock
    /// when the region was made, and never again.
    #[must_use]
    pub fn now(&self) -> Micros {
        clock::anchored(self.anchor)
    }

    /// Bytes of the region.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The random key of this region, the same for everybody who shares it.
    #[must_use]
    pub fn key(&self) -> [u64; 2] {
        self.key
    }

    /// What is used.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let stats = &self.header[0].stats;
        let share = |used: &AtomicU64, of: usize| Share {
            // A statistic, which may lag behind a killed worker and so even fall below 0.
            used: (used.load(Relaxed) as i64).clamp(0, of as i64) as u64,
            of: of as u64,
        };
        let slots = super::layout::BUCKET;
        let counters = share(&stats.counters, self.counters.len() * slots);
        let logs = share(&stats.logs, self.logs.len() * slots);
        let lines = share(&stats.lines, self.lines.len());
        let bytes = |share: &Share, each: usize| share.used * each as u64;
        Usage {
            size: self.size as u64,
            counters,
            logs,
            lines,
            used_bytes: bytes(&counters, size_of::<CounterBucket>() / slots)
                + bytes(&logs, size_of::<LogBucket>() / slots)
                + bytes(&lines, LINE_BYTES),
            evicted_expired: stats.evicted_expired.load(Relaxed),
            evicted_live: stats.evicted_live.load(Relaxed),
        }
    }
}

impl Header {
    /// The fields that the seal covers.
    fn sealed(&self) -> [&AtomicU64; 6] {
        let ([low, high], [a, b]) = (&self.boot, &self.key);
        [&self.size, low, high, a, b, &self.anchor]
    }
}

/// A hash that shows damage, and keeps nothing secret.
fn seal(words: &[u64; 6]) -> u64 {
    let mut hasher = SipHasher13::new();
    words.iter().for_each(|&word| hasher.write_u64(word));
    hasher.finish()
}

fn random() -> Result<[u64; 2], rand::rngs::SysError> {
    Ok([SysRng.try_next_u64()?, SysRng.try_next_u64()?])
}
