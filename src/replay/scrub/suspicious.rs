//! The last look: what must not be in a recording and was not recognised well enough to be removed.

use super::Suspicious;
use crate::secrets::REMOVED;
use crate::secrets::text::{is_token, run};

/// Beginnings that mean a key wherever they stand, also inside a longer word.
const ANYWHERE: [(&str, usize); 6] =
    [("sk-ant-", 10), ("ghp_", 36), ("gho_", 36), ("github_pat_", 30), ("xoxb-", 20), ("eyJhbGciOi", 20)];
/// Names whose value is a secret.
const NAMES: [&str; 9] = [
    "password",
    "passwd",
    "secret",
    "api_key",
    "apikey",
    "api-key",
    "access_token",
    "auth_token",
    "accesstoken",
];

/// Refuses a private key block.
pub(super) fn private_key(stream: &'static str, bytes: &[u8]) -> Result<(), Suspicious> {
    for at in memchr::memmem::find_iter(bytes, "PRIVATE KEY") {
        if memchr::memmem::find(&bytes[at.saturating_sub(40)..at], b"-----BEGIN").is_some() {
            return Err(Suspicious { stream, line: line_of(bytes, at), what: "a private key" });
        }
    }
    Ok(())
}

/// Refuses what still looks like a secret.
pub(super) fn check(stream: &'static str, bytes: &[u8]) -> Result<(), Suspicious> {
    let refuse = |at, what| Err(Suspicious { stream, line: line_of(bytes, at), what });
    for (prefix, least) in ANYWHERE {
        for at in memchr::memmem::find_iter(bytes, prefix) {
            if run(bytes, at + prefix.len(), is_token) >= least {
                return refuse(at, "what looks like a key");
            }
        }
    }
    for at in memchr::memmem::find_iter(bytes, "://") {
        if has_login(&bytes[at + 3..]) {
            return refuse(at, "an address with a password");
        }
    }
    let lower = bytes.to_ascii_lowercase();
    for name in NAMES {
        for at in memchr::memmem::find_iter(&lower, name) {
            if has_value(&bytes[at + name.len()..]) {
                return refuse(at, "what looks like a password or token");
            }
        }
    }
    Ok(())
}

/// `user:password@` right after `://`.
fn has_login(rest: &[u8]) -> bool {
    let user = run(rest, 0, |byte| is_token(byte) || byte == b'.');
    if user == 0 || rest.get(user) != Some(&b':') {
        return false;
    }
    let word = run(rest, user + 1, |byte| byte.is_ascii_graphic() && !b"/@\"'`<>{}$\\".contains(&byte));
    word >= 3 && rest.get(user + 1 + word) == Some(&b'@')
}

/// `": "` or `=` and then a long value of letters and digits.
fn has_value(rest: &[u8]) -> bool {
    let quote = run(rest, 0, |byte| b"\\\"' ".contains(&byte));
    if !rest.get(quote).is_some_and(|byte| b":=".contains(byte)) {
        return false;
    }
    let start = quote + 1 + run(rest, quote + 1, |byte| b"\\\"' ".contains(&byte));
    let value = &rest[start..start + run(rest, start, |byte| is_token(byte) || b"+/=.!".contains(&byte))];
    !rest[start..].starts_with(REMOVED.as_bytes())
        && value.len() >= 16
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &bytes[..at]).count() + 1
}
