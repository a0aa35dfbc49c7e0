//! What a program prints: the beginning of stdout for the prompt, and the end of everything for messages.

use derun::plain::plain;
use derun::record::Channel;
use secrets::mask;

/// How much of stdout the agent gets, in bytes.
pub(super) const MAX_KEPT: usize = 64 << 10;

/// How much of the end of stdout and stderr is kept, in bytes.
const END: usize = 16 << 10;

/// The output so far; the rest is dropped.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// The first [`MAX_KEPT`] bytes of stdout.
    first: Vec<u8>,
    /// How much of stdout follows these.
    dropped: u64,
    /// The end of stdout.
    stdout_end: Vec<u8>,
    /// The end of stderr.
    stderr_end: Vec<u8>,
}

impl Output {
    /// Adds `bytes`.
    pub(super) fn add(&mut self, channel: Channel, bytes: &[u8]) {
        if channel == Channel::Stdout {
            let room = MAX_KEPT.saturating_sub(self.first.len());
            let (kept, rest) = bytes.split_at(room.min(bytes.len()));
            self.first.extend_from_slice(kept);
            self.dropped += u64::try_from(rest.len()).unwrap_or_default();
            keep_end(&mut self.stdout_end, bytes);
        } else {
            keep_end(&mut self.stderr_end, bytes);
        }
    }

    /// The text for the agent.
    pub(super) fn text(&self) -> String {
        let text = match std::str::from_utf8(&self.first) {
            // The cut may be within a character.
            Err(error) if self.dropped > 0 && error.error_len().is_none() => {
                String::from_utf8_lossy(&self.first[..error.valid_up_to()])
            }
            _ => String::from_utf8_lossy(&self.first),
        };
        let text = text.trim_end();
        match self.dropped {
            0 => text.to_owned(),
            dropped => format!("{text}\n[{dropped} more bytes are left out]"),
        }
    }

    /// The last line of stdout that isn't blank, or else of stderr, without escape codes.
    pub(super) fn last_line(&self) -> String {
        let last = |bytes: &[u8]| {
            let text = plain(bytes);
            text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
        };
        last(&self.stdout_end).or_else(|| last(&self.stderr_end)).unwrap_or_default()
    }

    /// The last lines of both, stderr's after stdout's, at most `most` characters, with secrets masked, without escape
    /// codes.
    pub(super) fn end(&self, most: usize) -> String {
        let [stdout, stderr] = [&self.stdout_end, &self.stderr_end].map(|end| plain(end));
        let text = mask(&format!("{}\n{}", stdout.trim(), stderr.trim()));
        let text = text.trim();
        let surplus = text.chars().count().saturating_sub(most);
        let start = text.char_indices().nth(surplus).map_or(text.len(), |(start, _)| start);
        let (before, cut) = text.split_at(start);
        // Begin with a whole line, if there is one.
        match cut.split_once('\n') {
            Some((_, whole)) if !before.is_empty() && !before.ends_with('\n') => whole.trim().to_owned(),
            _ => cut.trim().to_owned(),
        }
    }
}

/// Appends `bytes` to `kept`, then truncates the front to [`END`] bytes.
fn keep_end(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(&bytes[bytes.len().saturating_sub(END)..]);
    let surplus = kept.len().saturating_sub(END);
    kept.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(chunks: &[(Channel, &[u8])]) -> Output {
        let mut output = Output::default();
        for (channel, bytes) in chunks {
            output.add(*channel, bytes);
        }
        output
    }

    #[test]
    fn the_agent_gets_the_beginning_of_stdout_in_whole_characters() {
        let euros = "€".repeat(MAX_KEPT);
        let output = of(&[(Channel::Stderr, b"noise"), (Channel::Stdout, euros.as_bytes())]);
        let text = output.text();
        let (kept, note) = text.split_once('\n').unwrap();
        assert_eq!(kept, "€".repeat(MAX_KEPT / 3));
        assert_eq!(note, format!("[{} more bytes are left out]", euros.len() - MAX_KEPT));
        assert_eq!(
            of(&[(Channel::Stdout, b"a\n"), (Channel::Stdout, b"\xff b\n\n")]).text(),
            "a\n\u{fffd} b"
        );
    }

    #[test]
    fn the_last_line_is_of_stdout_if_it_has_one() {
        for (stdout, stderr, expected) in [("a\nb\n\n", "c", "b"), (" \n", "c\n d \n", "d"), ("", "", "")] {
            let output = of(&[(Channel::Stdout, stdout.as_bytes()), (Channel::Stderr, stderr.as_bytes())]);
            assert_eq!(output.last_line(), expected, "{stdout:?} {stderr:?}");
        }
    }

    #[test]
    fn people_see_no_escape_codes() {
        let colored = "\x1b[1;31mfailed\x1b[0m \x1b]8;;https://x\x07link\x1b]8;;\x07\x1b(B";
        let output = of(&[(Channel::Stdout, colored.as_bytes()), (Channel::Stderr, b"\x1b[31mwhy\x1b[")]);
        assert_eq!(output.last_line(), "failed link");
        assert_eq!(output.end(100), "failed link\nwhy");
        assert_eq!(of(&[(Channel::Stderr, b"\x1b[31mwhy\x1b[m\r\n")]).last_line(), "why");
    }

    #[test]
    fn the_end_is_cut_at_a_line_if_possible() {
        let output = of(&[(Channel::Stdout, b"first\n"), (Channel::Stderr, b"second\nthird\n")]);
        for (most, expected) in [
            (100, "first\nsecond\nthird"),
            (14, "second\nthird"),
            (12, "second\nthird"),
            (11, "third"),
            (3, "ird"),
            (0, ""),
        ] {
            assert_eq!(output.end(most), expected, "{most}");
        }
        let flood = "x".repeat(3 * END);
        assert_eq!(of(&[(Channel::Stdout, flood.as_bytes())]).end(9), "xxxxxxxxx");
    }
}
