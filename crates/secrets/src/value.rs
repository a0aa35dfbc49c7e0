//! The value after a name or an option: its end, and whether it is a secret or a placeholder.

use super::REMOVED;
use super::text::Text;

/// The limit for finding the end of a quoted value, in bytes.
const MAX_LENGTH: usize = 4096;

/// The limit for following escapes in an unquoted value, in bytes.
const MAX_ESCAPES_LENGTH: usize = 512;

/// The part of a value that is classified, in bytes. Anything longer is data.
const MAX_CLASSIFIED: usize = 256;

/// A value without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it is quoted.
    pub(super) quoted: bool,
}

impl Value {
    /// Reads the value at `at`, where its opening quote may be.
    pub(super) fn at(text: &Text<'_>, at: usize) -> Option<Self> {
        let slashes = text.run_of(at, 16, |byte| byte == b'\\');
        let quote = text.get(at + slashes).filter(|byte| b"\"'`".contains(byte));
        if let Some(quote) = quote {
            let start = at + slashes + 1;
            let value = match closing(text, start, quote, slashes) {
                Some(end) => Self { start, end, quoted: true },
                // Truncated: the rest of the text belongs to the secret.
                None if text.bytes.len() - start < MAX_LENGTH && !text.bytes[start..].contains(&b'\n') => {
                    Self { start, end: text.bytes.len(), quoted: true }
                }
                None => Self { start, end: start + bare(text, start), quoted: false },
            };
            return (value.end > value.start).then_some(value);
        }
        let length = bare(text, at);
        (length > 0).then_some(Self { start: at, end: at + length, quoted: false })
    }

    /// Reads the value after an option or word that ends at `end`, also in a list: `"-p", "value"`.
    pub(super) fn next(text: &Text<'_>, end: usize) -> Option<Self> {
        let gap = text.run_of(end, 24, |byte| b"\\\"', \t".contains(&byte));
        let between = &text.bytes[end..end + gap];
        if between.contains(&b',') {
            let quotes = between.iter().rev().take_while(|byte| b"\\\"'".contains(byte)).count();
            return Self::at(text, end + gap - quotes).filter(|_| quotes > 0);
        }
        let spaces = text.run_of(end, 24, |byte| b" \t".contains(&byte));
        (spaces > 0).then(|| Self::at(text, end + spaces))?
    }

    /// The part of the value that is classified.
    pub(super) fn classified_part<'a>(&self, text: &Text<'a>) -> &'a [u8] {
        let bytes = &text.bytes[self.start..self.end.min(self.start + MAX_CLASSIFIED)];
        text.count(bytes.len());
        bytes
    }

    /// Whether it is longer than anything that people write in code.
    pub(super) fn is_data(&self) -> bool {
        self.end - self.start > MAX_CLASSIFIED
    }

    pub(super) fn bytes<'a>(&self, text: &Text<'a>) -> &'a [u8] {
        &text.bytes[self.start..self.end]
    }
}

/// Finds the closing quote for `quote`, preceded by the same number of backslashes as the opening one.
fn closing(text: &Text<'_>, start: usize, quote: u8, slashes: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let end = text.find(at, MAX_LENGTH.saturating_sub(at - start), quote)?;
        let before = text.bytes[start..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        text.count(before);
        if before == slashes || (slashes == 0 && (before % 2 == 0 || quote == b'\'')) {
            return Some(end - before.min(slashes));
        }
        at = end + 1;
    }
}

/// The length of an unquoted value.
fn bare(text: &Text<'_>, at: usize) -> usize {
    let mut end = at;
    loop {
        end += text.bare(end);
        // A backslash belongs to the value unless it starts an escape of the surrounding text.
        let next = text.get(end + 1);
        let is_part = text.get(end) == Some(b'\\')
            && end > at
            && end - at < MAX_ESCAPES_LENGTH
            && next.is_some_and(|byte| byte.is_ascii_graphic() && !b"nrtbfu\\\"'`/".contains(&byte));
        if !is_part {
            return end - at;
        }
        end += 2;
    }
}

/// Whether `value` is a placeholder: a variable, a gap to fill in, or empty.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"null",
        b"none",
        b"nil",
        b"true",
        b"false",
        b"undefined",
        b"yes",
        b"no",
        b"on",
        b"off",
        b"redacted",
        b"string",
        b"str",
        b"&str",
        b"bool",
        b"boolean",
        b"number",
        b"int",
        b"integer",
        b"float",
        b"object",
        b"any",
        b"unknown",
        b"required",
        b"optional",
        b"bytes",
        b"char",
        b"void",
        b"bearer",
        b"text",
        b"hidden",
        b"include",
        b"omit",
        b"same-origin",
        b"use-credentials",
        b"*const",
        b"*mut",
    ];
    // The rest of an argument whose secret part has been masked.
    if value.is_empty()
        || memchr::memmem::find(value, REMOVED.as_bytes()).is_some_and(|at| is_rest(value, at))
    {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    if WORDS.contains(&&*lower) && !value.iter().all(u8::is_ascii_uppercase) {
        return true;
    }
    let first = value[0];
    let is_name = |name: &[u8]| {
        name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(byte))
    };
    match value {
        // `$NAME` and `${NAME}`; an unquoted value ends at the brace of the latter.
        [b'$'] => true,
        [b'$', b'{' | b'(' | b'[', ..] => true,
        [b'$', rest @ ..] => {
            // `$NAME`, `$1`, `$_POST[…`, `$this->…`
            let end = rest
                .iter()
                .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
                .unwrap_or(rest.len());
            (end == rest.len() || b"[:".contains(&rest[end]) || &rest[end..] == b"-") && end > 0
        }
        [b'%', rest @ .., b'%'] => is_name(rest),
        [b'%', rest @ ..] => rest.len() < 4 || rest.starts_with(b"("),
        [b'@', rest @ .., b'@'] => is_name(rest),
        [b'<', .., b'>'] | [b'{', ..] | [b'`', ..] => true,
        [b'[', .., b']'] => value.iter().all(|byte| byte.is_ascii_alphabetic() || b"[] _-".contains(byte)),
        _ if value.len() > 1 && value.iter().all(|byte| *byte == first) && !first.is_ascii_digit() => true,
        _ if value.iter().all(|byte| b"*.x-_ ".contains(byte)) => true,
        _ => lower.starts_with(b"your-") || lower.starts_with(b"your_") || lower.starts_with(b"..."),
    }
}

