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
use crate::error::Hinted;
use crate::secrets::scan::{Kind, Level, Place, places};
use crate::secrets::text::Found;
use crate::secrets::{REMOVED, is_secret};
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
#[error("recording refused: {stream} line {line}, column {column} holds {what}")]
pub struct Suspicious {
    /// `stdin`, `stdout`, `stderr`, `argv` or `env`.
    pub stream: &'static str,
    /// The line of it, from 1; for `argv` and `env` the number of the entry.
    pub line: usize,
    /// The byte in that line, from 1, as the command wrote it.
    pub column: usize,
    /// What it looks like.
    pub what: &'static str,
}

impl Hinted for Suspicious {
    fn hint(&self) -> Option<String> {
        let hint = "record it again with a made-up value, or with the secret in a variable whose name holds PASSWORD, TOKEN, \
                    SECRET or KEY: such values are removed";
        Some(hint.to_owned())
    }
}

/// Replaces what must not or need not be kept of `raw`.
///
/// # Errors
/// Something that is a secret or may be one and is not surely all of it, such as a private key or a password.
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
        *value = if is_secret(name, value) { REMOVED.into() } else { scrubber.string(value) };
    }
    for (stream, raw, clean) in
        [("stdin", &raw.stdin, &stdin), ("stdout", &raw.stdout, &stdout), ("stderr", &raw.stderr, &stderr)]
    {
        suspicious::check(stream, raw, clean)?;
    }
    suspicious::check_each("argv", argv.iter())?;
    suspicious::check_words("argv", &raw.run.program, &argv)?;
    suspicious::check_each("env", env.values())?;
    let (stdin, stdout, stderr) = (stdin.bytes, stdout.bytes, stderr.bytes);
    let run = Run { argv, env, cwd: literal::WORKSPACE.into(), ..raw.run.clone() };
    Ok(Fixture { run, stdin, stdout, stderr, times: raw.times.clone() })
}

/// A stream as it is kept.
#[derive(Default)]
struct Clean {
    bytes: Vec<u8>,
    /// After each replacement: a byte here, and the byte there that it stands for.
    origins: Vec<(usize, usize)>,
}

impl Clean {
    /// The byte of the raw stream that stands where `at` does.
    fn origin(&self, at: usize) -> usize {
        let last = self.origins.partition_point(|(here, _)| *here <= at).checked_sub(1);
        last.and_then(|last| self.origins.get(last)).map_or(at, |(here, there)| at - here + there)
    }
}

struct Scrubber {
    literals: Literals,
    ids: Ids,
}

impl Scrubber {
    fn string(&mut self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes()).bytes).into_owned()
    }

    fn bytes(&mut self, bytes: &[u8]) -> Clean {
        // Tokens that are told by themselves are whole; what is told by what stands around it may go on.
        let is_whole =
            |place: &Place| place.level == Level::Sure && matches!(place.kind, Kind::Key | Kind::Bearer);
        let mut keys = places(bytes).into_iter().filter(is_whole).peekable();
        let mut clean = Clean { bytes: Vec::with_capacity(bytes.len()), origins: Vec::new() };
        let mut at = 0;
        while at < bytes.len() {
            while keys.next_if(|key| key.start < at).is_some() {}
            let key = keys.next_if(|key| key.start == at);
            let found = key
                .and_then(|key| Found::new(key.end - key.start, REMOVED))
                .or_else(|| self.literals.find(bytes, at))
                .or_else(|| self.ids.find(bytes, at));
            match found {
                Some(found) => {
                    clean.bytes.extend_from_slice(found.instead.as_bytes());
                    at += found.length;
                    clean.origins.push((clean.bytes.len(), at));
                }
                None => {
                    clean.bytes.push(bytes[at]);
                    at += 1;
                }
            }
        }
        clean
    }
}

#[cfg(test)]
mod tests;
