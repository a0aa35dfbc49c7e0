//! A position in a line of JSON without whitespace. Every method returns `None` for what it might misread.
//!
//! The scanner of agents' output skips what it doesn't know and accepts more than JSON; here, serde decides on such
//! lines.

/// How deep skipped values may be nested.
const DEPTH: u32 = 32;

/// The longest string that is searched word by word, in bytes: for most strings, a call of `memchr` takes longer.
const SHORT: usize = 64;

/// The position.
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte, which is consumed.
    pub(super) fn next(&mut self) -> Option<u8> {
        let (next, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*next)
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// The next `length` bytes, which are consumed.
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// The first letter of the next key.
    pub(super) fn initial(&self) -> Option<u8> {
        self.rest.get(1).copied()
    }

    /// Whether `key`, with its quotes and its colon, is next; then it is consumed.
    pub(super) fn takes<const LENGTH: usize>(&mut self, key: &[u8; LENGTH]) -> bool {
        match self.rest.split_first_chunk() {
            Some((next, rest)) if next == key => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Skips a key of ASCII characters, and its colon.
    pub(super) fn skip_key(&mut self) -> Option<()> {
        self.bytes().filter(|key| key.is_ascii())?;
        self.expect(b':')
    }

    /// A string without escapes.
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let length = plain(self.rest)?;
        let bytes = self.take(length)?;
        self.expect(b'"')?;
        Some(bytes)
    }

    /// The same, if it is UTF-8.
    pub(super) fn string(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// A string without escapes, or null.
    pub(super) fn optional_string(&mut self) -> Option<Option<&'a str>> {
        if self.peek()? == b'n' { self.word(b"null").map(|()| None) } else { self.string().map(Some) }
    }

    /// A whole number of at most 18 digits.
    pub(super) fn whole_number(&mut self) -> Option<u64> {
        let (number, length) = leading_digits(self.rest);
        if !(1..=18).contains(&length) || (length > 1 && self.peek() == Some(b'0')) {
            return None;
        }
        self.take(length)?;
        // serde parses fractions and exponents.
        let ends = self.peek().is_none_or(|next| matches!(next, b',' | b'}'));
        ends.then_some(number)
    }

    /// A number in billionths, if it has up to 6 digits before a point and 9 after it, so that an `f64` would be as
    /// exact; otherwise nothing is consumed.
    pub(super) fn billionths(&mut self) -> Option<u64> {
        let (whole, length) = leading_digits(self.rest);
        let (parts, places) = leading_digits(self.rest.get(length + 1..)?);
        let is_short = (1..=6).contains(&length) && (1..=9).contains(&places);
        let has_zero = length > 1 && self.peek() == Some(b'0');
        let ends = matches!(self.rest.get(length + 1 + places)?, b',' | b'}');
        if !is_short || has_zero || !ends || self.rest.get(length) != Some(&b'.') {
            return None;
        }
        self.take(length + 1 + places)?;
        Some(1_000_000_000 * whole + parts * TENS[9 - places])
    }

    /// A number, or null.
    pub(super) fn optional_number(&mut self) -> Option<Option<f64>> {
        if self.peek()? == b'n' {
            return self.word(b"null").map(|()| None);
        }
        let text = std::str::from_utf8(self.skip()?).ok()?;
        text.parse().ok().filter(|number: &f64| number.is_finite()).map(Some)
    }

    /// Skips a value, and returns it.
    pub(super) fn skip(&mut self) -> Option<&'a [u8]> {
        let start = self.rest;
        self.value(DEPTH)?;
        start.get(..start.len() - self.rest.len())
    }

    fn value(&mut self, depth: u32) -> Option<()> {
        match self.peek()? {
            b'"' => self.skip_string(),
            b'{' => self.members(depth, b'}'),
            b'[' => self.members(depth, b']'),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    /// The members of an object or an array, and its end.
    fn members(&mut self, depth: u32, end: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.next()?;
        if self.peek()? == end {
            return self.expect(end);
        }
        loop {
            if end == b'}' {
                self.skip_string()?;
                self.expect(b':')?;
            }
            self.value(depth)?;
            match self.next()? {
                b',' => {}
                other => return (other == end).then_some(()),
            }
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            let length = plain(self.rest)?;
            self.take(length)?;
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => {}
                _ => return None,
            }
            match self.next()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                // Which ones are valid is not decided here.
                _ => return None,
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        if self.peek()? == b'-' {
            self.next()?;
        }
        let starts_with_zero = self.peek() == Some(b'0');
        if self.digits()? > 1 && starts_with_zero {
            return None;
        }
        if self.peek() == Some(b'.') {
            self.next()?;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.next()?;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.next()?;
            }
            self.digits()?;
        }
        Some(())
    }

    /// Skips digits; returns how many.
    fn digits(&mut self) -> Option<usize> {
        let (_, length) = leading_digits(self.rest);
        self.take(length)?;
        (length > 0).then_some(length)
    }
}

/// Powers of ten.
const TENS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The digits that `bytes` begin with as a number, which may overflow from the 20th on, and how many there are.
fn leading_digits(bytes: &[u8]) -> (u64, usize) {
    let (mut number, mut length) = (0u64, 0);
    for byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (number, length)
}

/// How many bytes come before the first quote, backslash or control character; `None` if there is none.
fn plain(bytes: &[u8]) -> Option<usize> {
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20);
    let (words, rest) = bytes.get(..SHORT).unwrap_or(bytes).as_chunks();
    let mut length = 0;
    for word in words {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(length + found.trailing_zeros() as usize / 8);
        }
        length += 8;
    }
    if bytes.len() <= SHORT {
        return rest.iter().position(is_special).map(|at| length + at);
    }
    let end = SHORT + memchr::memchr2(b'"', b'\\', &bytes[SHORT..])?;
    // Without an early end, so that it is vectorized.
    let has_controls = bytes[SHORT..end].iter().fold(false, |found, byte| found | (*byte < 0x20));
    if has_controls { bytes.iter().position(is_special) } else { Some(end) }
}

/// The highest bit of the first byte that is a quote, a backslash or a control character, and maybe bits of later ones.
const fn specials(bytes: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    // This bit swaps spaces and quotes, so that quotes are the smallest after control characters.
    let swapped = bytes ^ (ONES * (b' ' ^ b'"') as u64);
    let backslashes = bytes ^ (ONES * b'\\' as u64);
    // A byte that is smaller borrows from its highest bit.
    let found =
        (swapped.wrapping_sub(ONES * 0x21) & !swapped) | (backslashes.wrapping_sub(ONES) & !backslashes);
    found & (ONES * 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_special_byte_is_found() {
        for byte in 0..=u8::MAX {
            for length in [0, 1, 7, 8, 20, SHORT - 1, SHORT, SHORT + 1, 3 * SHORT] {
                let is_special = matches!(byte, b'"' | b'\\' | ..0x20);
                let text = [vec![b'a'; length], vec![byte], vec![0xff; length / 2], b"\"".to_vec()].concat();
                let first = if is_special { length } else { text.len() - 1 };
                assert_eq!(plain(&text), Some(first), "{byte} after {length}");
                assert_eq!(plain(&text[..first]), None, "{byte} after {length}");
            }
        }
    }
}
