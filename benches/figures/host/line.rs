//! Reads lines as simply as possible, and counts the events in them.

use super::live::Seen;
use std::io::Read;

/// How much is read at once, in bytes.
const CHUNK: usize = 256 << 10;

/// The lines of a reader.
#[derive(Debug)]
pub(super) struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    used: usize,
    filled: usize,
    /// How many bytes of lines were returned.
    taken: u64,
    /// The number of the next event.
    next: Option<u64>,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, buffer: vec![0; CHUNK], used: 0, filled: 0, taken: 0, next: None }
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// The next line, without its newline.
    pub(super) fn next(&mut self) -> anyhow::Result<&[u8]> {
        let mut searched = self.used;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.filled]) {
                let (start, end) = (self.used, searched + at);
                self.used = end + 1;
                self.taken += (self.used - start) as u64;
                return Ok(&self.buffer[start..end]);
            }
            self.buffer.copy_within(self.used..self.filled, 0);
            self.filled -= self.used;
            self.used = 0;
            searched = self.filled;
            if self.filled == self.buffer.len() {
                self.buffer.resize(2 * self.filled, 0);
            }
            let count = self.from.read(&mut self.buffer[self.filled..])?;
            anyhow::ensure!(count > 0, "the other end is gone");
            self.filled += count;
        }
    }

    /// Reads up to the line for which `is_last`, or to the one that says that we lag, and counts the
    /// events by their numbers.
    pub(super) fn until(&mut self, is_last: impl Fn(&[u8]) -> bool) -> anyhow::Result<Seen> {
        let mut seen = Seen::default();
        loop {
            let mut next = self.next;
            let line = self.next()?;
            let (offset, is_over) = (offset(line), is_last(line));
            let has_lagged = line.starts_with(br#"{"event_type":"lagged""#);
            seen.lagged = offset.filter(|_| has_lagged);
            if let Some(offset) = offset {
                let is_event = !has_lagged && !line.starts_with(br#"{"event_type":"gap""#);
                seen.events += u64::from(is_event);
                seen.said += u64::from(memchr::memmem::find(line, br#""text":"burst "#).is_some());
                // A gap has its first number; the event after it shows how long it was.
                if is_event {
                    seen.lost += offset.abs_diff(next.unwrap_or(offset));
                    next = Some(offset + 1);
                }
            }
            self.next = next;
            if is_over || has_lagged {
                return Ok(seen);
            }
        }
    }
}

/// The number of the event in `line`, if it is one.
pub(super) fn offset(line: &[u8]) -> Option<u64> {
    const KEY: &[u8] = br#""offset":"#;
    let head = line.starts_with(br#"{"event_type":""#).then(|| &line[..line.len().min(200)])?;
    let digits = &head[memchr::memmem::find(head, KEY)? + KEY.len()..];
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}
