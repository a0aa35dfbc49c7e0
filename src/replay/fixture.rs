//! One recorded run, format version 1: what ran, what it read and wrote, when, and how it ended.
//!
//! In come the five files of a fixture as bytes; out goes a `Fixture`, or an error that names the file.
//! `folder` reads and writes them on disk. This file knows nothing of the agent's protocol.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The format this program reads and writes.
pub const FORMAT: u32 = 1;

/// How a run ended: `{"code":0}` or `{"signal":9}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// It exited with this code.
    Code(i32),
    /// A signal of this number killed it.
    Signal(i32),
}

impl End {
    /// The code a shell would give: the child's own, or 128 + signal.
    #[must_use]
    pub fn shell_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// `run.json`: what ran and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Always [`FORMAT`].
    pub format: u32,
    /// The file name of the program, `claude`.
    pub program: String,
    /// What `program --version` printed.
    pub version: String,
    /// The arguments after the program's name.
    pub argv: Vec<String>,
    /// The folder it ran in, scrubbed: `/workspace`.
    pub cwd: String,
    /// The variables that may have mattered.
    pub env: BTreeMap<String, String>,
    /// How it ended.
    pub end: End,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
}

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixture {
    /// What ran and how it ended.
    pub run: Run,
    /// What it was given to read.
    pub stdin: Vec<u8>,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained.
    pub stderr: Vec<u8>,
    /// For each line of `stdout`, the milliseconds from the start until its end arrived.
    pub times: Vec<u64>,
}

/// The five files of a fixture, for one that is embedded in a program.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// `run.json`.
    pub run: &'a [u8],
    /// `stdin`.
    pub stdin: &'a [u8],
    /// `stdout`.
    pub stdout: &'a [u8],
    /// `stderr`.
    pub stderr: &'a [u8],
    /// `times`.
    pub times: &'a [u8],
}

/// Why a fixture cannot be read or written.
#[derive(Debug, Error)]
pub enum FixtureError {
    /// A file or folder of it cannot be read.
    #[error("cannot read fixture: {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file or folder of it cannot be written.
    #[error("cannot write fixture: {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Another version of the format.
    #[error("unknown fixture format {found} (this program reads {FORMAT}): {}", path.display())]
    Format {
        /// The file that says so.
        path: PathBuf,
        /// The version it names.
        found: u64,
    },
    /// `run.json` is not what it should be.
    #[error("not a fixture's run.json: {}", path.display())]
    Run {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// `times` is not a number a line of stdout.
    #[error("{} times for {lines} lines of stdout, or not a number in line {line}: {}", found, path.display())]
    Times {
        /// The file.
        path: PathBuf,
        /// How many times it has.
        found: usize,
        /// How many lines stdout has.
        lines: usize,
        /// The first line that is too many, missing or not a number.
        line: usize,
    },
    /// The folder holds something else.
    #[error("not overwriting a folder that is not a fixture: {} (it holds {})", path.display(), found.display())]
    NotAFixture {
        /// The folder.
        path: PathBuf,
        /// One file that is no fixture's.
        found: PathBuf,
    },
}

#[derive(Deserialize)]
struct Version {
    format: u64,
}

impl Fixture {
    /// Puts a fixture together from its files' bytes. `folder` only names them in errors.
    ///
    /// # Errors
    /// An unknown format, a `run.json` that is none, or times that do not fit stdout.
    pub fn from_parts(folder: &Path, parts: &Parts<'_>) -> Result<Self, FixtureError> {
        let path = folder.join("run.json");
        let run_error = |source| FixtureError::Run { path: path.clone(), source };
        let version: Version = serde_json::from_slice(parts.run).map_err(run_error)?;
        if version.format != u64::from(FORMAT) {
            return Err(FixtureError::Format { path, found: version.format });
        }
        let run = serde_json::from_slice(parts.run).map_err(run_error)?;
        let times = read_times(&folder.join("times"), parts.times, lines(parts.stdout).count())?;
        let [stdin, stdout, stderr] = [parts.stdin, parts.stdout, parts.stderr].map(<[u8]>::to_vec);
        Ok(Self { run, stdin, stdout, stderr, times })
    }
}

/// The lines of `bytes`, each with its newline; a last piece without one counts as a line.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

fn read_times(path: &Path, bytes: &[u8], wanted: usize) -> Result<Vec<u64>, FixtureError> {
    let text = String::from_utf8_lossy(bytes);
    let parsed: Vec<Option<u64>> = text.lines().map(|line| line.trim().parse().ok()).collect();
    let bad = parsed.iter().position(Option::is_none);
    if bad.is_some() || parsed.len() != wanted {
        let line = bad.unwrap_or_else(|| parsed.len().min(wanted)) + 1;
        return Err(FixtureError::Times { path: path.into(), found: parsed.len(), lines: wanted, line });
    }
    Ok(parsed.into_iter().flatten().collect())
}
