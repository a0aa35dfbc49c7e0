//! Reads lines of bounded length.

use sys::lines::{LineBuffer, LineRead};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The maximum length of a line, in bytes. Requests need a few hundred.
pub(super) const MAX_LINE: usize = 1024 * 1024;

/// How much is read at once, in bytes.
const CHUNK: usize = 8 << 10;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine<'a> {
    /// A line without its line ending, which the last line may lack.
    Whole(&'a [u8]),
    /// The start of a line that is too long; the rest is skipped.
    TooLong,
    /// The end of the input, or a read error.
    End,
}

/// A reader of lines.
pub(super) struct Reader<R> {
    input: R,
    buffer: LineBuffer,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: LineBuffer::new(MAX_LINE) }
    }

    /// The next line. Cancel safe.
    pub(super) async fn line(&mut self) -> InputLine<'_> {
        loop {
            match self.buffer.find() {
                Some(LineRead::Line) => {
                    let line = self.buffer.line();
                    let line = line.strip_suffix(b"\r").unwrap_or(line);
                    return InputLine::Whole(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line));
                }
                Some(LineRead::TooLong) => return InputLine::TooLong,
                None => {}
            }
            let space = self.buffer.space();
            space.reserve(CHUNK);
            if self.input.read_buf(space).await.unwrap_or(0) == 0 {
                if space.is_empty() {
                    return InputLine::End;
                }
                space.push(b'\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn lines_are_read_one_by_one_and_oversized_ones_are_skipped() {
        let long = |more: usize| vec![b'x'; MAX_LINE + more];
        let input =
            [b"\xef\xbb\xbfa\r\n\nb\n", &long(0)[..], b"\n", &long(1), b"\nc\n", &long(99_999), b"\nd"]
                .concat();
        let mut reader = Reader::new(&input[..]);
        for expected in [b"a", &b""[..], b"b", &long(0)] {
            assert_eq!(reader.line().await, InputLine::Whole(expected));
        }
        assert_eq!(reader.line().await, InputLine::TooLong);
        assert_eq!(reader.line().await, InputLine::Whole(b"c"));
        assert_eq!(reader.line().await, InputLine::TooLong);
        assert_eq!(reader.line().await, InputLine::Whole(b"d"));
        assert_eq!(reader.line().await, InputLine::End);
    }
}
