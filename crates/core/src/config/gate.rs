//! `when`, `verify` and `gates`: what decides whether a beat starts its agent, whether its success counts, and whether
//! a HEARTBEAT.md may define either.
//!
//! One value is a program, a list of a program and its arguments, or an object. A list of objects is several.

mod patterns;
#[cfg(test)]
mod tests;
mod written;

use super::approval::Choice;
use super::interval::Interval;
use super::limit::{MAX_TIME, Notices};
use serde::{Deserialize, Serialize};
use std::fmt;
use sys::error::Failure;
use sys::{failure, shell};

pub use patterns::Patterns;

/// The default time limit of a gate.
const GATE_TIMEOUT: Interval = Interval::from_secs(30).unwrap();
/// The default time limit of a verifier.
const VERIFIER_TIMEOUT: Interval = Interval::from_secs(300).unwrap();

/// A program and its arguments, run without a shell. A program with a slash is relative to the workspace; any other is
/// on the PATH. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argv(Box<[Box<str>]>);

impl Argv {
    /// The program.
    #[must_use]
    pub fn program(&self) -> &str {
        self.0.first().map_or("", |program| program)
    }

    /// Its arguments.
    #[must_use]
    pub fn args(&self) -> &[Box<str>] {
        self.0.get(1..).unwrap_or_default()
    }
}

impl fmt::Display for Argv {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(|word| shell::word(&**word)).collect();
        out.write_str(&words.join(" "))
    }
}

/// What a gate looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Condition {
    /// A program's exit code.
    Run(Argv),
    /// Files in the workspace, by paths and globs.
    Changed(Box<[Box<str>]>),
    /// The repository's HEAD.
    NewCommits,
    /// A page.
    Url(Box<str>),
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(argv) => argv.fmt(out),
            Self::Changed(paths) => write!(out, "changed {}", paths.join(", ")),
            Self::NewCommits => out.write_str("git new-commits"),
            Self::Url(url) => write!(out, "url {url}"),
        }
    }
}

/// A condition without which a beat doesn't start its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The condition.
    pub condition: Condition,
    /// Its time limit.
    pub timeout: Interval,
}

/// A program that must succeed for a beat's success to count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verifier {
    /// The program.
    pub argv: Argv,
    /// Its time limit.
    pub timeout: Interval,
}

impl fmt::Display for Verifier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.argv.fmt(out)
    }
}

/// The value of `when`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct When(pub Box<[Gate]>);

/// The value of `verify`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verify(pub Box<[Verifier]>);

/// Who may define gates and verifiers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GateSource {
    /// Only config.json.
    #[default]
    Config,
    /// HEARTBEAT.md, too, which agents can edit.
    Workspace,
}

impl Choice for GateSource {
    const WORDS: &'static [(&'static str, Self)] =
        &[("config", Self::Config), ("workspace", Self::Workspace)];
    const ABOUT: &'static str =
        "Who may define when and verify: config.json alone, or each HEARTBEAT.md as well (workspace).";
    const ACCEPTED: &'static str = "write \"config\" or \"workspace\"";
}

/// The gates of one file, or of a heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates {
    /// What must hold before an agent starts.
    pub when: When,
    /// What must succeed after a beat that reports success.
    pub verify: Verify,
}

impl Gates {
    /// Adds what a HEARTBEAT.md defines to what config.json defines. The result is stricter than either, but it runs
    /// the programs that the agent chooses, so the user must allow it.
    pub(super) fn joined(
        &self,
        front: &Self,
        source: GateSource,
        notices: &mut Notices,
    ) -> Result<Self, Failure> {
        let defined = [("when", !front.when.0.is_empty()), ("verify", !front.verify.0.is_empty())];
        if let (GateSource::Config, Some((key, _))) = (source, defined.iter().find(|(_, given)| *given)) {
            return Err(failure!(
                "{key} in HEARTBEAT.md is not allowed by config.json";
                "add \"gates\": \"workspace\" to the workspace in config.json, or move {key} there"
            ));
        }
        let mut within = |key, timeout| {
            notices.lower(key, None, Some(timeout), MAX_TIME).map_or(timeout, |sourced| sourced.value)
        };
        let mut when = self.when.0.to_vec();
        for gate in &front.when.0 {
            when.push(Gate { timeout: within("when", gate.timeout), ..gate.clone() });
        }
        let mut verify = self.verify.0.to_vec();
        for verifier in &front.verify.0 {
            verify.push(Verifier { timeout: within("verify", verifier.timeout), ..verifier.clone() });
        }
        Ok(Self { when: When(when.into()), verify: Verify(verify.into()) })
    }
}
