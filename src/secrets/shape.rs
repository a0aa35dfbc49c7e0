//! The shapes of keys and tokens. What looks like one is removed, whatever it opens.

use super::REMOVED;
use super::text::{Found, is_token, run, starts_word};

/// Beginnings of keys, and how many token characters must follow.
const PREFIXES: [(&str, usize); 17] = [
    ("sk-", 16),
    ("sk_live_", 10),
    ("rk_live_", 10),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("AIza", 30),
    ("npm_", 30),
];

/// The secret that begins at `at`.
pub(crate) fn find(bytes: &[u8], at: usize) -> Option<Found> {
    if !matches!(bytes[at], b's' | b'r' | b'g' | b'A' | b'x' | b'n' | b'e' | b'B' | b'b')
        || !starts_word(bytes, at)
    {
        return None;
    }
    let length = prefixed(bytes, at).or_else(|| web_token(bytes, at));
    if let Some(length) = length {
        return Found::new(length, REMOVED);
    }
    let bearer = bytes.get(at..at + 7)?;
    let length = run(bytes, at + 7, |byte| is_token(byte) || b".~+/=".contains(&byte));
    // Prose speaks of `Bearer tokens` too: a token is longer than a word or has a digit.
    let token = &bytes[at + 7..at + 7 + length];
    let likely = length >= 8 && (length >= 20 || token.iter().any(u8::is_ascii_digit));
    if !bearer.eq_ignore_ascii_case(b"bearer ") || !likely {
        return None;
    }
    Found::new(7 + length, format!("Bearer {REMOVED}"))
}

fn prefixed(bytes: &[u8], at: usize) -> Option<usize> {
    PREFIXES.iter().find_map(|(prefix, least)| {
        let length = run(bytes, at + prefix.len(), is_token);
        (bytes[at..].starts_with(prefix.as_bytes()) && length >= *least).then_some(prefix.len() + length)
    })
}

/// A JSON Web Token: three parts, the first two of which are base64 of `{"`.
fn web_token(bytes: &[u8], at: usize) -> Option<usize> {
    let mut length = 0;
    for part in 0..3 {
        let begins = part == 2 || bytes[at + length..].starts_with(b"eyJ");
        let size = run(bytes, at + length, is_token);
        if !begins || (part < 2 && (size < 10 || bytes.get(at + length + size) != Some(&b'.'))) {
            return None;
        }
        length += size + usize::from(part < 2);
    }
    Some(length)
}

/// Whether a variable's value is a secret, by its name. A short number is not: `MAX_OUTPUT_TOKENS=8000`.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let number = value.len() < 8 && value.bytes().all(|byte| byte.is_ascii_digit());
    !number && ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
}
