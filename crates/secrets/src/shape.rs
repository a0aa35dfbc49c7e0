//! Recognizes keys and tokens by their shape, valid or not.

use std::ops::Range;

use super::providers::{PROVIDERS, Provider};
use super::text::{Text, is_token, is_word};

/// The providers in [`PROVIDERS`] whose prefix has a certain first byte.
#[derive(Clone, Copy)]
struct Group {
    start: usize,
    end: usize,
    /// Whether tokens of some of them count anywhere in a word.
    has_anywhere: bool,
}

/// The group of each first byte. Computed by the compiler, because a hook that masks one line has no time for it.
static GROUPS: [Group; 256] = {
    let mut groups = [Group { start: 0, end: 0, has_anywhere: false }; 256];
    let mut at = 0;
    while at < PROVIDERS.len() {
        let group = &mut groups[PROVIDERS[at].prefix.as_bytes()[0] as usize];
        if group.end == 0 {
            group.start = at;
        }
        group.end = at + 1;
        group.has_anywhere |= PROVIDERS[at].anywhere;
        at += 1;
    }
    groups
};

/// Returns the end of the token that starts at `at`, the start of a word.
pub(super) fn find(text: &Text<'_>, at: usize) -> Option<usize> {
    providers(text, at)?.iter().find_map(|provider| token(text, at, provider))
}

/// Returns the end of the token that starts at `at`, inside a word.
pub(super) fn find_inside(text: &Text<'_>, at: usize) -> Option<usize> {
    let group = GROUPS[usize::from(text.get(at)?)];
    if !group.has_anywhere {
        return None;
    }
    providers(text, at)?.iter().filter(|one| one.anywhere).find_map(|provider| token(text, at, provider))
}

/// Returns the providers whose prefix has the first byte that `text` has at `at`.
fn providers(text: &Text<'_>, at: usize) -> Option<&'static [Provider]> {
    let group = GROUPS[usize::from(text.get(at)?)];
    PROVIDERS.get(group.start..group.end)
}

/// Returns the end of `provider`'s token at `at`.
fn token(text: &Text<'_>, at: usize, provider: &Provider) -> Option<usize> {
    if !text.starts(at, provider.prefix.as_bytes()) {
        return None;
    }
    let start = at + provider.prefix.len();
    let end = body(text, start, provider.body)?;
    // A short prefix also starts ordinary words.
    let body_bytes = &text.bytes[start..end];
    let has_digit = body_bytes.iter().any(u8::is_ascii_digit);
    let has_upper = body_bytes.iter().any(u8::is_ascii_uppercase);
    let is_likely = match provider.prefix.len() {
        ..=2 => has_digit,
        3 => has_digit || has_upper,
        _ => true,
    };
    is_likely.then_some(end)
}

/// Returns the end of the part of a token after its prefix, according to `shape`.
fn body(text: &Text<'_>, mut at: usize, shape: &str) -> Option<usize> {
    let mut rest = shape;
    let mut last = Part { alphabet: b'b', least: 0, most: usize::MAX };
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('{') {
            let (part, after) = inner.split_once('}')?;
            last = Part::read(part)?;
            at += last.length(text, at)?;
            rest = after;
        } else {
            let literal = rest.split('{').next().unwrap_or(rest);
            if !text.starts(at, literal.as_bytes()) {
                return None;
            }
            at += literal.len();
            rest = &rest[literal.len()..];
        }
    }
    if last.most == usize::MAX {
        // An open-ended shape takes all token characters.
        return Some(at + if last.alphabet == b'=' { 0 } else { text.run(at, is_word) });
    }
    (last.alphabet == b'=' || !text.get(at).is_some_and(is_word)).then_some(at)
}

/// `b36`, `b20,40` or `b20+`.
struct Part {
    alphabet: u8,
    least: usize,
    most: usize,
}

impl Part {
    fn read(shape: &str) -> Option<Self> {
        let alphabet = *shape.as_bytes().first()?;
        let count = shape.get(1..)?;
        let (least, most) = match count.split_once(',') {
            Some((least, most)) => (least.parse().ok()?, most.parse().ok()?),
            None => match count.strip_suffix('+') {
                Some(least) => (least.parse().ok()?, usize::MAX),
                None => (count.parse().ok()?, count.parse().ok()?),
            },
        };
        Some(Self { alphabet, least, most })
    }

