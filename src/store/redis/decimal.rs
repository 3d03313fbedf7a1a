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

/// Room for the length of a string of digits, `$20\r\n`, before them.
const FRONT: usize = 5;
/// Where the digits end.
const END: usize = FRONT + 20;

/// A number in decimal digits, and as a string of a command.
pub(super) struct Decimal {
    text: [u8; END + 2],
    start: usize,
}

impl Decimal {
    /// A number that may be negative.
    pub(super) fn signed(number: i64) -> Self {
        let mut text = Self::unsigned(number.unsigned_abs());
        if number < 0 {
            text.start -= 1; // i64 has at most 19 digits
            text.text[text.start] = b'-';
        }
        text
    }

    /// A number that is not negative.
    pub(super) fn unsigned(mut number: u64) -> Self {
        let mut text = Self { text: [0; END + 2], start: END };
        while number >= 10 {
            text.start -= 2;
            text.text[text.start..text.start + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
            number /= 100;
        }
        // What is left is the first digit, or nothing after a pair that was not padded by a zero.
        if number > 0 || text.start == END {
            text.start -= 1;
            text.text[text.start] = b'0' + number as u8;
        }
        text
    }

    /// The digits.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.text[self.start..END]
    }

    /// The digits as a string of a command.
    pub(super) fn as_part(&mut self) -> &[u8] {
        let [tens, ones] = PAIRS[END - self.start];
        let front = &mut self.text[self.start - FRONT..self.start];
        front.copy_from_slice(&[b'$', tens, ones, b'\r', b'\n']);
        let from = if tens == b'0' {
            front[1] = b'$';
            self.start - FRONT + 1
        } else {
            self.start - FRONT
        };
        self.text[END..].copy_from_slice(b"\r\n");
        &self.text[from..]
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        for number in [0, 1, 9, 10, 99, 100, 101, 999, 1_000, 1 << 53, u64::MAX - 1, u64::MAX] {
            assert_eq!(Decimal::unsigned(number).as_bytes(), number.to_string().as_bytes());
            let part = format!("${}\r\n{number}\r\n", number.to_string().len());
            assert_eq!(Decimal::unsigned(number).as_part(), part.as_bytes());
            let number = number as i64;
            assert_eq!(Decimal::signed(number).as_bytes(), number.to_string().as_bytes());
        }
        assert_eq!(Decimal::signed(i64::MIN).as_bytes(), i64::MIN.to_string().as_bytes());
    }
}
