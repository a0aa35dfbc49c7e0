//! Lines of an input, none of them longer than it may be.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest line, in bytes. No question needs more than a few hundred.
pub(super) const MAX_LINE: usize = 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A line, without what ends it. The last one needs no end.
    Whole(&'a [u8]),
    /// The beginning of a line that is too long. What is left of it is passed over.
    TooLong,
    /// Nothing: the input is over, or cannot be read.
    End,
}

/// An input, line by line.
pub(super) struct Reader<R> {
    inner: BufReader<R>,
    /// What is read of the line.
    line: Vec<u8>,
    /// Whether that line was given out.
    is_done: bool,
    /// Whether the line was too long, and the rest of it is to come.
    is_passed_over: bool,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { inner: BufReader::new(input), line: Vec::new(), is_done: false, is_passed_over: false }
    }

    /// The next line. Whoever drops this loses nothing: what was read stays for the next call.
    pub(super) async fn line(&mut self) -> Line<'_> {
        if std::mem::take(&mut self.is_done) {
            self.line.clear();
        }
        loop {
            let read = self.inner.fill_buf().await.unwrap_or_default();
            let newline = memchr::memchr(b'\n', read);
            let part = &read[..newline.unwrap_or(read.len())];
            let taken = newline.map_or(read.len(), |at| at + 1);
            let is_end = taken == 0;
            if self.is_passed_over {
                self.is_passed_over = newline.is_none();
            } else if self.line.len() + part.len() > MAX_LINE {
                self.line.clear();
                self.is_passed_over = newline.is_none();
                self.inner.consume(taken);
                return Line::TooLong;
            } else {
                self.line.extend_from_slice(part);
                if newline.is_some() || (is_end && !self.line.is_empty()) {
                    self.is_done = true;
                    self.inner.consume(taken);
                    let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
                    return Line::Whole(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line));
                }
            }
            self.inner.consume(taken);
            if is_end {
                return Line::End;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn lines_come_one_by_one_and_one_that_is_too_long_is_passed_over() {
        let long = |more: usize| vec![b'x'; MAX_LINE + more];
        let input =
            [b"\xef\xbb\xbfa\r\n\nb\n", &long(0)[..], b"\n", &long(1), b"\nc\n", &long(99_999), b"\nd"]
                .concat();
        let mut reader = Reader::new(&input[..]);
        for expected in [b"a", &b""[..], b"b", &long(0)] {
            assert_eq!(reader.line().await, Line::Whole(expected));
        }
        assert_eq!(reader.line().await, Line::TooLong);
        assert_eq!(reader.line().await, Line::Whole(b"c"));
        assert_eq!(reader.line().await, Line::TooLong);
        assert_eq!(reader.line().await, Line::Whole(b"d"));
        assert_eq!(reader.line().await, Line::End);
    }
}