    fn length(&self, text: &Text<'_>, at: usize) -> Option<usize> {
        let length = if self.alphabet == b'w' {
            text.token(at).min(self.most)
        } else {
            text.run_of(at, self.most, |byte| is_in(self.alphabet, byte))
        };
        (length >= self.least).then_some(length)
    }
}

fn is_in(alphabet: u8, byte: u8) -> bool {
    match alphabet {
        b'h' => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        b'd' => byte.is_ascii_digit(),
        b'u' => byte.is_ascii_uppercase() || (b'2'..=b'7').contains(&byte),
        b'U' => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
        b'b' => byte.is_ascii_alphanumeric(),
        b's' => byte.is_ascii_alphanumeric() || b"+/".contains(&byte),
        b'x' => is_token(byte) || byte == b'%',
        b'=' => byte == b'=',
        _ => is_token(byte),
    }
}

/// Finds tokens that are recognized by their middle or end. `word` ends at `end`; the token may start before `at`,
/// but not before `from`.
pub(super) fn inner(text: &Text<'_>, from: usize, at: usize, end: usize) -> Option<Range<usize>> {
    let word = &text.bytes[at..end];
    match word {
        b"atlasv1" => back(text, from, at, 14, b'.', b'b')
            .and_then(|start| Some(start..end + 1 + counted(text, end, b'.', b'w', 50)?)),
        [b'u', b's', digits @ ..] if (1..=2).contains(&digits.len()) && is_digits(digits) => {
            back(text, from, at, 32, b'-', b'h').map(|start| start..end)
        }
        [.., b'N', b'R', b'A', b'L'] if word.len() == 40 => Some(at..end),
        _ if word.len() == 84 && &word[76..80] == b"AZDO" => Some(at..end),
        // A Telegram bot token: a number, then `AA` and the rest.
        _ if (8..=10).contains(&word.len()) && is_digits(word) => {
            let length = counted(text, end, b':', b'w', 35).filter(|length| *length == 35)?;
            text.starts(end, b":AA").then_some(at..end + 1 + length)
        }
        _ => None,
    }
}

/// Finds Azure keys and secrets, which contain a marker: it starts at `at`.
pub(super) fn marked(text: &Text<'_>, from: usize, at: usize) -> Option<Range<usize>> {
    let around = |before: usize, alphabet: u8, after: usize| {
        let start = at.checked_sub(before).filter(|start| *start >= from)?;
        let is_all = text.bytes[start..at].iter().all(|byte| is_in(alphabet, *byte));
        text.count(before);
        let length = text.run_of(at, after + 1, |byte| is_in(b's', byte));
        (is_all && length == after).then_some(start..at + after)
    };
    if text.starts(at, b"Q~") {
        let start = at.checked_sub(4).filter(|start| *start >= from)?;
        let is_one = |byte: u8| is_token(byte) || b".~".contains(&byte);
        let length = text.run(at, is_one);
        let is_all = text.bytes[start..at - 1].iter().all(|byte| is_one(*byte));
        return (is_all && text.bytes[at - 1].is_ascii_digit() && length >= 30).then_some(start..at + length);
    }
    if text.starts(at, b"+ASt") || text.starts(at, b"+ABa") || text.starts(at, b"+AMC") {
        return around(76, b's', 10).map(|key| key.start..key.end + text.run_of(key.end, 2, |b| b == b'='));
    }
    if text.starts(at, b"+ACR") {
        return around(42, b's', 10);
    }
    None
}

/// Returns the start of `most` characters of `alphabet` that precede `at`, separated by one `between`.
fn back(text: &Text<'_>, from: usize, at: usize, most: usize, between: u8, alphabet: u8) -> Option<usize> {
    let start = at.checked_sub(most + 1).filter(|start| *start >= from)?;
    text.count(most);
    let is_all = text.bytes[start..at - 1].iter().all(|byte| is_in(alphabet, *byte));
    (is_all && text.before(at) == Some(between)).then_some(start)
}

/// Counts the characters of `alphabet`, at least `least`, that follow one `between` at `at`.
fn counted(text: &Text<'_>, at: usize, between: u8, alphabet: u8, least: usize) -> Option<usize> {
    let part = Part { alphabet, least, most: usize::MAX };
    (text.get(at) == Some(between)).then(|| part.length(text, at + 1))?
}

fn is_digits(word: &[u8]) -> bool {
    word.iter().all(u8::is_ascii_digit)
}
