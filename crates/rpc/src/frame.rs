//! Reads lines from a socket, with a maximum length and a maximum time per line.

use std::io;
use std::time::Duration;
use sys::lines::{LineBuffer, LineRead};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, timeout_at};

/// The longest line that a server accepts, in bytes.
pub const MAX_LINE: usize = 1 << 20;

/// The longest line that a client accepts: an event contains an agent's line of at most 16 MiB, escaped.
pub const MAX_ANSWER_LINE: usize = 128 << 20;

/// How much is read at once.
const CHUNK: usize = 16 << 10;

/// A reader of lines.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    longest: usize,
    /// How long a line may take from its first byte to its last.
    line_timeout: Option<Duration>,
    buffer: LineBuffer,
    begun: Option<Instant>,
}

/// Why reading a line failed.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is too long.
    #[error("a line has more than {0} bytes")]
    Long(usize),
    /// It was not completed in time.
    #[error("a line took longer than {0:?}")]
    Slow(Duration),
    /// The connection broke.
    #[error("cannot read a line")]
    Read(#[source] io::Error),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of at most `longest` bytes. With `line_timeout`, a line that takes longer is an error.
    pub fn new(from: R, longest: usize, line_timeout: Option<Duration>) -> Self {
        Self { from, longest, line_timeout, buffer: LineBuffer::new(longest), begun: None }
    }

    /// The next line without its newline; `None` at the end. An unterminated last line is ignored.
    ///
    /// Cancel safe. After an error there is no next line.
    pub async fn next(&mut self) -> Result<Option<&[u8]>, LineError> {
        loop {
            match self.buffer.find() {
                Some(LineRead::Line) => {
                    self.begun = None;
                    return Ok(Some(self.buffer.line()));
                }
                Some(LineRead::TooLong) => return Err(LineError::Long(self.longest)),
                None => {}
            }
            if !self.more().await? {
                return Ok(None);
            }
        }
    }

    /// Bytes that were read but not returned: data after the last line.
    #[must_use]
    pub fn into_parts(self) -> (R, Vec<u8>) {
        (self.from, self.buffer.rest().to_vec())
    }

    async fn more(&mut self) -> Result<bool, LineError> {
        let space = self.buffer.space();
        let length = space.len();
        space.reserve(CHUNK);
        let reading = self.from.read_buf(space);
        let read = match (self.line_timeout, length) {
            (Some(line_timeout), 1..) => {
                let begun = *self.begun.get_or_insert_with(Instant::now);
                let read = timeout_at(begun + line_timeout, reading).await;
                read.map_err(|_| LineError::Slow(line_timeout))?
            }
            _ => reading.await,
        };
        match read {
            Ok(count) => Ok(count > 0),
            Err(error) => Err(LineError::Read(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test(flavor = "current_thread")]
    async fn lines_are_complete_for_any_chunking() {
        let (mut near, far) = tokio::io::duplex(7);
        let text = b"one\n\ntwo and a half\nthree";
        tokio::spawn(async move {
            for byte in text {
                near.write_all(&[*byte]).await.unwrap();
            }
        });
        let mut lines = Lines::new(far, 100, None);
        for expected in ["one", "", "two and a half"] {
            assert_eq!(lines.next().await.unwrap(), Some(expected.as_bytes()));
        }
        assert_eq!(lines.next().await.unwrap(), None);
        assert_eq!(lines.into_parts().1, b"three");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_oversized_line_is_an_error_and_is_not_buffered() {
        let (mut near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move { while near.write_all(&[b'x'; 1024]).await.is_ok() {} });
        let mut lines = Lines::new(far, 4096, None);
        assert!(matches!(lines.next().await, Err(LineError::Long(4096))));
        assert!(lines.buffer.space().capacity() < 4096 + 4 * CHUNK);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_started_line_times_out() {
        let (mut near, far) = tokio::io::duplex(100);
        let mut lines = Lines::new(far, 100, Some(Duration::ZERO));
        near.write_all(b"whole\nhalf").await.unwrap();
        assert_eq!(lines.next().await.unwrap(), Some(&b"whole"[..]));
        assert!(matches!(lines.next().await, Err(LineError::Slow(Duration::ZERO))));
        // There is no limit before the first byte.
        let (mut near, far) = tokio::io::duplex(100);
        let mut lines = Lines::new(far, 100, Some(Duration::ZERO));
        let late = async {
            tokio::task::yield_now().await;
            near.write_all(b"late\n").await
        };
        let (line, _) = tokio::join!(lines.next(), late);
        assert_eq!(line.unwrap(), Some(&b"late"[..]));
    }
}
