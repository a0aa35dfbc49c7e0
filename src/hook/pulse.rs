//! An agent's pulse, written by the hook: in come an event, what stdin says of it and the environment, out goes a file.
//!
//! It must never be in its agent's way: nothing is printed, the exit code is 0, and it is over after two seconds, whatever
//! happens. What went wrong stands in murmur.log (docs/pulses.md).

use super::audit::AuditError;
use super::breach;
use super::event::{EventError, MOST};
use super::moment::{Moment, Told};
use super::trouble;
use crate::agent::invocation::DIR_VARIABLE;
use crate::agent::settings::{HOME_VARIABLE, POLICY_VARIABLE, WORKSPACE_VARIABLE};
use crate::pulse::write::WriteError;
use crate::pulse::{branch, owner, task, write};
use crate::sys::paths::DataDir;
use crate::sys::{ancestors, atomic, deadline};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(2);

/// How long stdin may take, which leaves time to write down that it took too long.
const STDIN_LIMIT: Duration = Duration::from_millis(1500);

/// Where Claude Code says that its project is.
const CLAUDE_PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// Why there is no pulse.
#[derive(Debug, thiserror::Error)]
enum PulseError {
    /// Stdin does not say what happened.
    #[error(transparent)]
    Stdin(#[from] EventError),
    /// Stdin does not end.
    #[error("stdin did not end within {} ms", STDIN_LIMIT.as_millis())]
    Endless,
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A breach could not be written down.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// There is no data folder, and it cannot be made.
    #[error("cannot make the data folder: {0}")]
    Folder(#[source] io::Error),
    /// A defect.
    #[error("the hook failed: {0}")]
    Panic(String),
}

/// Writes the pulse of `moment`, which stdin describes.
pub(super) fn write(moment: Moment) {
    deadline::exit_after(LIMIT);
    // What a panic says would be printed; it is written down below.
    std::panic::set_hook(Box::new(|_| {}));
    let home = variable(HOME_VARIABLE).or_else(|| variable("HOME"));
    let Ok(dir) = DataDir::find(None, variable(DIR_VARIABLE).as_deref(), home.as_deref()) else {
        // There is no log either.
        return;
    };
    let written = std::panic::catch_unwind(|| put(moment, &dir)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(PulseError::Panic(said.unwrap_or_default()))
    });
    if let Err(error) = written
        && has_folder(&dir).is_ok_and(|is_there| is_there)
    {
        trouble::note(&dir, &error.to_string());
    }
}

fn put(moment: Moment, dir: &DataDir) -> Result<(), PulseError> {
    let text = read()?;
    if moment == Moment::PostToolUse {
        breach::look(&text)?;
    }
    let Told { mut pulse, cwd } =
        moment.read(&String::from_utf8_lossy(&text)).map_err(EventError::Garbled)?;
    // Spec 2's script knows its own folder only.
    let cwd = cwd.or_else(|| std::env::current_dir().ok());
    let agent = owner::own(pulse.session_id.as_deref());
    pulse.agent_id = agent.unwrap_or_else(|| branch::UNKNOWN.to_owned());
    let workspace = path(WORKSPACE_VARIABLE).or_else(|| path(CLAUDE_PROJECT));
    pulse.git_branch =
        cwd.as_ref().or(workspace.as_ref()).map_or_else(|| branch::UNKNOWN.to_owned(), |cwd| branch::of(cwd));
    pulse.workspace = workspace.or(cwd).unwrap_or_default();
    pulse.current_task = task::get(dir, &pulse.agent_id);
    pulse.pid = ancestors::giver(owner::SESSION_VARIABLE);
    match write::put(dir, pulse.clone()) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
        written => return Ok(written?),
    }
    if has_folder(dir).map_err(PulseError::Folder)? {
        write::put(dir, pulse)?;
    }
    Ok(())
}

/// Whether there is a data folder, which is made for an agent that murmur did not start. For one that it did there was one:
/// whoever deleted that does not want it back.
fn has_folder(dir: &DataDir) -> io::Result<bool> {
    let is_there = dir.root().is_dir();
    if is_there || variable(POLICY_VARIABLE).is_some() {
        return Ok(is_there);
    }
    atomic::create_private_folder(dir.root())?;
    Ok(true)
}

/// All of stdin.
fn read() -> Result<Vec<u8>, PulseError> {
    let most = usize::try_from(MOST).unwrap_or(usize::MAX);
    let text = deadline::read_within(io::stdin(), STDIN_LIMIT, most.saturating_add(1));
    match text {
        Ok(text) if text.len() > most => Err(EventError::Long.into()),
        Ok(text) if text.is_empty() => Err(EventError::Empty.into()),
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(PulseError::Endless),
        Err(error) => Err(EventError::Read(error).into()),
    }
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The path in a variable, as JSON can have it, unless it is longer than any.
fn path(name: &str) -> Option<PathBuf> {
    let path = variable(name).and_then(owner::readable)?;
    (path.len() <= owner::LONGEST).then(|| PathBuf::from(path))
}
