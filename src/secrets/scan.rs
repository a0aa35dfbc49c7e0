//! One look over a text, from its beginning to its end, for everything that is a secret or may be one.
//!
//! Every byte is examined a bounded number of times, also in hostile text.

use super::options::Call;
use super::shape::{self, Shapes};
use super::text::{Text, follows_escape, is_word};
use super::{assignment, header, login, options, private_key};

/// How a secret was recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The shape of a provider's token.
    Key,
    /// `Bearer …`.
    Bearer,
    /// The frame of a private key.
    PrivateKey,
    /// An address.
    Login,
    /// A header's name.
    Header,
    /// The name before it.
    Assignment,
    /// A program's option.
    Argument,
}

impl Kind {
    /// What it is, for people.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Key | Self::Bearer => "what looks like a key",
            Self::PrivateKey => "a private key",
            Self::Login => "an address with a password",
            Self::Header => "a header with a secret",
            Self::Assignment => "what looks like a password or token",
            Self::Argument => "a password among a program's arguments",
        }
    }
}

/// How sure it is that something is a secret, the least sure first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// It may as well be code: nothing to publish, but nothing to take out either.
    Doubtful,
    /// By its shape alone.
    Likely,
    /// It is one.
    Sure,
}

/// Where a secret is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its first byte.
    pub(crate) start: usize,
    /// The byte after its last.
    pub(crate) end: usize,
    /// How it was recognized.
    pub(crate) kind: Kind,
    /// How sure that is.
    pub(crate) level: Level,
}

/// Names are at most this long, in bytes; longer ones are data.
const LONGEST_NAME: usize = 256;

/// All secrets in `bytes`, in their order and apart from each other.
pub(crate) fn places(bytes: &[u8]) -> Vec<Place> {
    scan(&Text::new(bytes))
}

/// Likewise, of a text that counts.
pub(super) fn scan(text: &Text<'_>) -> Vec<Place> {
    let mut scanner =
        Scanner { text, shapes: Shapes::new(), from: 0, name_end: 0, call: None, places: Vec::new() };
    let mut at = 0;
    while at < text.bytes.len() {
        at = match scanner.step(at) {
            Step::On(next) => next,
            Step::Found(place) => {
                // Whatever it is, what comes next begins after it.
                let end = place.end.max(at + 1);
                scanner.from = end;
                scanner.places.push(place);
                end
            }
        };
    }
    scanner.places
}

enum Step {
    On(usize),
    Found(Place),
}

struct Scanner<'a> {
    text: &'a Text<'a>,
    shapes: Shapes,
    /// Where the last place ends.
    from: usize,
    /// Where the last name ends: its later words are no names of their own.
    name_end: usize,
    /// The program that the arguments belong to.
    call: Option<Call>,
    places: Vec<Place>,
}

impl Scanner<'_> {
    fn step(&mut self, at: usize) -> Step {
        let text = self.text;
        let byte = text.bytes[at];
        if is_word(byte) {
            return self.word(at);
        }
        let found = match byte {
            b':' => login::find(text, at),
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

    /// `\n` and the like, in JSON: what follows begins a word. In a path of Windows, the letter does.
    fn escape(&mut self, at: usize) -> Step {
        let text = self.text;
        match text.get(at + 1) {
            Some(b'u') if follows_escape(text.bytes, at + 6) => Step::On(at + 6),
            Some(b'n' | b'r' | b't' | b'b' | b'f') => match self.shapes.find(text, at + 1) {
                Some(end) => Step::Found(of_shape(at + 1, end, Level::Sure)),
                None => Step::On(at + 2),
            },
            _ => Step::On(at + 1),
        }
    }

    fn word(&mut self, at: usize) -> Step {
        let text = self.text;
        if let Some(end) = self.shapes.find(text, at) {
            return Step::Found(of_shape(at, end, Level::Sure));
        }
        let end = at + text.run(at, is_word);
        if let Some(key) = shape::inner(text, self.from, at, end) {
            return Step::Found(of_shape(key.start, key.end, Level::Sure));
        }
        let mut found = header::bearer(text, at, end);
        if found.is_none() && at >= self.name_end {
            let length = text.run_of(at, LONGEST_NAME, |byte| is_word(byte) || b"-.".contains(&byte));
            let rest = &text.bytes[at..at + length];
            let name = rest.iter().rposition(|byte| is_word(*byte)).map_or(0, |last| last + 1);
            self.name_end = at + length;
            found = private_key::putty(text, at)
                .or_else(|| assignment::find(text, at, at + name))
                .or_else(|| options::word(text, at, at + name, &mut self.call));
        }
        // A token whose beginning is that of no other word counts inside of words, too.
        let inside = || {
            let find = |at| self.shapes.find_inside(text, at).map(|end| of_shape(at, end, Level::Likely));
            (at + 1..end).find_map(find)
        };
        let found = found.or_else(inside);
        found.map_or(Step::On(end), Step::Found)
    }
}

fn of_shape(start: usize, end: usize, level: Level) -> Place {
    Place { start, end, kind: Kind::Key, level }
}
