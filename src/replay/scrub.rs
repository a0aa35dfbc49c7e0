//! Makes a recording stable and safe to publish, or refuses it.
//!
//! In come a raw recording and what is known of the machine it was made on; out goes the same recording with
//! placeholders for ids, times, paths and ports and `[removed]` for secrets. It works on bytes, never on
//! parsed JSON, so that what it does not replace stays as it was; no placeholder needs escaping in JSON.

mod literal;
mod suspicious;
mod volatile;

use std::path::PathBuf;

use thiserror::Error;

use super::fixture::{Fixture, Run};
use crate::secrets::{REMOVED, shape};
use literal::Literals;
use volatile::Ids;

/// What is known of the place a recording was made at.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// The folder the program ran in, in every form that may be printed (as given, with links resolved).
    pub cwd: Vec<PathBuf>,
    /// The home folder, likewise.
    pub home: Vec<PathBuf>,
    /// The user's name.
    pub user: Option<String>,
    /// The whole environment of the program: the values of names like `API_KEY` are secrets.
    pub env: Vec<(String, String)>,
}

/// Something in a recording that must not be published and could not be removed.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("recording refused: {stream} line {line} holds {what}")]
pub struct Suspicious {
    /// `stdin`, `stdout`, `stderr`, `argv` or `env`.
    pub stream: &'static str,
    /// The line of it, from 1; for `argv` and `env` the number of the entry.
    pub line: usize,
    /// What it looks like.
    pub what: &'static str,
}

/// Replaces what must not or need not be kept of `raw`.
///
/// # Errors
/// A private key, or something that still looks like a secret afterwards.
pub fn scrub(raw: &Fixture, identity: &Identity) -> Result<Fixture, Suspicious> {
    for (stream, bytes) in [("stdin", &raw.stdin), ("stdout", &raw.stdout), ("stderr", &raw.stderr)] {
        suspicious::private_key(stream, bytes)?;
    }
    let mut scrubber = Scrubber { literals: Literals::of(identity), ids: Ids::default() };
    let stdin = scrubber.bytes(&raw.stdin);
    let stdout = scrubber.bytes(&raw.stdout);
    let stderr = scrubber.bytes(&raw.stderr);
    let argv: Vec<String> = raw.run.argv.iter().map(|word| scrubber.string(word)).collect();
    let mut env = raw.run.env.clone();
    for (name, value) in &mut env {
        *value = if shape::is_secret(name, value) { REMOVED.into() } else { scrubber.string(value) };
    }
    for (stream, bytes) in [("stdin", &stdin), ("stdout", &stdout), ("stderr", &stderr)] {
        suspicious::check(stream, bytes)?;
    }
    check_each("argv", &argv)?;
    check_each("env", env.values())?;
    let run = Run { argv, env, cwd: literal::WORKSPACE.into(), ..raw.run.clone() };
    Ok(Fixture { run, stdin, stdout, stderr, times: raw.times.clone() })
}

fn check_each<'a>(
    stream: &'static str,
    words: impl IntoIterator<Item = &'a String>,
) -> Result<(), Suspicious> {
    for (index, word) in words.into_iter().enumerate() {
        let at = |found: Suspicious| Suspicious { line: index + 1, ..found };
        suspicious::private_key(stream, word.as_bytes()).map_err(at)?;
        suspicious::check(stream, word.as_bytes()).map_err(at)?;
    }
    Ok(())
}

struct Scrubber {
    literals: Literals,
    ids: Ids,
}

impl Scrubber {
    fn string(&mut self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    fn bytes(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            let found = shape::find(bytes, at)
                .or_else(|| self.literals.find(bytes, at))
                .or_else(|| self.ids.find(bytes, at));
            match found {
                Some(found) => {
                    out.extend_from_slice(found.instead.as_bytes());
                    at += found.length;
                }
                None => {
                    out.push(bytes[at]);
                    at += 1;
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests;
