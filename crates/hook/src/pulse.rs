//! Writes an agent's pulse from an event, its JSON on stdin and the environment.
//!
//! It must never get in the agent's way: it prints nothing, exits with 0, and ends within two seconds, whatever
//! happens. Failures are logged in murmur.log (crates/store/pulses.md).

use super::breach;
use super::event::{EventError, MAX_INPUT};
use super::failure_log;
use super::pulse_event::{PulseEvent, PulseReport};
use murmur_agent::backend;
use murmur_agent::invocation::DIR_VARIABLE;
use murmur_agent::settings::{BACKEND_VARIABLE, HOME_VARIABLE, POLICY_VARIABLE, WORKSPACE_VARIABLE};
use murmur_core::config::backend::Backend;
use murmur_store::journal::decisions::DecisionError;
use murmur_store::pulse::write::WriteError;
use murmur_store::pulse::{branch, owner, task, write};
use serde_json::Value;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use sys::error::Failure;
use sys::paths::DataDir;
use sys::{ancestors, atomic, deadline};

/// Time limit for everything.
const LIMIT: Duration = Duration::from_secs(2);

/// Time limit for reading stdin, which leaves time to log that it was exceeded.
const STDIN_LIMIT: Duration = Duration::from_millis(1500);

/// The variable in which Claude Code names its project.
const CLAUDE_PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// Why the pulse could not be written.
#[derive(Debug, thiserror::Error)]
enum PulseError {
    /// The event on stdin is not usable.
    #[error(transparent)]
    Stdin(#[from] EventError),
    /// Stdin was not closed in time.
    #[error("stdin did not end within {} ms", STDIN_LIMIT.as_millis())]
    Endless,
    /// The pulse can't be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A breach could not be recorded.
    #[error(transparent)]
    Audit(#[from] DecisionError),
    /// The data folder is missing and can't be created.
    #[error("cannot create the data folder")]
    Folder(#[source] io::Error),
    /// A bug.
    #[error("the hook failed: {0}")]
    Panic(String),
}

/// Writes the pulse for `event`, which stdin describes.
pub(super) fn write(event: PulseEvent) {
    deadline::exit_after(LIMIT);
    // The default hook would print the panic; it is logged below.
    std::panic::set_hook(Box::new(|_| {}));
    let home = variable(HOME_VARIABLE).or_else(|| variable("HOME"));
    let Ok(dir) = DataDir::find(None, variable(DIR_VARIABLE).as_deref(), home.as_deref()) else {
        // Without a data folder there is no log either.
        return;
    };
    let written = std::panic::catch_unwind(|| write_in(&dir, event)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().map(|message| (*message).to_owned());
        let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(PulseError::Panic(message.unwrap_or_default()))
    });
    if let Err(error) = written
        && has_folder(&dir).is_ok_and(|is_there| is_there)
    {
        failure_log::note(&dir, &Failure::of(&error).to_string());
    }
}

fn write_in(dir: &DataDir, event: PulseEvent) -> Result<(), PulseError> {
    let text = read()?;
    if event == PulseEvent::PostToolUse {
        breach::check(&text)?;
    }
    let backend = std::env::var(BACKEND_VARIABLE).ok().and_then(|name| name.parse::<Backend>().ok());
    let text = translated(String::from_utf8_lossy(&text).into_owned(), backend.as_ref());
    let PulseReport { mut pulse, cwd } = event.read(&text).map_err(EventError::Garbled)?;
    // Spec 2's script knows only its own folder.
    let cwd = cwd.or_else(|| std::env::current_dir().ok());
    let agent = owner::own(pulse.session_id.as_ref());
    pulse.agent_id = agent.unwrap_or_else(|| branch::UNKNOWN.to_owned());
    let workspace = path(WORKSPACE_VARIABLE).or_else(|| path(CLAUDE_PROJECT));
    pulse.git_branch =
        cwd.as_ref().or(workspace.as_ref()).map_or_else(|| branch::UNKNOWN.to_owned(), |cwd| branch::of(cwd));
    pulse.workspace = workspace.or(cwd).unwrap_or_default();
    pulse.current_task = task::get(dir, &pulse.agent_id);
    pulse.backend = backend.map(|backend| backend.to_string()).unwrap_or_default();
    pulse.pid = ancestors::setter(owner::SESSION_VARIABLE);
    match write::put(dir, pulse.clone()) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
        written => return Ok(written?),
    }
    if has_folder(dir).map_err(PulseError::Folder)? {
        write::put(dir, pulse)?;
    }
    Ok(())
}

/// The event in the vocabulary of Claude Code, if it is another backend's.
fn translated(text: String, backend: Option<&Backend>) -> String {
    let Some(backend) = backend else { return text };
    let translate = || {
        let mut event: Value = serde_json::from_str(&text).ok()?;
        let tool = event.get("tool_name")?.as_str()?.to_owned();
        let input = event.get("tool_input")?.clone();
        let call = backend::translate(backend, tool, input).ok()?;
        (event["tool_name"], event["tool_input"]) = (call.tool.into(), call.input);
        Some(event.to_string())
    };
    translate().unwrap_or(text)
}

/// Whether there is a data folder. Creates it for agents that murmur did not start. For others it existed when they
/// started, so if it is missing, somebody deleted it on purpose.
fn has_folder(dir: &DataDir) -> io::Result<bool> {
    let is_there = dir.root().is_dir();
    if is_there || variable(POLICY_VARIABLE).is_some() {
        return Ok(is_there);
    }
    atomic::create_private_folder(dir.root())?;
    Ok(true)
}

/// Reads all of stdin.
fn read() -> Result<Vec<u8>, PulseError> {
    let most = usize::try_from(MAX_INPUT).unwrap_or(usize::MAX);
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

/// The path in a variable, if it is valid in JSON and not longer than any real path.
fn path(name: &str) -> Option<PathBuf> {
    let path = variable(name).and_then(owner::readable)?;
    (path.len() <= owner::MAX_TEXT).then(|| PathBuf::from(path))
}
