//! Private keys with their delimiters: PEM, OpenSSH, PGP, SSH2 and PuTTY.

use super::scan::{Finding, Level, SecretKind};
use super::text::Text;

/// Finds the private key that starts at `at`, up to its end or that of the text.
pub(super) fn find(text: &Text<'_>, at: usize) -> Option<Finding> {
    let rest = &text.bytes[at..];
    let first = rest.strip_prefix(b"-----BEGIN ").or_else(|| rest.strip_prefix(b"---- BEGIN "))?;
    let line = &first[..memchr::memchr(b'\n', &first[..first.len().min(80)]).unwrap_or(first.len().min(80))];
    memchr::memmem::find(line, b"PRIVATE KEY")?;
    text.count(rest.len());
    let mark: &[u8] = if rest.starts_with(b"-----") { b"-----END " } else { b"---- END " };
    let end = memchr::memmem::find(rest, mark).and_then(|end| {
        let dashes = memchr::memmem::find(&rest[end + mark.len()..], &mark[..mark.len() - 5])?;
        let end = end + mark.len() + dashes;
        Some(end + rest[end..].iter().take(5).take_while(|byte| **byte == b'-').count())
    });
    Some(Finding {
        start: at,
        end: at + end.unwrap_or(rest.len()),
        kind: SecretKind::PrivateKey,
        level: Level::Sure,
    })
}

/// Finds the lines of a PuTTY private key, at the word `Private` of `Private-Lines` or `Private-MAC`.
pub(super) fn putty(text: &Text<'_>, at: usize) -> Option<Finding> {
    let is_line_end = |at: usize| {
        let digits = text.run_of(at, 8, |byte| byte.is_ascii_digit());
        let at = at + digits;
        let escaped = text.starts(at, b"\\n") || text.starts(at, b"\\r");
        (digits > 0).then(|| at + if escaped { 2 } else { 1 })
    };
    let lines = b"Private-Lines: ";
    if text.starts(at, lines) {
        let start = is_line_end(at + lines.len())?;
        let rest = text.bytes.get(start..)?;
        text.count(rest.len());
        let length = memchr::memmem::find(rest, b"Private-M").unwrap_or(rest.len());
        let length = rest[..length].trim_ascii_end().len();
        let length = if rest[..length].ends_with(b"\\n") { length - 2 } else { length };
        return (length > 0 && rest[..length] != *super::REMOVED.as_bytes()).then_some(Finding {
            start,
            end: start + length,
            kind: SecretKind::PrivateKey,
            level: Level::Sure,
        });
    }
    let mac = b"Private-MAC: ";
    let start = at + mac.len();
    let length = text.starts(at, mac).then(|| text.run_of(start, 128, |byte| byte.is_ascii_hexdigit()))?;
    (length >= 32).then_some(Finding {
        start,
        end: start + length,
        kind: SecretKind::PrivateKey,
        level: Level::Sure,
    })
}
