//! What an identity's keys are called. The names are those of the userland classes, so that both
//! can share a budget.

use sha2::{Digest, Sha256};

use crate::core::time::{Micros, utc_date};

/// Longest identity that stands in a key as it is, in bytes; a longer one stands as its SHA-256.
pub const LONGEST_PLAIN: usize = 512;

/// Room for a key with most prefixes and identities, so that it is asked for once, in bytes.
const ROOM: usize = 128;

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

impl Naming {
    /// Writes the key of a log.
    pub(super) fn log(&self, identity: &[u8], into: &mut Vec<u8>) {
        let (plain, hashed): (&[u8], &[u8]) = match self.layout {
            Layout::SortedSet => (b"rl:log:", b"rl:logh:"),
            Layout::List => (b"rl:list:", b"rl:listh:"),
        };
        self.identity(plain, hashed, identity, into);
    }

    /// Writes what a counter's keys begin with; the number of a window ends them.
    pub(super) fn counter(&self, identity: &[u8], into: &mut Vec<u8>) {
        if self.cluster {
            // An identity may itself contain braces, so it cannot stand in a hash tag.
            let digest: [u8; 64] = hex(&Sha256::digest(identity));
            into.clear();
            into.extend_from_slice(&self.prefix);
            into.extend_from_slice(b"rl:cnt:{");
            into.extend_from_slice(&digest[..32]);
            into.push(b'}');
        } else {
            self.identity(b"rl:cnt:", b"rl:cnth:", identity, into);
        }
        into.push(b':');
    }

    /// Writes the key under which hosts share the salt of the day that holds `at`.
    pub(super) fn salt(&self, at: Micros, into: &mut Vec<u8>) {
        into.clear();
        into.extend_from_slice(&self.prefix);
        into.extend_from_slice(b"rl:salt:");
        into.extend_from_slice(&utc_date(at));
    }

    fn identity(&self, plain: &[u8], hashed: &[u8], identity: &[u8], into: &mut Vec<u8>) {
        into.clear();
        into.reserve(ROOM);
        into.extend_from_slice(&self.prefix);
        if identity.len() <= LONGEST_PLAIN {
            into.extend_from_slice(plain);
            into.extend_from_slice(identity);
        } else {
            let digest: [u8; 64] = hex(&Sha256::digest(identity));
            into.extend_from_slice(hashed);
            into.extend_from_slice(&digest);
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