/// Whether only `[removed]` and its surroundings are left: `pass:[removed]`, `[removed]\n`.
fn is_rest(value: &[u8], at: usize) -> bool {
    let (before, after) = (&value[..at], &value[at + REMOVED.len()..]);
    let letters = after.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    before.last().is_none_or(|byte| b":=%/".contains(byte)) && letters < 3 && after.len() < 8
}

/// Whether `value` looks generated: long, of letters and digits, and random.
pub(super) fn is_random(value: &[u8]) -> bool {
    let length = value.len();
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_+/=.~%".contains(byte);
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    if !(20..=4096).contains(&length)
        || !value.iter().all(is_key)
        || !has(u8::is_ascii_digit)
        || !has(u8::is_ascii_alphabetic)
    {
        return false;
    }
    let is_hex = value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    if is_hex {
        return length >= 32 && entropy(value) > 2.8;
    }
    // Keys often switch between letters and digits, words and paths seldom do.
    let changes = value.windows(2).filter(|two| {
        two.iter().all(u8::is_ascii_alphanumeric) && two[0].is_ascii_digit() != two[1].is_ascii_digit()
    });
    entropy(value) > 3.4 && changes.count() * 10 >= length
}

/// Entropy of `value` in bits per byte.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let length = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX).max(1));
    let share = |count: &u32| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(share).sum()
}

/// Whether `value`, several words in quotes, is a sentence for people.
pub(super) fn is_prose(value: &[u8]) -> bool {
    const SMALL: &[&str] = &[
        "a", "an", "and", "are", "at", "be", "by", "can", "cannot", "for", "from", "has", "in", "is", "must",
        "not", "of", "on", "or", "the", "to", "was", "with", "your",
    ];
    let Ok(value) = std::str::from_utf8(value) else { return true };
    let words: Vec<&str> = value.split_whitespace().collect();
    let is_plain = |word: &&str| {
        word.chars()
            .all(|one| one.is_alphabetic() || !one.is_ascii() || ",.:;?!'’()-…/{}<>%*\"`_".contains(one))
    };
    words.len() > 1
        && words.iter().all(is_plain)
        && (words[0].starts_with(char::is_uppercase)
            || value.ends_with(['.', '?', '!', ':', '…'])
            || words.iter().any(|word| SMALL.contains(&word.to_lowercase().as_str())))
}

/// Whether `value` is code that refers to a secret: `self.password`, `config.token`.
pub(super) fn is_reference(value: &[u8]) -> bool {
    // For `auth[2]` and `options["password"]`, the part before the bracket.
    let index = memchr::memchr(b'[', value).filter(|at| *at > 0);
    let value = index.map_or(value, |at| &value[..at]);
    let is_path = memchr::memmem::find(value, b"::").is_some()
        || value.starts_with(b"self.")
        || value.starts_with(b"this.");
    let is_name = |part: &[u8]| {
        part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
            && part
                .iter()
                .all(|byte| byte.is_ascii_alphabetic() || *byte == b'_' || (is_path && byte.is_ascii_digit()))
    };
    let value = value.strip_suffix(b"?").or_else(|| value.strip_suffix(b"!")).unwrap_or(value);
    let value = value.strip_prefix(b"*").or_else(|| value.strip_prefix(b"@")).unwrap_or(value);
    let mut parts = value.split(|byte| b".:".contains(byte)).filter(|part| !part.is_empty()).peekable();
    let is_one = value.contains(&b'.') || value.contains(&b':') || index.is_some();
    is_one && parts.peek().is_some() && parts.all(|part| is_name(part.strip_suffix(b"?").unwrap_or(part)))
}

/// Whether `value` is a file name, a URL or a version.
pub(super) fn is_path_or_version(value: &[u8]) -> bool {
    let is_path = |start: &&[u8]| value.starts_with(start);
    let is_version =
        value.iter().all(|byte| byte.is_ascii_digit() || b".-v".contains(byte)) && value.contains(&b'.');
    let begins =
        [&b"/"[..], b"./", b"../", b"~/", b"C:\\", b"file:", b"sha256:", b"sha512:", b"sha512-", b"sha256-"];
    let is_path = begins.iter().any(is_path) && !is_random(value.strip_prefix(b"/").unwrap_or(value));
    is_path || is_version || memchr::memmem::find(value, b"://").is_some()
}
