//! Secrets in headers: `Authorization`, `Cookie`, `Set-Cookie`, and `Bearer …` wherever it stands.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::names::Name;
use super::scan::{Kind, Level, Place};
use super::text::{Text, is_token};
use super::value::{is_placeholder, is_random};

/// How long a header is looked at before the end of a word must do, in bytes.
const REACH: usize = 1024;

/// Schemes that are followed by one secret.
const ONE: &[&str] = &[
    "basic",
    "bearer",
    "token",
    "apikey",
    "api-key",
    "key",
    "ssws",
    "negotiate",
    "ntlm",
    "splunk",
    "geniekey",
    "dpop",
    "oauth2",
    "jwt",
    "sso-key",
    "pat",
];
/// Schemes that are followed by several parts.
const PARTS: &[&str] = &[
    "digest",
    "aws4-hmac-sha256",
    "aws",
    "oauth",
    "hawk",
    "signature",
    "sharedkey",
    "sharedkeylite",
    "sharedaccesssignature",
];

/// The secret of the header whose name begins at `at` and whose value does at `value_at`.
pub(super) fn find(text: &Text<'_>, at: usize, said: Name, value_at: usize) -> Option<Place> {
    let value_at = value_at + text.run_of(value_at, 16, |byte| b"\\\"'`".contains(&byte));
    let end = end(text, at, value_at);
    let place = |start: usize, end: usize, level| {
        let is_there = end > start && !is_placeholder(&text.bytes[start..end]);
        is_there.then_some(Place { start, end, kind: Kind::Header, level })
    };
    let value = &text.bytes[value_at..end];
    match said {
        Name::Cookie => {
            let equals = memchr::memchr(b'=', value)?;
            (value.len() - equals > 8 && !value[..equals].contains(&b' '))
                .then(|| place(value_at, end, Level::Sure))?
        }
        Name::SetCookie => {
            let start = value_at + memchr::memchr(b'=', value)? + 1;
            let length = text.run_of(start, end - start, |byte| byte != b';' && !byte.is_ascii_whitespace());
            (length >= 8).then(|| place(start, start + length, Level::Sure))?
        }
        _ => {
            let scheme = text.run_of(value_at, 32, is_token);
            let lower = text.bytes[value_at..value_at + scheme].to_ascii_lowercase();
            let is = |known: &&str| known.as_bytes() == lower;
            let start = value_at + scheme + text.run_of(value_at + scheme, 8, |byte| byte == b' ');
            let is_followed = text.get(value_at + scheme) == Some(b' ') && start < end;
            let rest = &text.bytes[start.min(end)..end];
            if is_followed && PARTS.iter().any(is) {
                return rest.contains(&b'=').then(|| place(start, end, Level::Sure))?;
            }
            if is_followed && ONE.iter().any(is) {
                let word = rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
                // `Token token="…"`, and otherwise one word: prose has more.
                let is_word = word == rest.len() || rest[..word].contains(&b'=');
                let is_odd = rest[..word].iter().any(|byte| !byte.is_ascii_lowercase());
                let is_likely = is_word && word >= 4 || word >= 8 && is_odd;
                let kind = if lower == b"bearer" { Kind::Bearer } else { Kind::Header };
                return is_likely
                    .then(|| place(start, end, Level::Sure))
                    .flatten()
                    .map(|found| Place { kind, ..found });
            }
            let is_one = !value.iter().any(u8::is_ascii_whitespace);
            let is_likely = value.len() >= 8 && value.iter().any(u8::is_ascii_digit) || is_random(value);
            (is_one && is_likely).then(|| place(value_at, end, Level::Sure))?
        }
    }
}

/// Where the value of a header ends: with the quote that was opened before its name or its value, or with the line.
fn end(text: &Text<'_>, at: usize, value_at: usize) -> usize {
    let quoted = |at: usize| text.before(at).filter(|byte| b"\"'`".contains(byte));
    let quote = quoted(value_at).or_else(|| quoted(at));
    let length = text.run_of(value_at, REACH, |byte| match quote {
        Some(quote) => byte != quote && byte != b'\n',
        None => byte != b'\n' && byte != b'\'' && (byte == b'"' || !b"`".contains(&byte)),
    });
    // What is longer is one long word, the whole of which is secret.
    let more = if length < REACH {
        0
    } else {
        text.run(value_at + length, |byte| is_token(byte) || b"./+=~%".contains(&byte))
    };
    let mut value = &text.bytes[value_at..value_at + length + more];
    // The line's end as JSON has it, and the backslash of a quote in it.
    for mark in [&b"\\n"[..], b"\\r", b"\\\""] {
        if quote.is_none() || mark != b"\\\"" {
            value = memchr::memmem::find(value, mark).map_or(value, |end| &value[..end]);
        }
    }
    if quote.is_none() {
        // Within JSON, the text around ends with its quote, unless it is one of a pair of this header.
        let quotes = value.iter().filter(|byte| **byte == b'"').count();
        if quotes % 2 == 1 {
            value = memchr::memrchr(b'"', value).map_or(value, |end| &value[..end]);
        }
    }
    let slashes = value.iter().rev().take_while(|byte| **byte == b'\\').count();
    value_at + value[..value.len() - slashes].trim_ascii_end().len()
}

/// `Bearer …`, at the word `Bearer`.
pub(super) fn bearer(text: &Text<'_>, at: usize, end: usize) -> Option<Place> {
    let is_bearer = text.bytes[at..end].eq_ignore_ascii_case(b"bearer");
    let is_basic = text.bytes[at..end].eq_ignore_ascii_case(b"basic");
    if !(is_bearer || is_basic) || text.get(end) != Some(b' ') {
        return None;
    }
    let start = end + 1;
    let length = text.run(start, |byte| is_token(byte) || b".~+/=".contains(&byte));
    let token = &text.bytes[start..start + length];
    // Prose speaks of `Bearer tokens` too: a token is longer than a word or has a digit.
    let likely = if is_bearer {
        length >= 8 && (length >= 20 || token.iter().any(u8::is_ascii_digit))
    } else {
        is_login(token)
    };
    likely.then_some(Place { start, end: start + length, kind: Kind::Bearer, level: Level::Sure })
}

/// Whether `value` is `user:password` in base64.
pub(super) fn is_login(value: &[u8]) -> bool {
    if value.len() < 8 || value.len() > 1024 {
        return false;
    }
    let plain = STANDARD.decode(value).unwrap_or_default();
    plain.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') && plain.contains(&b':')
}
