//! Search in `index.jsonl`: its lines are ordered by offset, and most cover about as many bytes, so two probes near the
//! expected place usually find the line; otherwise, each probe halves the rest.

use super::record::Stretch;
use std::fs::File;
use std::io;
use std::ops::Range;
use sys::file;
use sys::lines::{LineBuffer, LineRead};

/// How much is read at once. A line has about 100 bytes.
const BLOCK: usize = 4096;

/// Longer lines are invalid: zeros after a power failure, or another file's content.
const MAX_LINE: usize = 64 * 1024;

/// All stretches of the bytes `from..to`, clipped to that range. Bytes after the last line have its channel and time.
/// Empty if there is no valid line. `part` are the bytes that the index is about, as far as known.
pub(super) fn stretches(index: &File, part: Range<u64>, from: u64, to: u64) -> io::Result<Vec<Stretch>> {
    let length = index.metadata()?.len();
    let mut lines = Lines::new(index, search(index, length, part, from)?, length);
    let mut found: Vec<Stretch> = Vec::new();
    let mut before: Option<Stretch> = None;
    let mut at = from;
    while at < to {
        let Some(next) = lines.next()? else { break };
        if next.end() > at {
            let end = next.end().min(to);
            found.push(Stretch { offset: at, length: end - at, ..next });
            at = end;
        }
        before = Some(next);
    }
    if let Some(last) = found.last_mut() {
        last.length = to - last.offset;
    } else if let Some(before) = before.filter(|_| at < to) {
        found.push(Stretch { offset: at, length: to - at, ..before });
    }
    Ok(found)
}

/// Whether it has a valid line.
pub(super) fn has_lines(index: &File) -> io::Result<bool> {
    Ok(Lines::new(index, 0, index.metadata()?.len()).next()?.is_some())
}

/// The newest complete line.
pub(super) fn last(index: &File) -> io::Result<Option<Stretch>> {
    let length = index.metadata()?.len();
    let mut lines = Lines::new(index, search(index, length, 0..u64::MAX, u64::MAX)?, length);
    let mut last = None;
    while let Some(line) = lines.next()? {
        last = Some(line);
    }
    Ok(last)
}

/// The number of complete lines.
pub(super) fn count(index: &File) -> io::Result<u64> {
    let mut block = vec![0; 64 * 1024];
    let (mut at, mut lines) = (0, 0);
    loop {
        let read = file::read_at(index, &mut block, at)?;
        if read == 0 {
            return Ok(lines);
        }
        lines += memchr::memchr_iter(b'\n', &block[..read]).count() as u64;
        at += read as u64;
    }
}

/// An offset to start reading at, so that the line that covers byte `wanted` is found and few come before it.
fn search(index: &File, length: u64, part: Range<u64>, wanted: u64) -> io::Result<u64> {
    let (mut low, mut high) = (0, length);
    let mut block = [0; 512];
    let mut probe = |at: u64, low: &mut u64, high: &mut u64| -> io::Result<()> {
        let read = file::read_at(index, &mut block, at)?;
        match line_after_break(&block[..read]) {
            Some((skipped, stretch)) if stretch.offset <= wanted && at + (skipped as u64) < *high => {
                *low = at + skipped as u64;
            }
            _ => *high = at,
        }
        Ok(())
    };
    let expected = expected(length, &part, wanted).saturating_sub(BLOCK as u64 / 2);
    for near in [expected, expected.saturating_add(BLOCK as u64)] {
        if high - low > BLOCK as u64 && (low + 1..high).contains(&near) {
            probe(near, &mut low, &mut high)?;
        }
    }
    while high - low > BLOCK as u64 {
        probe(low + (high - low) / 2, &mut low, &mut high)?;
    }
    Ok(low)
}

/// Where the line about byte `wanted` would be if all lines were about equally many bytes.
fn expected(length: u64, part: &Range<u64>, wanted: u64) -> u64 {
    let before = u128::from(wanted.saturating_sub(part.start));
    let all = u128::from(part.end.saturating_sub(part.start)).max(1);
    u64::try_from(u128::from(length) * before / all).unwrap_or(length).min(length)
}

/// The first complete line that starts in `block`, and its position.
fn line_after_break(block: &[u8]) -> Option<(usize, Stretch)> {
    let start = memchr::memchr(b'\n', block)? + 1;
    let end = start + memchr::memchr(b'\n', &block[start..])?;
    Some((start, parse(&block[start..end])?))
}

