//! The scanner: a single pass over a text that finds everything that is or may be a secret.
//!
//! Every byte is examined a bounded number of times, even in hostile text.

use super::options::Call;
use super::shape;
use super::text::{Text, follows_escape, is_word};
use super::{assignment, header, options, private_key, url};

/// The way a secret was recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    /// The shape of a provider's token.
    Key,
    /// `Bearer …`.
    Bearer,
    /// The delimiters of a private key.
    PrivateKey,
    /// A URL with a password.
    Login,
    /// A header's name.
    Header,
    /// The preceding name.
    Assignment,
    /// An option of a program.
    Argument,
}

impl SecretKind {
    /// A description for users.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Key | Self::Bearer => "a possible key",
            Self::PrivateKey => "a private key",
            Self::Login => "a URL with a password",
            Self::Header => "a header with a secret",
            Self::Assignment => "a possible password or token",
            Self::Argument => "a password in a program's arguments",
        }
    }
}

/// The confidence that something is a secret, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It could also be code. Enough to refuse publishing, but not to mask it.
    Doubtful,
    /// It has the shape of a secret.
    Likely,
    /// It is a secret.
    Sure,
}

/// The range of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// The offset of its first byte.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
    /// The way it was recognized.
    pub kind: SecretKind,
    /// The confidence.
    pub level: Level,
}

/// The longest name in bytes. Longer words are data.
const MAX_NAME_LENGTH: usize = 256;

/// Finds all secrets in `bytes`, in order and without overlaps.
#[must_use]
pub fn findings(bytes: &[u8]) -> Vec<Finding> {
    scan(&Text::new(bytes))
}

/// Like [`findings`], for a [`Text`] that counts its work.
pub(super) fn scan(text: &Text<'_>) -> Vec<Finding> {
    let mut scanner = Scanner { text, from: 0, name_end: 0, call: None, findings: Vec::new() };
    let mut at = 0;
    while at < text.bytes.len() {
        at = match scanner.step(at) {
            Step::On(next) => next,
            Step::Found(finding) => {
                // Continue after it in any case.
                let end = finding.end.max(at + 1);
                scanner.from = end;
                scanner.findings.push(finding);
                end
            }
        };
    }
    scanner.findings
}

enum Step {
    On(usize),
    Found(Finding),
}

struct Scanner<'a> {
    text: &'a Text<'a>,
    /// The end of the last secret.
    from: usize,
    /// The end of the last name. Its remaining words are not separate names.
    name_end: usize,
    /// The program that the arguments belong to.
    call: Option<Call>,
    findings: Vec<Finding>,
}

impl Scanner<'_> {
    fn step(&mut self, at: usize) -> Step {
        let text = self.text;
        let byte = text.bytes[at];
        if is_word(byte) {
            return self.word(at);
        }
        let found = match byte {
            b':' => url::find(text, at),
            b'-' => private_key::find(text, at).or_else(|| options::find(text, at, &mut self.call)),
            b'/' => options::slash(text, at),
            b'~' => shape::marked(text, self.from, at.saturating_sub(1))
                .map(|key| of_shape(key.start, key.end, Level::Likely)),
            b'+' => shape::marked(text, self.from, at).map(|key| of_shape(key.start, key.end, Level::Sure)),
            b'\\' => return self.escape(at),
            b'\n' => {
                if text.before(at) != Some(b'\\') {
                    self.call = None;
                }
                None
            }
            _ => None,
        };
        found.map_or(Step::On(at + 1), Step::Found)
    }

    /// Handles `\n` and the like in JSON, which start a new word. In a Windows path the letter does.
    fn escape(&mut self, at: usize) -> Step {
        let text = self.text;
        match text.get(at + 1) {
            Some(b'u') if follows_escape(text.bytes, at + 6) => Step::On(at + 6),
            Some(b'n' | b'r' | b't' | b'b' | b'f') => match shape::find(text, at + 1) {
                Some(end) => Step::Found(of_shape(at + 1, end, Level::Sure)),
                None => Step::On(at + 2),
            },
            _ => Step::On(at + 1),
        }
    }

    fn word(&mut self, at: usize) -> Step {
        let text = self.text;
        if let Some(end) = shape::find(text, at) {
            return Step::Found(of_shape(at, end, Level::Sure));
        }
        let end = at + text.run(at, is_word);
        if let Some(key) = shape::inner(text, self.from, at, end) {
            return Step::Found(of_shape(key.start, key.end, Level::Sure));
        }
        let mut found = header::bearer(text, at, end);
        if found.is_none() && at >= self.name_end {
            let length = text.run_of(at, MAX_NAME_LENGTH, |byte| is_word(byte) || b"-.".contains(&byte));
            let rest = &text.bytes[at..at + length];
            let name = rest.iter().rposition(|byte| is_word(*byte)).map_or(0, |last| last + 1);
            self.name_end = at + length;
            found = private_key::putty(text, at)
                .or_else(|| assignment::find(text, at, at + name))
                .or_else(|| options::word(text, at, at + name, &mut self.call));
        }
        // A token with an unambiguous prefix counts inside a word as well.
        let inside = || {
            let find = |at| shape::find_inside(text, at).map(|end| of_shape(at, end, Level::Likely));
            (at + 1..end).find_map(find)
        };
        let found = found.or_else(inside);
        found.map_or(Step::On(end), Step::Found)
    }
}

fn of_shape(start: usize, end: usize, level: Level) -> Finding {
    Finding { start, end, kind: SecretKind::Key, level }
}
