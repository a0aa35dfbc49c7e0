//! A recorded run, format version 1: the command, its input and output, timing and exit status.
//!
//! Input: the five files of a fixture as bytes. Output: a `Fixture`, or an error that names the file. `folder`
//! reads and writes them on disk. Knows nothing about the agent's protocol.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The supported format version.
pub const FORMAT: u32 = 1;

/// The exit status of a run: `{"code":0}` or `{"signal":9}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

impl End {
    /// The exit code in a shell: the child's own, or 128 plus the signal.
    #[must_use]
    pub fn shell_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// `run.json`: the command and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Always [`FORMAT`].
    pub format: u32,
    /// The file name of the program, `claude`.
    pub program: String,
    /// The output of `program --version`.
    pub version: String,
    /// The arguments after the program's name.
    pub argv: Vec<String>,
    /// The working folder, scrubbed: `/workspace`.
    pub cwd: String,
    /// The relevant environment variables.
    pub env: BTreeMap<String, String>,
    /// How it ended.
    pub end: End,
    /// The duration in milliseconds.
    pub duration_ms: u64,
}

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixture {
    /// The command and how it ended.
    pub run: Run,
    /// Its input.
    pub stdin: Vec<u8>,
    /// Its stdout.
    pub stdout: Vec<u8>,
    /// Its stderr.
    pub stderr: Vec<u8>,
    /// For each line of `stdout`, the milliseconds from the start to the end of the line.
    pub times: Vec<u64>,
}

/// The five files of a fixture that is embedded in a program.
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

/// An error in reading or writing a fixture.
#[derive(Debug, Error)]
pub enum FixtureError {
    /// A file or folder is not readable.
    #[error("cannot read fixture: {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file or folder is not writable.
    #[error("cannot write fixture: {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// An unsupported format version.
    #[error("unknown fixture format {found} (this program reads {FORMAT}): {}", path.display())]
    Format {
        /// The file with the version.
        path: PathBuf,
        /// The version in it.
        found: u64,
    },
    /// `run.json` is invalid.
    #[error("invalid run.json: {}", path.display())]
    Run {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// `times` doesn't have one number for each line of stdout.
    #[error("{} times for {lines} lines of stdout, or an invalid number in line {line}: {}", found, path.display())]
    Times {
        /// The file.
        path: PathBuf,
        /// The number of times.
        found: usize,
        /// The number of lines of stdout.
        lines: usize,
        /// The first line with an extra, missing or invalid time.
        line: usize,
    },
    /// The folder contains something else.
    #[error("not overwriting a folder that is not a fixture: {} (it contains {})", path.display(), found.display())]
    NotAFixture {
        /// The folder.
        path: PathBuf,
        /// A file that doesn't belong to a fixture.
        found: PathBuf,
    },
}

#[derive(Deserialize)]
struct Version {
    format: u64,
}

impl Fixture {
    /// Parses a fixture from the contents of its files. `folder` is only used in errors.
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

/// Splits `bytes` into lines with their newlines. A last piece without a newline counts as a line.
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
