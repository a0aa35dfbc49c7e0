//! Which stretches of a session's output are recorded: bytes of one channel that arrive within a moment are one. Input:
//! the bytes that arrive; output: lines of the index.

use super::super::record::{Channel, Stretch};
use super::Writer;
use jiff::{SignedDuration, Timestamp};
use std::io;

/// A stretch with this many bytes is recorded.
const STRETCH: u64 = 64 * 1024;
/// A stretch this old is recorded.
const AGE: SignedDuration = SignedDuration::from_millis(50);

impl Writer {
    /// Records the last bytes.
    pub(super) fn cover_rest(&mut self) -> io::Result<Option<Stretch>> {
        let (Some((channel, _)), Some(timestamp)) = (self.last, self.uncovered) else { return Ok(None) };
        let stretch = Stretch { offset: self.covered, length: self.end - self.covered, channel, timestamp };
        self.note(&[stretch]);
        self.write(&lines(&[stretch])?, &[])?;
        Ok(Some(stretch))
    }

    /// The stretches to record once the bytes up to `to` arrive at `at`: none, while the last one goes on.
    pub(super) fn arrived(&mut self, channel: Channel, to: u64, at: Timestamp) -> Vec<Stretch> {
        let goes_on = self.last.is_some_and(|(last, since)| {
            last == channel && to - self.covered < STRETCH && is_near(since, at)
        });
        if goes_on {
            self.uncovered.get_or_insert(at);
            return Vec::new();
        }
        self.cover(channel, to, at)
    }

    /// The stretches to record of all bytes up to `to`; those after the end arrive at `at`.
    fn cover(&mut self, channel: Channel, to: u64, at: Timestamp) -> Vec<Stretch> {
        let mut stretches = Vec::with_capacity(2);
        let stretch =
            |from, to, channel, timestamp| Stretch { offset: from, length: to - from, channel, timestamp };
        match (self.last, self.uncovered) {
            (Some((last, _)), Some(since)) if last == channel && is_near(since, at) => {
                stretches.push(stretch(self.covered, to, channel, since));
            }
            (Some((last, _)), Some(since)) => {
                stretches.push(stretch(self.covered, self.end, last, since));
                stretches.push(stretch(self.end, to, channel, at));
            }
            _ => stretches.push(stretch(self.covered, to, channel, at)),
        }
        self.note(&stretches);
        stretches
    }

    /// Notes that the index has `stretches`.
    fn note(&mut self, stretches: &[Stretch]) {
        if let Some(last) = stretches.last() {
            self.covered = last.end();
            self.last = Some((last.channel, last.timestamp));
            self.uncovered = None;
        }
    }
}

/// The lines of the index for `stretches`.
pub(super) fn lines(stretches: &[Stretch]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for stretch in stretches {
        serde_json::to_writer(&mut lines, stretch)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// Whether a stretch may contain bytes of both times. The clock may have been set back between them.
fn is_near(one: Timestamp, other: Timestamp) -> bool {
    other.duration_since(one).abs() < AGE
}
