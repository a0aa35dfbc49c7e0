//! Runs systemctl or launchctl for the user's service manager.

use crate::service::{LABEL, UNIT};
use std::io;
use std::path::Path;
use std::process::{Command, Output};
use sys::error::Hinted;

pub(super) const IS_LAUNCHD: bool = cfg!(target_os = "macos");

/// Why the service manager failed.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ManagerError {
    /// It is not installed.
    #[error("cannot run {program}")]
    Missing {
        /// The command.
        program: &'static str,
        /// The underlying error.
        source: io::Error,
    },
    /// It cannot be reached, for example in a container, with su, or without a login session.
    #[error("{message}")]
    Unreachable {
        /// The command and its error message.
        message: String,
        /// The user's id.
        uid: u32,
    },
    /// It reported an error.
    #[error("{message}")]
    Refused {
        /// The command and its error message.
        message: String,
    },
}

impl Hinted for ManagerError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Missing { .. } => "run `murmur start --foreground` under another supervisor".to_owned(),
            Self::Unreachable { uid, .. } => format!(
                "run `murmur start --foreground` under your own supervisor, or run \
                 `loginctl enable-linger`, set XDG_RUNTIME_DIR=/run/user/{uid} and try again"
            ),
            Self::Refused { .. } => "see: murmur service status".to_owned(),
        })
    }
}

/// Runs a command that must succeed.
pub(super) fn command(program: &'static str, words: &[&str]) -> Result<(), ManagerError> {
    command_output(program, words).map(drop)
}

/// Runs a command that must succeed, and returns its output.
fn command_output(program: &'static str, words: &[&str]) -> Result<String, ManagerError> {
    let output = run(program, words)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let message = format!("{program} {}: {}", words.join(" "), why.trim().replace('\n', ", "));
    // systemd's message in all of its versions: "Failed to connect to bus", "Failed to connect to user scope bus".
    Err(if why.contains("Failed to connect to") {
        ManagerError::Unreachable { message, uid: rustix::process::getuid().as_raw() }
    } else {
        ManagerError::Refused { message }
    })
}

/// The state of the service.
#[derive(Debug, Default)]
pub(super) struct ManagerAnswer {
    /// The manager's word; empty if there is none.
    pub(super) word: String,
    /// Why there is none.
    pub(super) problem: Option<String>,
}

/// Asks the manager for one property of the service, such as `is-active`.
pub(super) fn ask(what: &str) -> ManagerAnswer {
    let output = match run("systemctl", &["--user", what, UNIT]) {
        Ok(output) => output,
        Err(error) => {
            return ManagerAnswer { word: String::new(), problem: Some(error.failure().to_string()) };
        }
    };
    let word = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let message = String::from_utf8_lossy(&output.stderr).trim().replace('\n', ", ");
    let problem = (word.is_empty() && !message.is_empty()).then_some(message);
    ManagerAnswer { word, problem }
}

/// The PID of the service; `None` if it is not running.
pub(super) fn pid() -> Result<Option<u32>, ManagerError> {
    if IS_LAUNCHD {
        let output = run("launchctl", &["print", &target()])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        return Ok(number(&text, "pid = ").filter(|_| output.status.success()));
    }
    command_output("systemctl", &["--user", "show", "--property=MainPID", UNIT])
        .map(|output| number(&output, "MainPID="))
}

/// The number after `name` in `output`; `None` if it is 0.
fn number(output: &str, name: &str) -> Option<u32> {
    let value = output.lines().find_map(|line| line.trim().strip_prefix(name))?;
    value.parse().ok().filter(|number| *number != 0)
}

/// Starts the service after its daemon was stopped or, if `was_killed`, killed.
pub(super) fn start_again(was_killed: bool) -> Result<(), ManagerError> {
    match (IS_LAUNCHD, was_killed) {
        // launchd restarts a killed service by itself, and would send the new daemon SIGTERM.
        (true, true) => Ok(()),
        // The old process may still be ending, and would count as running.
        (true, false) => command("launchctl", &["kickstart", "-k", &target()]),
        // systemd doesn't start twice what it is about to restart.
        (false, _) => command("systemctl", &["--user", "restart", UNIT]),
    }
}

/// launchd's state of the service.
pub(super) fn ask_launchd() -> ManagerAnswer {
    match is_loaded() {
        Ok(loaded) => {
            ManagerAnswer { word: if loaded { "loaded" } else { "not loaded" }.to_owned(), problem: None }
        }
        Err(error) => ManagerAnswer { word: String::new(), problem: Some(error.failure().to_string()) },
    }
}

/// Whether launchd has loaded the service.
pub(super) fn is_loaded() -> Result<bool, ManagerError> {
    run("launchctl", &["print", &target()]).map(|output| output.status.success())
}

/// Loads and starts the service file.
pub(super) fn bootstrap(path: &Path) -> Result<(), ManagerError> {
    command("launchctl", &["bootstrap", &domain(), &path.to_string_lossy()])
}

/// Unloads the service; succeeds if it is not loaded.
pub(super) fn bootout() -> Result<(), ManagerError> {
    run("launchctl", &["bootout", &target()]).map(drop)
}

/// launchd's name of the user's domain.
fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

fn target() -> String {
    format!("{}/{LABEL}", domain())
}

fn run(program: &'static str, words: &[&str]) -> Result<Output, ManagerError> {
    let output = Command::new(program).args(words).output();
    output.map_err(|source| ManagerError::Missing { program, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pid_is_parsed_from_the_managers_output() {
        assert_eq!(number("MainPID=42\n", "MainPID="), Some(42));
        assert_eq!(number("MainPID=0\n", "MainPID="), None);
        assert_eq!(number("", "MainPID="), None);
        let printed = "gui/501/murmur = {\n\tstate = running\n\n\tpid = 4711\n\timmediate reason = ipc\n}\n";
        assert_eq!(number(printed, "pid = "), Some(4711));
        assert_eq!(number("gui/501/murmur = {\n\tstate = not running\n}\n", "pid = "), None);
    }
}
