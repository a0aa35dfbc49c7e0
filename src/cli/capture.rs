//! `murmur capture`: derun's commands, with sessions by a prefix of their id, or `last`.

use super::args::{Capture, CaptureCommand};
use derun::cli::args::{Run, Show};
use derun::cli::stdout::note;
use derun::cli::{self, captures, sessions};
use murmur_core::naming::{self, Candidate};
use std::io::{self, IsTerminal};
use std::process::ExitCode;

pub(super) fn run(args: &Capture) -> anyhow::Result<ExitCode> {
    match &args.command {
        CaptureCommand::Run(args) => cli::run::run(args),
        CaptureCommand::List(args) => sessions::run(args),
        CaptureCommand::Show(args) => show(args),
    }
}

/// `murmur capture run -- COMMAND`, the short form of `murmur capture run`.
pub(super) fn run_short(args: &Run) -> anyhow::Result<ExitCode> {
    if io::stderr().is_terminal() {
        note("to capture a command, use: murmur capture run -- COMMAND")?;
    }
    cli::run::run(args)
}

/// `murmur capture show`.
pub(super) fn show(args: &Show) -> anyhow::Result<ExitCode> {
    let id = meant(&args.id)?.unwrap_or_else(|| args.id.clone());
    cli::show::run(&Show { id, ..*args })
}

/// The id of the session that `typed`, which isn't the id of one, stands for; `None` if there is no such session.
pub(super) fn meant(typed: &str) -> anyhow::Result<Option<String>> {
    let Some(store) = captures::existing()? else { return Ok(None) };
    if store.session(typed).is_ok() {
        return Ok(None);
    }
    let sessions = store.list()?;
    let mut candidates: Vec<Candidate> = sessions.iter().map(|id| Candidate::new(id.as_str())).collect();
    // The newest comes first.
    let last = (!candidates.is_empty()).then_some(0);
    let found = naming::find(naming::Kind::Capture, typed, &candidates, last)?;
    Ok(found.map(|index| candidates.swap_remove(index).id))
}
