//! What the user's own manager, systemd or launchd, is told and asked, by its own command.

use crate::service::{LABEL, UNIT};
use std::io;
use std::process::{Command, Output};

pub(super) const IS_LAUNCHD: bool = cfg!(target_os = "macos");

/// Why it did not do something.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManagerError {
    /// It is not there.
    #[error(
        "cannot run {program}: {source}; without it, have `murmur start --foreground` started by what you have instead"
    )]
    Missing {
        /// Its command.
        program: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// It cannot be reached, as in a container, with su, or without a login session.
    #[error(
        "{said}; there is no manager of yours here: have `murmur start --foreground` started by what you have, or run \
         `loginctl enable-linger`, set XDG_RUNTIME_DIR=/run/user/{uid} and try again"
    )]
    Unreachable {
        /// What was told to it, and what its command says.
        said: String,
        /// Whose it would be.
        uid: u32,
    },
    /// It says no.
    #[error("{said}; see: murmur service status")]
    Refused {
        /// What was told to it, and what its command says.
        said: String,
    },
}

/// Tells the manager something that it must do.
pub(super) fn tell(program: &'static str, words: &[&str]) -> Result<(), ManagerError> {
    let output = run(program, words)?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let said =
        format!("{program} {}: {}", words.join(" "), why.trim().replace('\n', ", ").replace("; ", ", "));
    // systemd's words, in all of its versions: "Failed to connect to bus", "Failed to connect to user scope bus".
    Err(if why.contains("Failed to connect to") {
        ManagerError::Unreachable { said, uid: rustix::process::getuid().as_raw() }
    } else {
        ManagerError::Refused { said }
    })
}

/// What there is to say of how it is.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Its word; empty where it has none.
    pub(super) word: String,
    /// Why it has none.
    pub(super) problem: Option<String>,
}

/// Asks the manager for one word about the service, as `is-active`.
pub(super) fn ask(what: &str) -> Answer {
    let output = match run("systemctl", &["--user", what, UNIT]) {
        Ok(output) => output,
        Err(error) => return Answer { word: String::new(), problem: Some(error.to_string()) },
    };
    let word = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', ", ");
    let problem = (word.is_empty() && !said.is_empty()).then_some(said);
    Answer { word, problem }
}

/// Whether launchd has loaded it.
pub(super) fn is_loaded() -> Answer {
    match run("launchctl", &["print", &target()]) {
        Ok(output) => {
            let word = if output.status.success() { "loaded" } else { "not loaded" };
            Answer { word: word.to_owned(), problem: None }
        }
        Err(error) => Answer { word: String::new(), problem: Some(error.to_string()) },
    }
}

/// Has launchd let go of it; one that is not loaded is none to unload.
pub(super) fn unload() -> Result<(), ManagerError> {
    run("launchctl", &["bootout", &target()]).map(drop)
}

/// The user's domain, to launchd.
pub(super) fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

fn target() -> String {
    format!("{}/{LABEL}", domain())
}

fn run(program: &'static str, words: &[&str]) -> Result<Output, ManagerError> {
    let output = Command::new(program).args(words).output();
    output.map_err(|source| ManagerError::Missing { program, source })
}