/// Parses a stretch; `None` for torn or implausible lines.
pub(super) fn parse(line: &[u8]) -> Option<Stretch> {
    let stretch: Stretch = serde_json::from_slice(line).ok()?;
    (stretch.length > 0 && stretch.offset.checked_add(stretch.length).is_some()).then_some(stretch)
}

/// Reads the lines of an index from a position on.
struct Lines<'a> {
    index: &'a File,
    buffer: LineBuffer,
    at: u64,
    length: u64,
}

impl<'a> Lines<'a> {
    fn new(index: &'a File, at: u64, length: u64) -> Self {
        Self { index, buffer: LineBuffer::new(MAX_LINE), at, length }
    }

    fn next(&mut self) -> io::Result<Option<Stretch>> {
        loop {
            while let Some(found) = self.buffer.find() {
                if found == LineRead::Line
                    && let Some(stretch) = parse(self.buffer.line())
                {
                    return Ok(Some(stretch));
                }
            }
            let space = self.buffer.space();
            let room = usize::try_from(self.length.saturating_sub(self.at)).unwrap_or(BLOCK).min(BLOCK);
            let read = file::append_from(self.index, space, self.at, room)?;
            if read == 0 {
                return Ok(None);
            }
            self.at += read as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Channel;
    use super::*;
    use proptest::prelude::*;
    use std::io::{Seek, Write};

    fn index(lines: &[(u64, Channel)]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        let mut offset = 0;
        for (length, channel) in lines {
            let timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
            let stretch = Stretch { offset, length: *length, channel: *channel, timestamp };
            writeln!(file, "{}", serde_json::to_string(&stretch).unwrap()).unwrap();
            offset += length;
        }
        file
    }

    fn channels(stretches: &[Stretch]) -> Vec<(u64, u64, Channel)> {
        stretches.iter().map(|stretch| (stretch.offset, stretch.length, stretch.channel)).collect()
    }

    #[test]
    fn a_torn_line_is_skipped_and_later_bytes_keep_the_last_channel() {
        let mut file = index(&[(3, Channel::Stdout), (4, Channel::Stderr)]);
        write!(file, r#"{{"offset":7,"length":9,"chan"#).unwrap();
        let found = channels(&stretches(&file, 0..12, 1, 12).unwrap());
        assert_eq!(found, [(1, 2, Channel::Stdout), (3, 9, Channel::Stderr)]);
        assert_eq!(last(&file).unwrap().unwrap().offset, 3);
        assert_eq!(count(&file).unwrap(), 2);
        assert_eq!(stretches(&tempfile::tempfile().unwrap(), 0..5, 0, 5).unwrap(), []);
        assert_eq!(
            [file, tempfile::tempfile().unwrap()].map(|file| has_lines(&file).unwrap()),
            [true, false]
        );
    }

    #[test]
    fn an_oversized_line_is_skipped_without_buffering_it() {
        let mut file = index(&[(3, Channel::Stdout)]);
        // A sparse file: reading all of it again for each block would take hours.
        file.set_len(16 << 20).unwrap();
        file.seek(io::SeekFrom::End(0)).unwrap();
        let line = |offset| {
            format!(
                r#"{{"offset":{offset},"length":4,"channel":"stderr","timestamp":"2026-01-01T00:00:00Z"}}"#
            )
        };
        // The first line only ends the oversized one.
        write!(file, "{}\n{}\n", line(3), line(7)).unwrap();
        let found = channels(&stretches(&file, 0..12, 0, 12).unwrap());
        assert_eq!(found, [(0, 3, Channel::Stdout), (3, 9, Channel::Stderr)]);
        assert_eq!(last(&file).unwrap().unwrap().offset, 7);
    }

    proptest! {
        #[test]
        fn any_range_is_found_as_by_a_linear_scan(
            lines in prop::collection::vec((1_u64..50, prop::bool::ANY), 1..400),
            from in 0_u64..4000,
            length in 1_u64..4000,
            end in 0_u64..8000,
        ) {
            let lines: Vec<(u64, Channel)> = lines.into_iter()
                .map(|(length, out)| (length, if out { Channel::Stdout } else { Channel::Stderr }))
                .collect();
            let of = |byte: u64| {
                let mut end = 0;
                lines.iter().find(|(length, _)| { end += length; byte < end }).or(lines.last()).unwrap().1
            };
            let file = index(&lines);
            let found = stretches(&file, 0..end, from, from + length).unwrap();
            let mut at = from;
            for stretch in &found {
                prop_assert_eq!(stretch.offset, at);
                for byte in stretch.offset..stretch.end() {
                    prop_assert_eq!(of(byte), stretch.channel);
                }
                at = stretch.end();
            }
            prop_assert_eq!(at, from + length);
        }
    }
}
