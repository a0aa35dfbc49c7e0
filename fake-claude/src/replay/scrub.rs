//! Makes a recording stable and safe to publish, or refuses it.
//!
//! Input: a raw recording and facts about the machine. Output: the same recording with placeholders for ids,
//! times, paths and ports and `[removed]` for secrets. Works on bytes, never on parsed JSON, so that everything
//! else stays unchanged. No placeholder needs escaping in JSON.

mod literal;
mod replacement;
mod suspicious;
mod volatile;

use replacement::Replacement;
use std::path::PathBuf;

use thiserror::Error;

use super::fixture::{Fixture, Run};
use secrets::scan::{Finding, Level, SecretKind, findings};

use literal::Literals;
use secrets::{REMOVED, is_secret};
use sys::error::Hinted;
use volatile::Ids;

/// Facts about the machine and user that made a recording.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// The working folder in every form that may be printed (as given, and with symlinks resolved).
    pub cwd: Vec<PathBuf>,
    /// The home folder in the same forms.
    pub home: Vec<PathBuf>,
    /// The user's name.
    pub user: Option<String>,
    /// The program's whole environment: the values of names like `API_KEY` are secrets.
    pub env: Vec<(String, String)>,
}

/// A secret in a recording that could not be removed.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("recording refused: {stream} line {line}, column {column} contains {what}")]
pub struct Suspicious {
    /// `stdin`, `stdout`, `stderr`, `argv` or `env`.
    pub stream: &'static str,
    /// The line, from 1; for `argv` and `env` the number of the entry.
    pub line: usize,
    /// The byte in that line, from 1, as written by the command.
    pub column: usize,
    /// A description of the secret.
    pub what: &'static str,
}

impl Hinted for Suspicious {
    fn hint(&self) -> Option<String> {
        let hint = "record it again with a made-up value, or with the secret in a variable whose name contains PASSWORD, TOKEN, \
                    SECRET or KEY: such values are removed";
        Some(hint.to_owned())
    }
}

/// Replaces volatile data and secrets in `raw`.
///
/// # Errors
/// Fails if there may be a secret whose full extent is uncertain, such as a private key or a password.
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

/// A scrubbed stream.
#[derive(Default)]
struct Scrubbed {
    bytes: Vec<u8>,
    /// For each replacement: the offset after it, here and in the raw stream.
    origins: Vec<(usize, usize)>,
}

impl Scrubbed {
    /// Converts an offset to one in the raw stream.
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

    fn bytes(&mut self, bytes: &[u8]) -> Scrubbed {
        // A token recognized by its own shape is complete; one recognized by its context may be longer.
        let is_whole = |finding: &Finding| {
            finding.level == Level::Sure && matches!(finding.kind, SecretKind::Key | SecretKind::Bearer)
        };
        let mut keys = findings(bytes).into_iter().filter(is_whole).peekable();
        let mut clean = Scrubbed { bytes: Vec::with_capacity(bytes.len()), origins: Vec::new() };
        let mut at = 0;
        while at < bytes.len() {
            while keys.next_if(|key| key.start < at).is_some() {}
            let key = keys.next_if(|key| key.start == at);
            let found = key
                .and_then(|key| Replacement::new(key.end - key.start, REMOVED))
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
