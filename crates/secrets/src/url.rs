//! Secrets in URLs: `scheme://user:password@host`, and webhooks whose URL itself is the secret.

use super::scan::{Finding, Level, SecretKind};
use super::text::Text;
use super::value::{is_placeholder, is_random};

/// The longest part of a URL before its path, in bytes.
const MAX_LENGTH: usize = 2048;

/// Hosts and paths of webhooks. Everything after them is secret.
const WEBHOOKS: [(&str, &str, usize); 8] = [
    ("hooks.slack.com", "/services/", 16),
    ("hooks.slack.com", "/workflows/", 16),
    ("hooks.slack.com", "/triggers/", 16),
    ("discord.com", "/api/webhooks/", 40),
    ("discordapp.com", "/api/webhooks/", 40),
    (".webhook.office.com", "/webhookb2/", 40),
    ("api.telegram.org", "/bot", 40),
    ("hooks.zapier.com", "/hooks/catch/", 8),
];

/// Finds the secret in the URL whose `://` is at `at`.
pub(super) fn find(text: &Text<'_>, at: usize) -> Option<Finding> {
    if !text.starts(at, b"://") {
        return None;
    }
    let start = at + 3;
    let is_part = |byte: u8| byte.is_ascii_graphic() && !b"\"'`<>\\".contains(&byte) || !byte.is_ascii();
    let length = text.run_of(start, MAX_LENGTH, |byte| is_part(byte) && !b"/?#".contains(&byte));
    let authority = &text.bytes[start..start + length];
    if let Some(finding) = webhook(text, start, length) {
        return Some(finding);
    }
    let finding = |from: usize, to: usize| {
        let value = &text.bytes[from..to];
        // In `$A:$B@` and `{user}:{password}@` each part is a placeholder.
        let is_gap = is_placeholder(value) || value.contains(&b'{') || value.starts_with(b"$");
        (!is_gap).then_some(Finding { start: from, end: to, kind: SecretKind::Login, level: Level::Sure })
    };
    let colon = memchr::memchr(b':', authority);
    let Some(sign) = memchr::memrchr(b'@', authority) else {
        // A password may contain an unescaped slash, unless a port follows the colon.
        let colon = start + colon? + 1;
        let port = &authority[colon - start..];
        if port.iter().all(u8::is_ascii_digit)
            || b"[$%{*".contains(&text.bytes[colon.min(text.bytes.len() - 1)])
        {
            return None;
        }
        let length = text.run_of(colon, 256, |byte| is_part(byte) && byte != b'@');
        let is_login = text.get(colon + length) == Some(b'@')
            && text.get(colon + length + 1).is_some_and(|byte| byte.is_ascii_alphanumeric())
            && memchr::memmem::find(&text.bytes[colon..colon + length], b"://").is_none();
        return is_login.then(|| finding(colon, colon + length))?;
    };
    // The last `@` before whitespace counts if the one before the path is part of the password: `p@ss/w0rd@host`.
    let end = start + length;
    let further = if colon.is_some_and(|colon| colon < sign) && text.get(end) == Some(b'/') {
        let host = &authority[sign + 1..];
        let tail = text.run_of(end, 64, |byte| is_part(byte) && !b"@?#:/".contains(&byte) || byte == b'/');
        let is_host = host.contains(&b'.') || host.contains(&b':') || host == b"localhost";
        (!is_host && text.get(end + tail) == Some(b'@')).then_some(end + tail)
    } else {
        None
    };
    let sign = further.unwrap_or(start + sign);
    match colon.map(|colon| start + colon).filter(|colon| *colon < sign) {
        Some(colon) if colon + 1 < sign => finding(colon + 1, sign),
        Some(_) => None,
        None => is_random(&text.bytes[start..sign]).then(|| finding(start, sign))?,
    }
}

/// Finds the secret part after the path of a webhook.
fn webhook(text: &Text<'_>, start: usize, length: usize) -> Option<Finding> {
    let host = &text.bytes[start..start + length];
    for (known, path, least) in WEBHOOKS {
        if host.ends_with(known.as_bytes()) && text.starts(start + length, path.as_bytes()) {
            let start = start + length + path.len();
            let rest = text
                .run_of(start, MAX_LENGTH, |byte| byte.is_ascii_alphanumeric() || b"-_/@:".contains(&byte));
            // After a bot's token its URL has the method name.
            let rest = if path == "/bot" {
                memchr::memchr(b'/', &text.bytes[start..start + rest]).unwrap_or(rest)
            } else {
                rest
            };
            let finding = Finding { start, end: start + rest, kind: SecretKind::Login, level: Level::Sure };
            return (rest >= least).then_some(finding);
        }
    }
    None
}
