//! What an identity's keys are called. The names are those of the userland classes, so that both
//! can share a budget.

use sha2::{Digest, Sha256};

use super::decimal::Decimal;
use crate::core::time::{Micros, utc_date};

/// Longest identity that stands in a key as it is, in bytes; a longer one stands as its SHA-256.
pub const LONGEST_PLAIN: usize = 512;

/// Room for three keys with most prefixes and identities, so that it is asked for once, in bytes.
const ROOM: usize = 256;

/// How a log is kept (`rate_limit.log_layout`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Layout {
    /// A sorted set under `rl:log:`, as the userland class keeps it.
    #[default]
    SortedSet,
    /// A list of times under `rl:list:`: the same decisions in less memory.
    List,
}

/// How this store's keys are named.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    /// Stands before every key (`?prefix=`, phpredis' `OPT_PREFIX`).
    pub prefix: Vec<u8>,
    /// Whether the server is a Cluster, where the keys of one call must share a slot.
    pub cluster: bool,
    /// How logs are kept.
    pub layout: Layout,
}

/// The keys of one call. Kept between calls, so that naming them allocates only the first time.
#[derive(Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    ends: [usize; 3],
}

impl Keys {
    /// The `n`-th key, from 0; nothing where it was not named.
    pub(super) fn get(&self, n: usize) -> &[u8] {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        &self.bytes[start..self.ends[n].max(start)]
    }

    /// Names the one key of a log.
    pub(super) fn name_log(&mut self, naming: &Naming, identity: &[u8]) {
        let (plain, hashed): (&[u8], &[u8]) = match naming.layout {
            Layout::SortedSet => (b"rl:log:", b"rl:logh:"),
            Layout::List => (b"rl:list:", b"rl:listh:"),
        };
        self.begin(naming);
        self.name_identity(plain, hashed, identity);
        self.ends[0] = self.bytes.len();
    }

    /// Names keys of a counter: of the window before `index`, of that window, and, if `count` is 3, of
    /// the one after it.
    pub(super) fn name_counter(
        &mut self,
        naming: &Naming,
        identity: &[u8],
        index: u64,
        count: usize,
    ) {
        self.begin(naming);
        if naming.cluster {
            // An identity may itself contain braces, so it cannot stand in a hash tag.
            let digest: [u8; 64] = hex(&Sha256::digest(identity));
            self.bytes.extend_from_slice(b"rl:cnt:{");
            self.bytes.extend_from_slice(&digest[..32]);
            self.bytes.push(b'}');
        } else {
            self.name_identity(b"rl:cnt:", b"rl:cnth:", identity);
        }
        self.bytes.push(b':');
        let stem = self.bytes.len();
        let index = index as i64; // microseconds are below 2^63
        for (n, index) in (index - 1..).take(count).enumerate() {
            if n > 0 {
                self.bytes.extend_from_within(..stem);
            }
            self.bytes.extend_from_slice(Decimal::signed(index).as_bytes());
            self.ends[n] = self.bytes.len();
        }
    }

    /// Names the key under which hosts share the salt of the day that holds `at`.
    pub(super) fn name_salt(&mut self, naming: &Naming, at: Micros) {
        self.begin(naming);
        self.bytes.extend_from_slice(b"rl:salt:");
        self.bytes.extend_from_slice(&utc_date(at));
        self.ends[0] = self.bytes.len();
    }

    fn begin(&mut self, naming: &Naming) {
        self.ends = [0; 3];
        self.bytes.clear();
        self.bytes.reserve(ROOM);
        self.bytes.extend_from_slice(&naming.prefix);
    }

    fn name_identity(&mut self, plain: &[u8], hashed: &[u8], identity: &[u8]) {
        if identity.len() <= LONGEST_PLAIN {
            self.bytes.extend_from_slice(plain);
            self.bytes.extend_from_slice(identity);
        } else {
            self.bytes.extend_from_slice(hashed);
            let digest: [u8; 64] = hex(&Sha256::digest(identity));
            self.bytes.extend_from_slice(&digest);
        }
    }
}

/// Lower-case hex digits of the first `N / 2` bytes.
pub(super) fn hex<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| {
        let nibble = if i % 2 == 0 { bytes[i / 2] >> 4 } else { bytes[i / 2] & 15 };
        b"0123456789abcdef"[usize::from(nibble)]
    })
}
