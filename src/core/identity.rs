//! Who a client is, without saying it: a keyed hash of the address and the day.
//!
//! ```text
//! identity = first 24 hex digits of HMAC-SHA256(key: salt, message: ip '|' UTC date Y-m-d) ':' endpoint
//! ```
//!
//! Any spelling of one address gives one identity.
//!
//! | address | counts as | because |
//! |---|---|---|
//! | IPv4 | itself | |
//! | `::ffff:192.0.2.1`, IPv4-mapped (RFC 4291 2.5.5.2) | 192.0.2.1 | it is that address |
//! | `64:ff9b::192.0.2.1`, NAT64 (RFC 6052 2.1) | 192.0.2.1 | one /64 holds all IPv4 clients |
//! | `2002:c000:201::1`, 6to4 (RFC 3056) | its network | its owner has a /48, as many others have |
//! | `fe80::1%eth0`, with a zone (RFC 4007) | the same without | a zone is where it came in, not who sent it |
//! | any other IPv6 | its network, /64 | a subscriber has a whole /64 (RFC 6177), which is 2^64 addresses |
//! | what is not an address in strict notation | itself | |

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::spelling::{HEX, Spelling};
use super::time::{Micros, utc_date};

/// Hex digits of the hash that an identity keeps: 96 bits.
pub const DIGITS: usize = 24;

/// Below this length, in bytes, a salt is worth a warning.
pub const SHORT_SALT: usize = 16;

/// A key that was made at random. Wiped when dropped.
pub type Key = Zeroizing<[u8; 32]>;

/// A salt, prepared: the two keyed blocks of HMAC are hashed once and not for each identity.
#[derive(Clone)]
pub struct Salt(Hmac<Sha256>);

/// How many leading bits of an IPv6 address make a client, 1 to 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Prefix(u8);

impl Ipv6Prefix {
    /// The network that one subscriber is usually given.
    pub const DEFAULT: Self = Self(64);

    /// `bits` of the address, or `None` where that is not in `1..=128`.
    #[must_use]
    pub fn new(bits: i64) -> Option<Self> {
        u8::try_from(bits).ok().filter(|bits| (1..=128).contains(bits)).map(Self)
    }

    /// The number of bits.
    #[must_use]
    pub fn bits(self) -> u64 {
        u64::from(self.0)
    }

    fn network(self, address: Ipv6Addr) -> Ipv6Addr {
        Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - self.0)))
    }
}

impl Salt {
    /// Prepares `salt`; any length is taken, as HMAC takes any key.
    #[must_use]
    pub fn new(salt: &[u8]) -> Self {
        Self(Hmac::new_from_slice(salt).expect("HMAC takes a key of any length"))
    }

    /// The part of the identity before the colon, for a client ([`hashed_as`]) seen at `now`.
    #[must_use]
    pub fn hash(&self, client: &[u8], now: Micros) -> [u8; DIGITS] {
        let mut mac = self.0.clone();
        mac.update(client);
        mac.update(b"|");
        mac.update(&utc_date(now));
        hex(&mac.finalize().into_bytes())
    }

    /// The whole identity of a client ([`hashed_as`]) seen at `now`, for `endpoint` (any bytes).
    #[must_use]
    pub fn identity(&self, client: &[u8], endpoint: &[u8], now: Micros) -> Vec<u8> {
        [&self.hash(client, now), &b":"[..], endpoint].concat()
    }
}

/// What is hashed for an `ip`: the one spelling of its client, or itself if it is not an address.
pub enum Hashed<'a> {
    /// An address.
    Client(Spelling),
    /// Anything else.
    AsItIs(&'a [u8]),
}

impl Hashed<'_> {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Client(spelling) => spelling.as_bytes(),
            Self::AsItIs(ip) => ip,
        }
    }
}

/// See [`Hashed`].
#[must_use]
pub fn hashed_as(ip: &[u8], prefix: Ipv6Prefix) -> Hashed<'_> {
    match client(ip, prefix) {
        // IPv4 has one strict spelling, so that where there is no colon this is it.
        Some(client) if ip.contains(&b':') => Hashed::Client(spelled(client, prefix)),
        _ => Hashed::AsItIs(ip),
    }
}

/// The address that stands for every address of one client, equal for all of them, or `None` where
/// `ip` is not an address: an IPv6 client is the first address of its network.
#[must_use]
pub fn client(ip: &[u8], prefix: Ipv6Prefix) -> Option<IpAddr> {
    Some(match parse(ip)? {
        IpAddr::V6(address) => IpAddr::V6(prefix.network(address)),
        v4 => v4,
    })
}

/// The one spelling of a [`client`]: what is hashed.
#[must_use]
pub fn spelled(client: IpAddr, prefix: Ipv6Prefix) -> Spelling {
    Spelling::of(client, prefix.0)
}

/// The prefix of NAT64, of 96 bits.
const NAT64: u128 = 0x0064_ff9b << 96;

/// Reads an address in strict notation, one that carries an IPv4 client's as that, a zone left out.
fn parse(ip: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(ip).ok()?;
    if !ip.contains(&b':') {
        return text.parse().ok().map(IpAddr::V4);
    }
    let address: Ipv6Addr = match text.split_once('%') {
        Some((_, "")) => return None,
        Some((address, _)) => address.parse().ok()?,
        None => text.parse().ok()?,
    };
    Some(match address.to_canonical() {
        IpAddr::V6(v6) if v6.to_bits() >> 32 == NAT64 >> 32 => {
            IpAddr::V4(Ipv4Addr::from_bits(v6.to_bits() as u32))
        }
        address => address,
    })
}

fn hex(bytes: &[u8]) -> [u8; DIGITS] {
    let mut digits = [0; DIGITS];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_outside_1_to_128_cannot_be_built() {
        assert!([1, 64, 128].into_iter().all(|bits| Ipv6Prefix::new(bits).is_some()));
        assert!(
            [i64::MIN, -1, 0, 129, 320].into_iter().all(|bits| Ipv6Prefix::new(bits).is_none())
        );
    }

    #[test]
    fn a_zone_is_left_out_and_an_empty_one_is_not_an_address() {
        let client = |ip: &[u8]| client(ip, Ipv6Prefix::DEFAULT);
        assert_eq!(client(b"fe80::1%eth0"), client(b"fe80::1"));
        assert_eq!(client(b"fe80::1%"), None);
        assert_eq!(client(b"192.0.2.1%eth0"), None);
        assert_eq!(client(b"[2001:db8::1]"), None);
        assert_eq!(client(b"\xff"), None);
    }
}
