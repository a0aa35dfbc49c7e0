//! Splits bytes into lines of a bounded length. Does no I/O: its user reads into [`LineBuffer::space`].
//!
//! Not tokio-util's `LinesCodec`: it takes only UTF-8, and half of the readers here are not asynchronous.

/// The capacity to keep from one line to the next, in bytes.
const KEPT: usize = 64 << 10;

/// Bytes that arrive in pieces, as lines.
#[derive(Debug)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    longest: usize,
    /// The line found last, from its first byte to its newline.
    found: std::ops::Range<usize>,
    /// How many of the bytes belong to lines that were found before.
    used: usize,
    /// How many of the bytes have been searched for a newline.
    searched: usize,
    /// Whether the rest of a line that is too long is being skipped.
    is_skipping: bool,
}

/// What [`LineBuffer::find`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRead {
    /// A line; [`LineBuffer::line`] returns it.
    Line,
    /// A line that is too long. The rest of it is skipped.
    TooLong,
}

impl LineBuffer {
    /// Creates a buffer for lines of at most `longest` bytes, not counting the newline.
    #[must_use]
    pub fn new(longest: usize) -> Self {
        Self { bytes: Vec::new(), longest, found: 0..0, used: 0, searched: 0, is_skipping: false }
    }

    /// Finds the next line. Returns `None` if more bytes are needed.
    pub fn find(&mut self) -> Option<LineRead> {
        loop {
            let newline = memchr::memchr(b'\n', &self.bytes[self.searched..]);
            let end = newline.map_or(self.bytes.len(), |at| self.searched + at);
            let line = self.used..end;
            self.searched = newline.map_or(end, |_| end + 1);
            if self.is_skipping {
                self.is_skipping = newline.is_none();
                self.used = self.searched;
                newline?;
            } else if line.len() > self.longest {
                self.is_skipping = newline.is_none();
                self.used = self.searched;
                return Some(LineRead::TooLong);
            } else {
                newline?;
                self.used = self.searched;
                self.found = line;
                return Some(LineRead::Line);
            }
        }
    }

    /// Returns the line found last, without its newline.
    #[must_use]
    pub fn line(&self) -> &[u8] {
        &self.bytes[self.found.clone()]
    }

    /// Forgets the lines found so far and returns the buffer to append to.
    pub fn space(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.used);
        self.searched -= self.used;
        (self.used, self.found) = (0, 0..0);
        if self.bytes.is_empty() {
            self.bytes.shrink_to(KEPT);
        }
        &mut self.bytes
    }

    /// Returns the bytes after the last line: the beginning of the next one.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.used..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines in `text`, fed in pieces of `size` bytes, where `longest` is 4; `!` for one that is too long.
    fn lines(text: &[u8], size: usize) -> (Vec<String>, String) {
        let (mut buffer, mut lines) = (LineBuffer::new(4), Vec::new());
        for piece in text.chunks(size) {
            buffer.space().extend_from_slice(piece);
            while let Some(found) = buffer.find() {
                lines.push(match found {
                    LineRead::Line => String::from_utf8(buffer.line().to_vec()).unwrap(),
                    LineRead::TooLong => "!".to_owned(),
                });
            }
        }
        (lines, String::from_utf8(buffer.rest().to_vec()).unwrap())
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = b"one\n\n1234\n12345\n1234567890\nab\nrest";
        for size in 1..=text.len() {
            let (lines, rest) = lines(text, size);
            assert_eq!((lines.join("|"), rest.as_str()), ("one||1234|!|!|ab".to_owned(), "rest"), "{size}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_takes_no_more_room() {
        let mut buffer = LineBuffer::new(4096);
        for _ in 0..1000 {
            buffer.space().extend_from_slice(&[b'x'; 1024]);
            buffer.find();
        }
        assert!(buffer.bytes.capacity() < 2 * KEPT, "{}", buffer.bytes.capacity());
        assert_eq!(buffer.find(), None);
    }
}
