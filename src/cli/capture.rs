//! `murmur capture`: derun's commands, with sessions by a prefix of their id, or `last`.

use super::args::{Capture, CaptureCommand, ShowCapture};
use super::heartbeat_name::ShortNames;
use super::show_args::ShowBeat;
use super::style::word;
use super::user_env::UserEnv;
use anyhow::bail;
use derun::cli::args::{Run, Sessions, Show};
use derun::cli::stdout::note;
use derun::cli::{self, captures, sessions};
use murmur_core::naming::{self, Candidate, LAST};
use murmur_host::record::Record;
use murmur_host::state::AgentKind;
use murmur_store::journal::read::{self, Filter, FoundEntry};
use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use sys::{failure, process_lock};

/// How many of the newest journal lines are searched for beats.
const SEARCHED: usize = 10_000;

pub(super) fn run(args: &Capture, env: &UserEnv) -> anyhow::Result<ExitCode> {
    match &args.command {
        CaptureCommand::Run(args) => cli::run::run(args),
        CaptureCommand::List(args) => list(args, env),
        CaptureCommand::Show(args) => show(args, env),
    }
}

/// `murmur capture list`: a beat's capture is listed with its heartbeat and outcome.
pub(super) fn list(args: &Sessions, env: &UserEnv) -> anyhow::Result<ExitCode> {
    // Without a journal that can be read, commands are shown.
    sessions::run_named(args, |ids| beats(ids, env).unwrap_or_default())
}

/// The heartbeat and outcome of each beat whose capture is in `ids`, and the id of each hosted agent.
fn beats(ids: &[&str], env: &UserEnv) -> anyhow::Result<HashMap<String, String>> {
    let mut wanted: HashSet<&str> = ids.iter().copied().collect();
    let dir = env.read_data_dir()?;
    let short = ShortNames::beside_registered(&dir, std::iter::empty());
    let mut entries = read::entries(&dir.journal(), None, &Filter::default())?;
    let mut names = HashMap::new();
    let mut left = SEARCHED;
    while let (false, 1..) = (wanted.is_empty(), left)
        && let Some(FoundEntry { entry, .. }) = entries.next_entry(|_| true)?
    {
        left -= 1;
        for (capture, what) in [(&entry.capture, ""), (&entry.gate_capture, " (gates)")] {
            let Some(capture) = capture.as_ref().filter(|id| wanted.remove(id.as_str())) else { continue };
            let name = short.of_heartbeat(&entry.workspace, entry.heartbeat.as_deref());
            names.insert(capture.to_string(), format!("{name}: {}{what}", word(&entry)));
        }
    }
    for record in process_lock::all(&dir.hosts())?.iter().filter_map(|found| Record::parse(&found.text)) {
        let Record { info, capture: Some(capture), .. } = record else { continue };
        // A running beat has no outcome yet.
        let named = match info.kind {
            AgentKind::Live => info.agent_id.to_string(),
            AgentKind::Beat => {
                let workspace = info.worktree.to_string_lossy();
                format!("{}: running", short.of_heartbeat(&workspace, info.heartbeat.as_deref()))
            }
        };
        names.entry(capture.to_string()).or_insert(named);
    }
    Ok(names)
}

/// `murmur run -- COMMAND`, the short form of `murmur capture run`.
pub(super) fn run_short(args: &Run) -> anyhow::Result<ExitCode> {
    if io::stderr().is_terminal() {
        note("to capture a command, use: murmur capture run -- COMMAND")?;
    }
    cli::run::run(args)
}

/// `murmur capture show`.
fn show(args: &ShowCapture, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let ShowCapture { show: Show { id, tail, follow, plain }, raw, json } = args;
    let id = match meant(id)? {
        Some(id) => id,
        None if id == LAST => {
            bail!(
                failure!("there are no sessions yet"; "capture a command with: murmur capture run -- COMMAND")
            )
        }
        None => of_heartbeat(id, env)?.unwrap_or_else(|| id.clone()),
    };
    let (what, full) = (id.clone(), false);
    let wanted = ShowBeat { what, full, raw: *raw, json: *json, follow: *follow, tail: *tail, plain: *plain };
    super::show::of_capture(&wanted, id, env.read_data_dir().ok().as_ref())
}

/// The newest capture of a beat of the heartbeat or folder `typed`, unless that is the id of a session.
fn of_heartbeat(typed: &str, env: &UserEnv) -> anyhow::Result<Option<String>> {
    if captures::existing()?.is_some_and(|store| store.session(typed).is_ok()) {
        return Ok(None);
    }
    let dir = env.read_data_dir()?;
    // The error for an unknown id says more.
    let Ok((workspace, heartbeat)) = super::log::meant(Path::new(typed), &dir, env) else { return Ok(None) };
    super::show::newest_capture(&dir, workspace.as_deref(), heartbeat.as_ref())
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
    let found = naming::find(naming::Noun::Capture, typed, &candidates, last)?;
    Ok(found.map(|index| candidates.swap_remove(index).id))
}
