//! Numbers as decimal digits, without the formatting machinery: it is most of what encoding a
//! command would cost.

/// `00` to `99`: two digits cost one division.
pub(super) const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n as usize] = [b'0' + n / 10, b'0' + n % 10];
        n += 1;
    }
    pairs
};

/// A number in decimal digits.
pub(super) struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    /// A number that may be negative.
    pub(super) fn signed(number: i64) -> Self {
        let mut text = Self::unsigned(number.unsigned_abs());
        if number < 0 {
            text.start -= 1; // i64 has at most 19 digits
            text.digits[text.start] = b'-';
        }
        text
    }

    /// A number that is not negative.
    pub(super) fn unsigned(mut number: u64) -> Self {
        let mut text = Self { digits: [0; 20], start: 20 };
        while number >= 10 {
            text.start -= 2;
            text.digits[text.start..text.start + 2]
                .copy_from_slice(&PAIRS[(number % 100) as usize]);
            number /= 100;
        }
        // What is left is the first digit, or nothing after a pair that was not padded by a zero.
        if number > 0 || text.start == 20 {
            text.start -= 1;
            text.digits[text.start] = b'0' + number as u8;
        }
        text
    }

    /// The digits.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        for number in [0, 1, 9, 10, 99, 100, 101, 999, 1_000, 1 << 53, u64::MAX - 1, u64::MAX] {
            assert_eq!(Decimal::unsigned(number).as_bytes(), number.to_string().as_bytes());
            let number = number as i64;
            assert_eq!(Decimal::signed(number).as_bytes(), number.to_string().as_bytes());
        }
        assert_eq!(Decimal::signed(i64::MIN).as_bytes(), i64::MIN.to_string().as_bytes());
    }
}
