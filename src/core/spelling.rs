//! An address as text, by hand: the formatting machinery would cost more than the hash of the text.

use std::net::{IpAddr, Ipv4Addr};

/// Digits of numbers to the base 16.
pub(super) const HEX: &[u8; 16] = b"0123456789abcdef";

/// An address as text, on the stack: the longest is 39 digits and colons, and `/127`.
pub struct Spelling {
    bytes: [u8; 48],
    length: usize,
}

impl Spelling {
    /// An address in its canonical text form; an IPv6 one as its network where `prefix` is below 128.
    #[must_use]
    pub fn of(address: IpAddr, prefix: u8) -> Self {
        let mut text = Self { bytes: [0; 48], length: 0 };
        match address {
            IpAddr::V4(address) => text.dotted(address),
            IpAddr::V6(network) => {
                text.groups(network.segments());
                if prefix < 128 {
                    text.push(b'/');
                    text.decimal(prefix);
                }
            }
        }
        text
    }

    /// The text, in ASCII.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Spelling {
    fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    fn dotted(&mut self, address: Ipv4Addr) {
        for (i, byte) in address.octets().into_iter().enumerate() {
            if i > 0 {
                self.push(b'.');
            }
            self.decimal(byte);
        }
    }

    fn decimal(&mut self, number: u8) {
        if number >= 100 {
            self.push(b'0' + number / 100);
        }
        if number >= 10 {
            self.push(b'0' + number / 10 % 10);
        }
        self.push(b'0' + number % 10);
    }

    /// The groups of an IPv6 address as RFC 5952 has them: the first longest run of two or more zeros
    /// is `::`.
    fn groups(&mut self, groups: [u16; 8]) {
        let zeros = |at: usize| groups[at..].iter().take_while(|&&group| group == 0).count();
        let (mut at, mut run) = (8, 1);
        for from in (0..8).filter(|&from| groups[from] == 0) {
            if zeros(from) > run {
                (at, run) = (from, zeros(from));
            }
        }
        let mut next = 0;
        while next < 8 {
            if next == at {
                self.push(b':');
                self.push(b':');
                next += run;
                continue;
            }
            if next > 0 && next != at + run {
                self.push(b':');
            }
            self.hex(groups[next]);
            next += 1;
        }
    }

    fn hex(&mut self, group: u16) {
        let digits = (4 - group.leading_zeros() / 4).max(1);
        for digit in (0..digits).rev() {
            self.push(HEX[usize::from(group >> (4 * digit) & 15)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn addresses_are_spelled_as_the_standard_library_spells_them() {
        let numbers = std::collections::hash_map::RandomState::new();
        let random = |n: u64| std::hash::BuildHasher::hash_one(&numbers, n);
        for n in 0..20_000 {
            let bits = u128::from(random(2 * n)) << 64 | u128::from(random(2 * n + 1));
            // Groups that are zero, or short, as often as not.
            let mask = (0..8).fold(0_u128, |mask, group| {
                let kept = [0, 0, 0xf, 0xffff][(random(n + 77 * group) % 4) as usize];
                mask << 16 | kept
            });
            let v6 = Ipv6Addr::from_bits(bits & mask);
            if v6.to_ipv4_mapped().is_none() {
                assert_eq!(Spelling::of(v6.into(), 128).as_bytes(), v6.to_string().as_bytes());
            }
            let v4 = Ipv4Addr::from_bits(bits as u32 & mask as u32);
            assert_eq!(Spelling::of(v4.into(), 128).as_bytes(), v4.to_string().as_bytes());
        }
    }
}
