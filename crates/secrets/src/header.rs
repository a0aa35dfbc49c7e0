//! Secrets in headers: `Authorization`, `Cookie`, `Set-Cookie`, and `Bearer …` anywhere.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::names::Name;
use super::scan::{Finding, Level, SecretKind};
use super::text::{Text, is_token};
use super::value::{is_placeholder, is_random};

/// The length in bytes after which a header ends at the next word boundary.
const MAX_LENGTH: usize = 1024;

/// Schemes followed by a single secret.
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
/// Schemes followed by several parameters.
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

/// Finds the secret in the header whose name starts at `at` and whose value starts at `value_at`.
pub(super) fn find(text: &Text<'_>, at: usize, meaning: Name, value_at: usize) -> Option<Finding> {
    let value_at = value_at + text.run_of(value_at, 16, |byte| b"\\\"'`".contains(&byte));
    let end = end(text, at, value_at);
    let finding = |start: usize, end: usize, level| {
        let is_there = end > start && !is_placeholder(&text.bytes[start..end]);
        is_there.then_some(Finding { start, end, kind: SecretKind::Header, level })
    };
    let value = &text.bytes[value_at..end];
    match meaning {
        Name::Cookie => {
            let equals = memchr::memchr(b'=', value)?;
            (value.len() - equals > 8 && !value[..equals].contains(&b' '))
                .then(|| finding(value_at, end, Level::Sure))?
        }
        Name::SetCookie => {
            let start = value_at + memchr::memchr(b'=', value)? + 1;
            let length = text.run_of(start, end - start, |byte| byte != b';' && !byte.is_ascii_whitespace());
            (length >= 8).then(|| finding(start, start + length, Level::Sure))?
        }
        _ => {
            let scheme = text.run_of(value_at, 32, is_token);
            let lower = text.bytes[value_at..value_at + scheme].to_ascii_lowercase();
            let is = |known: &&str| known.as_bytes() == lower;
            let start = value_at + scheme + text.run_of(value_at + scheme, 8, |byte| byte == b' ');
            let is_followed = text.get(value_at + scheme) == Some(b' ') && start < end;
            let rest = &text.bytes[start.min(end)..end];
            if is_followed && PARTS.iter().any(is) {
                return rest.contains(&b'=').then(|| finding(start, end, Level::Sure))?;
            }
            if is_followed && ONE.iter().any(is) {
                let word = rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
                // `Token token="…"`, or otherwise a single word: prose has more.
                let is_word = word == rest.len() || rest[..word].contains(&b'=');
                let is_odd = rest[..word].iter().any(|byte| !byte.is_ascii_lowercase());
                let is_likely = is_word && word >= 4 || word >= 8 && is_odd;
                let kind = if lower == b"bearer" { SecretKind::Bearer } else { SecretKind::Header };
                return is_likely
                    .then(|| finding(start, end, Level::Sure))
                    .flatten()
                    .map(|found| Finding { kind, ..found });
            }
            let is_one = !value.iter().any(u8::is_ascii_whitespace);
            let is_likely = value.len() >= 8 && value.iter().any(u8::is_ascii_digit) || is_random(value);
            (is_one && is_likely).then(|| finding(value_at, end, Level::Sure))?
        }
    }
}

/// Returns the end of a header's value: the quote that was opened before its name or value, or the end of the
/// line.
fn end(text: &Text<'_>, at: usize, value_at: usize) -> usize {
    let quoted = |at: usize| text.before(at).filter(|byte| b"\"'`".contains(byte));
    let quote = quoted(value_at).or_else(|| quoted(at));
    let length = text.run_of(value_at, MAX_LENGTH, |byte| match quote {
        Some(quote) => byte != quote && byte != b'\n',
        None => byte != b'\n' && byte != b'\'' && (byte == b'"' || !b"`".contains(&byte)),
    });
    // Anything longer is a single word, and all of it is secret.
    let more = if length < MAX_LENGTH {
        0
    } else {
        text.run(value_at + length, |byte| is_token(byte) || b"./+=~%".contains(&byte))
    };
    let mut value = &text.bytes[value_at..value_at + length + more];
    // The end of the line as escaped in JSON, and an escaped quote.
    for mark in [&b"\\n"[..], b"\\r", b"\\\""] {
        if quote.is_none() || mark != b"\\\"" {
            value = memchr::memmem::find(value, mark).map_or(value, |end| &value[..end]);
        }
    }
    if quote.is_none() {
        // In JSON, the surrounding string ends with its quote, unless the quote is one of a pair in this header.
        let quotes = value.iter().filter(|byte| **byte == b'"').count();
        if quotes % 2 == 1 {
            value = memchr::memrchr(b'"', value).map_or(value, |end| &value[..end]);
        }
    }
    let slashes = value.iter().rev().take_while(|byte| **byte == b'\\').count();
    value_at + value[..value.len() - slashes].trim_ascii_end().len()
}

/// Finds `Bearer …`, at the word `Bearer`.
pub(super) fn bearer(text: &Text<'_>, at: usize, end: usize) -> Option<Finding> {
    let is_bearer = text.bytes[at..end].eq_ignore_ascii_case(b"bearer");
    let is_basic = text.bytes[at..end].eq_ignore_ascii_case(b"basic");
    if !(is_bearer || is_basic) || text.get(end) != Some(b' ') {
        return None;
    }
    let start = end + 1;
    let length = text.run(start, |byte| is_token(byte) || b".~+/=".contains(&byte));
    let token = &text.bytes[start..start + length];
    // Prose mentions `Bearer tokens` too. A token is longer than a word or has a digit.
    let likely = if is_bearer {
        length >= 8 && (length >= 20 || token.iter().any(u8::is_ascii_digit))
    } else {
        is_login(token)
    };
    likely.then_some(Finding { start, end: start + length, kind: SecretKind::Bearer, level: Level::Sure })
}

/// Whether `value` is base64 of `user:password`.
pub(super) fn is_login(value: &[u8]) -> bool {
    if value.len() < 8 || value.len() > 1024 {
        return false;
    }
    let plain = STANDARD.decode(value).unwrap_or_default();
    plain.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') && plain.contains(&b':')
}
