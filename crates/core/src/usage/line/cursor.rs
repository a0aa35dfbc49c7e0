//! A position in a line of JSON without whitespace. Every method returns `None` for what it might misread.
//!
//! The scanner of agents' output skips what it doesn't know and accepts more than JSON; here, serde decides on such
//! lines.

/// How deep skipped values may be nested.
const DEPTH: u32 = 32;

/// The position.
pub(super) struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.line.len()
    }

    /// The next byte, which is consumed.
    pub(super) fn next(&mut self) -> Option<u8> {
        let next = *self.line.get(self.at)?;
        self.at += 1;
        Some(next)
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// A key and its colon.
    pub(super) fn key(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let rest = self.line.get(self.at..)?;
        // Keys are short and have only letters.
        let length = rest.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
        self.at += length;
        self.expect(b'"')?;
        self.expect(b':')?;
        rest.get(..length)
    }

    /// A string without escapes.
    pub(super) fn string(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        let rest = self.line.get(self.at..)?;
        let length = memchr::memchr2(b'"', b'\\', rest)?;
        self.at += length;
        self.expect(b'"')?;
        let bytes = rest.get(..length)?;
        if has_controls(bytes) {
            return None;
        }
        std::str::from_utf8(bytes).ok()
    }

    /// A string without escapes, or null.
    pub(super) fn optional_string(&mut self) -> Option<Option<&'a str>> {
        if self.peek()? == b'n' { self.word(b"null").map(|()| None) } else { self.string().map(Some) }
    }

    /// A whole number of at most 18 digits.
    pub(super) fn whole_number(&mut self) -> Option<u64> {
        let start = self.at;
        let mut number = 0u64;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            if self.at - start >= 18 {
                return None;
            }
            number = 10 * number + u64::from(digit - b'0');
            self.at += 1;
        }
        let has_zero = self.line.get(start) == Some(&b'0') && self.at - start > 1;
        // serde parses fractions and exponents.
        let ends = self.peek().is_none_or(|next| matches!(next, b',' | b'}'));
        (self.at > start && !has_zero && ends).then_some(number)
    }

    /// A number, or null.
    pub(super) fn optional_number(&mut self) -> Option<Option<f64>> {
        if self.peek()? == b'n' {
            return self.word(b"null").map(|()| None);
        }
        let start = self.at;
        self.number()?;
        let text = std::str::from_utf8(self.line.get(start..self.at)?).ok()?;
        text.parse().ok().filter(|number: &f64| number.is_finite()).map(Some)
    }

    /// Skips a value, and returns it.
    pub(super) fn skip(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        self.value(DEPTH)?;
        self.line.get(start..self.at)
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
        self.at += 1;
        if self.peek()? == end {
            self.at += 1;
            return Some(());
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
            let rest = self.line.get(self.at..)?;
            let length = memchr::memchr2(b'"', b'\\', rest)?;
            if has_controls(rest.get(..length)?) {
                return None;
            }
            self.at += length;
            if self.next()? == b'"' {
                return Some(());
            }
            match self.next()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                // Which ones are valid is not decided here.
                _ => return None,
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        let end = self.at + word.len();
        (self.line.get(self.at..end)? == word).then(|| self.at = end)
    }

    fn number(&mut self) -> Option<()> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        let start = self.at;
        self.digits()?;
        if self.line.get(start) == Some(&b'0') && self.at - start > 1 {
            return None;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

/// Whether there are control characters, which strings must escape. Without an early end, so that it is vectorized.
fn has_controls(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |found, byte| found | (*byte < 0x20))
}
