//! The value after a name or an option: where it ends, and whether it is a secret or only a placeholder.

use super::REMOVED;
use super::text::Text;

/// How far the end of a quoted value is looked for, in bytes.
const REACH: usize = 4096;

/// How far escapes in a value without quotes are followed, in bytes.
const ESCAPES: usize = 512;

/// How much of a value is judged, in bytes: what is longer is data.
const JUDGED: usize = 256;

/// A value, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it is quoted.
    pub(super) quoted: bool,
}

impl Value {
    /// The value at `at`, where its opening quote may stand.
    pub(super) fn at(text: &Text<'_>, at: usize) -> Option<Self> {
        let slashes = text.run_of(at, 16, |byte| byte == b'\\');
        let quote = text.get(at + slashes).filter(|byte| b"\"'`".contains(byte));
        if let Some(quote) = quote {
            let start = at + slashes + 1;
            let value = match closing(text, start, quote, slashes) {
                Some(end) => Self { start, end, quoted: true },
                // Truncated: what remains is part of the secret.
                None if text.bytes.len() - start < REACH && !text.bytes[start..].contains(&b'\n') => {
                    Self { start, end: text.bytes.len(), quoted: true }
                }
                None => Self { start, end: start + bare(text, start), quoted: false },
            };
            return (value.end > value.start).then_some(value);
        }
        let length = bare(text, at);
        (length > 0).then_some(Self { start: at, end: at + length, quoted: false })
    }

    /// The value that follows an option or a word that ends at `end`, also in a list: `"-p", "value"`.
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

    /// So much of it as is looked at to tell what it is.
    pub(super) fn judged<'a>(&self, text: &Text<'a>) -> &'a [u8] {
        let bytes = &text.bytes[self.start..self.end.min(self.start + JUDGED)];
        text.look(bytes.len());
        bytes
    }

    /// Whether it is longer than what anybody would write into code.
    pub(super) fn is_data(&self) -> bool {
        self.end - self.start > JUDGED
    }

    pub(super) fn bytes<'a>(&self, text: &Text<'a>) -> &'a [u8] {
        &text.bytes[self.start..self.end]
    }
}

/// Where the quote at `quote`, opened with as many backslashes, closes.
fn closing(text: &Text<'_>, start: usize, quote: u8, slashes: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let end = text.find(at, REACH.saturating_sub(at - start), quote)?;
        let before = text.bytes[start..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        text.look(before);
        if before == slashes || (slashes == 0 && (before % 2 == 0 || quote == b'\'')) {
            return Some(end - before.min(slashes));
        }
        at = end + 1;
    }
}

/// How long a value without quotes is.
fn bare(text: &Text<'_>, at: usize) -> usize {
    let mut end = at;
    loop {
        end += text.bare(end);
        // A backslash is part of it unless it begins an escape of the text around.
        let next = text.get(end + 1);
        let is_part = text.get(end) == Some(b'\\')
            && end > at
            && end - at < ESCAPES
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
    // What is left of an argument of which the secret part was removed stands for it, too.
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
        // `$NAME` and `${NAME}`: of the latter, the value without quotes ends at the brace.
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

/// Whether nothing but `[removed]` and what may stand around a secret is left: `pass:[removed]`, `[removed]\n`.
fn is_rest(value: &[u8], at: usize) -> bool {
    let (before, after) = (&value[..at], &value[at + REMOVED.len()..]);
    let letters = after.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    before.last().is_none_or(|byte| b":=%/".contains(byte)) && letters < 3 && after.len() < 8
}

/// Whether `value` could have come from a generator of keys: long, of letters and digits, and without order.
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
    // Keys go from letters to digits and back wherever they like, words and paths seldom.
    let changes = value.windows(2).filter(|two| {
        two.iter().all(u8::is_ascii_alphanumeric) && two[0].is_ascii_digit() != two[1].is_ascii_digit()
    });
    entropy(value) > 3.4 && changes.count() * 10 >= length
}

/// How many bits a byte of `value` carries.
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

/// Whether `value` is code that says where the secret is, not the secret: `self.password`, `config.token`.
pub(super) fn is_reference(value: &[u8]) -> bool {
    // Of `auth[2]` and `options["password"]`, what stands before.
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

/// Whether `value` names a file, an address or a version.
pub(super) fn is_place(value: &[u8]) -> bool {
    let is_path = |start: &&[u8]| value.starts_with(start);
    let is_version =
        value.iter().all(|byte| byte.is_ascii_digit() || b".-v".contains(byte)) && value.contains(&b'.');
    let begins =
        [&b"/"[..], b"./", b"../", b"~/", b"C:\\", b"file:", b"sha256:", b"sha512:", b"sha512-", b"sha256-"];
    let is_path = begins.iter().any(is_path) && !is_random(value.strip_prefix(b"/").unwrap_or(value));
    is_path || is_version || memchr::memmem::find(value, b"://").is_some()
}
