//! Records a command: runs it unmodified, keeps its input and output, and saves a fixture.
//!
//! Input: a plan. The command's bytes pass through immediately and unmodified. Output: the saved, scrubbed fixture
//! and how the command ended. Knows nothing about the bytes' meaning.

mod run;

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use thiserror::Error;

use super::fixture::{End, FORMAT, Fixture, FixtureError, Run};
use super::scrub::{self, Identity, Suspicious};

/// The input of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// The recorder's own stdin, copied as it arrives.
    Inherit,
    /// These bytes.
    Bytes(Vec<u8>),
}

/// What to record.
#[derive(Debug, Clone)]
pub struct RecordPlan {
    /// The fixture's name, a folder name.
    pub name: String,
    /// The parent folder of the fixture.
    pub into: PathBuf,
    /// The command: a path, or a name looked up in PATH.
    pub program: OsString,
    /// The output of `program --version`; see [`ask_version`].
    pub version: String,
    /// Its arguments.
    pub argv: Vec<OsString>,
    /// Its working folder.
    pub cwd: PathBuf,
    /// Additional environment variables.
    pub env: Vec<(OsString, OsString)>,
    /// Whether those are the whole environment.
    pub only_env: bool,
    /// Its input.
    pub stdin: Stdin,
    /// How long it may take to end after the end of its input, before it gets SIGTERM, and then before it gets SIGKILL;
    /// `None` for as long as it likes. Only with [`Stdin::Inherit`].
    pub grace: Option<Duration>,
}

/// The streams that the command's bytes pass through.
pub struct Streams<'a> {
    /// Read for [`Stdin::Inherit`].
    pub stdin: BorrowedFd<'a>,
    /// Receives the command's stdout immediately.
    pub stdout: &'a mut (dyn Write + Send),
    /// Receives the command's stderr immediately.
    pub stderr: &'a mut (dyn Write + Send),
}

impl std::fmt::Debug for Streams<'_> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Streams").field("stdin", &self.stdin).finish_non_exhaustive()
    }
}

/// A finished recording.
#[derive(Debug)]
pub struct Recorded {
    /// The saved fixture.
    pub fixture: Fixture,
    /// Its folder.
    pub folder: PathBuf,
    /// How the command ended; the caller exits the same way.
    pub end: End,
}

/// An error that prevented a recording.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The name is not a valid folder name.
    #[error("invalid fixture name: {0:?}")]
    Name(String),
    /// The fixture cannot be saved.
    #[error(transparent)]
    Fixture(#[from] FixtureError),
    /// The command cannot be started.
    #[error("cannot run {}", program.display())]
    Start {
        /// The command.
        program: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A pipe or signal handler cannot be created, or waiting for the command failed.
    #[error("cannot watch {}", program.display())]
    Watch {
        /// The command.
        program: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The recording contains a secret. Nothing was saved.
    #[error("nothing saved (the command ended with {})", end.shell_code())]
    Refused {
        /// How the command ended.
        end: End,
        /// The secret and its position.
        source: Suspicious,
    },
}

/// Records a command with this process's own stdin, stdout and stderr. The command is not run if the fixture could
/// not be saved afterward.
pub fn record(plan: &RecordPlan) -> Result<Recorded, RecordError> {
    let stdin = std::io::stdin();
    let streams =
        Streams { stdin: stdin.as_fd(), stdout: &mut std::io::stdout(), stderr: &mut std::io::stderr() };
    record_through(plan, streams)
}

/// Records a command whose bytes pass through `streams`.
pub fn record_through(plan: &RecordPlan, streams: Streams<'_>) -> Result<Recorded, RecordError> {
    let plain =
        !plan.name.is_empty() && !plan.name.starts_with('.') && !plan.name.contains(['/', '\\', '\0']);
    if !plain {
        return Err(RecordError::Name(plan.name.clone()));
    }
    let folder = plan.into.join(&plan.name);
    Fixture::may_save(&folder)?;
    let environment = environment(plan);
    let ran = run::run(plan, streams)?;
    let program = Path::new(&plan.program).file_name().unwrap_or(&plan.program);
    let run = Run {
        format: FORMAT,
        program: program.to_string_lossy().into_owned(),
        version: plan.version.clone(),
        argv: plan.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        cwd: plan.cwd.to_string_lossy().into_owned(),
        env: environment.iter().filter(|(name, _)| is_relevant(name)).cloned().collect(),
        end: ran.end,
        duration_ms: ran.duration_ms,
    };
    let raw = Fixture {
        run,
        stdin: ran.stdin,
        stdout: ran.stdout.bytes,
        stderr: ran.stderr.bytes,
        times: ran.stdout.times,
    };
    let fixture = scrub::scrub(&raw, &identity(plan, environment))
        .map_err(|source| RecordError::Refused { end: ran.end, source })?;
    fixture.save(&folder)?;
    Ok(Recorded { fixture, folder, end: ran.end })
}

/// Returns the first line that `program --version` prints, or `unknown`.
#[must_use]
pub fn ask_version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let said = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    let said = String::from_utf8(said.unwrap_or_default()).unwrap_or_default();
    said.lines().next().filter(|line| !line.is_empty()).unwrap_or("unknown").to_owned()
}

/// The command's whole environment, as text.
fn environment(plan: &RecordPlan) -> Vec<(String, String)> {
    let own = std::env::vars_os().filter(|_| !plan.only_env);
    let mut all = std::collections::BTreeMap::new();
    for (name, value) in own.chain(plan.env.iter().cloned()) {
        all.insert(name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned());
    }
    all.into_iter().collect()
}

/// Whether a variable affects an agent.
fn is_relevant(name: &str) -> bool {
    const BEGINNINGS: [&str; 9] =
        ["ANTHROPIC_", "BASH_", "CLAUDE_", "CODEX_", "DISABLE_", "MAX_", "MURMUR_", "OPENAI_", "OPENCODE_"];
    name == "IS_SANDBOX" || BEGINNINGS.iter().any(|start| name.starts_with(start))
}

fn identity(plan: &RecordPlan, env: Vec<(String, String)>) -> Identity {
    let value = |name: &str| env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let forms = |path: PathBuf| {
        let real = path.canonicalize().ok().filter(|real| *real != path);
        [Some(path), real].into_iter().flatten().collect::<Vec<_>>()
    };
    Identity {
        cwd: forms(plan.cwd.clone()),
        home: value("HOME").map(PathBuf::from).map(forms).unwrap_or_default(),
        user: value("USER").or_else(|| value("LOGNAME")),
        env,
    }
}
