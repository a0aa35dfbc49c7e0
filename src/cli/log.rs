//! `murmur log`: shows the end of the journal, and follows it.

mod follow;
mod line;
mod span;
mod stat;

use super::args::Log;
use super::heartbeat_name::{ShortNames, is_called, named, unknown};
use super::style::Style;
use super::user_env::UserEnv;
use crate::daemon::client;
use crate::daemon::status::StatusRequest;
use crate::daemon::status::waiting;
use anyhow::{Context, bail};
use derun::cli::stdout::{stdout, warn};
use line::{Form, Printer};
use murmur_core::config::cron::Crons;
use murmur_core::config::file::{File, Workspace};
use murmur_core::config::heartbeat::{self, Cache};
use murmur_store::journal::read::{self, Filter};
use murmur_store::journal::tail::{Position, Tail};
use murmur_store::journal::unfinished;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use sys::error::Hinted;
use sys::failure;
use sys::paths::DataDir;
use sys::text::Styled;
use sys::{clock, shell, spelling};

pub(super) use span::{count, pattern, since, until};

/// How many beats are shown unless told otherwise.
const COUNT: usize = 20;

pub(super) fn run(args: &Log, env: &UserEnv) -> anyhow::Result<ExitCode> {
    // Creates the folder, so that there is something to follow.
    let dir = env.read_data_dir()?;
    if args.follow {
        dir.prepare()?;
    }
    let workspace =
        args.workspace.as_ref().map(|path| path.canonicalize().or_else(|_| std::path::absolute(path)));
    let mut filter = Filter {
        workspace: workspace.transpose()?.map(|path| path.display().to_string()),
        heartbeat: None,
        outcome: args.outcome.map(Into::into),
        since: args.since,
        until: args.until,
        text: args.grep.clone(),
    };
    if let Some(name) = &args.name {
        (filter.workspace, filter.heartbeat) = meant(name, &dir, env)?;
    }
    if args.stat {
        return stat::show(&dir, filter, Style::of_stdout(), args.json);
    }
    let is_terminal = io::stdout().is_terminal();
    let form = match (args.json, args.oneline, is_terminal) {
        (true, ..) => Form::Json,
        (_, true, _) => Form::OneLine,
        (.., true) => Form::Table,
        (.., false) => Form::Whole,
    };
    let mut printer = Printer::new(form, Style::of_stdout(), is_terminal);
    let mut out = Styled(stdout().lock());
    let unreadable = || format!("cannot read {}", dir.journal().display());
    // Follow from where the first read ended, so that no line is missed or repeated.
    let tail = Tail::from_end(dir.journal()).with_context(unreadable)?;
    let end = tail.position();
    let count = args.count.unwrap_or(COUNT);
    let selected = read::newest(&dir.journal(), Some(end), &filter, count).with_context(unreadable)?;
    let found = selected.found;
    let whole = count > 0
        && filter.outcome.is_none()
        && filter.since.is_none()
        && filter.until.is_none()
        && filter.text.is_none();
    if let (true, Some(path), Some(workspace)) = (found.is_empty(), &args.workspace, &filter.workspace)
        // A workspace may have its first beat while it is followed.
        && !(args.follow && path.is_dir())
        && (whole || !has_entries(&dir, end, workspace).with_context(unreadable)?)
    {
        refuse_unknown(path, workspace, &dir, env)?;
    }
    if found.is_empty() && !args.follow && !args.json {
        writeln!(out, "no beats to show; see: murmur status")?;
    }
    let names = match form {
        Form::OneLine | Form::Table => {
            ShortNames::beside_registered(&dir, found.iter().map(|found| &*found.entry.workspace))
        }
        Form::Json | Form::Whole => ShortNames::default(),
    };
    printer.fit(found.iter().map(|found| &found.entry), names);
    for read::FoundEntry { entry, line } in &found {
        printer.print(&mut out, entry, line)?;
    }
    out.flush()?;
    for error in selected.skipped {
        let _closed = warn(error.line());
    }
    warn_of_waiting(&dir);
    if args.follow {
        super::runtime()?.block_on(follow::follow(&dir, tail, &filter, &printer, &mut out))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The workspace, and the heartbeat in it if only that one is meant, that `what` names.
pub(super) fn meant(
    what: &Path,
    dir: &DataDir,
    env: &UserEnv,
) -> anyhow::Result<(Option<String>, Option<Option<String>>)> {
    // A configuration that can't be read has no names, but the journal has beats.
    let known = Cache::new(env.time_zone()).load(&dir.config(), clock::now()).map(|found| found.heartbeats);
    let (known, typed) = (known.unwrap_or_default(), what.to_string_lossy());
    if let Some(found) = named(&typed, &known, dir)? {
        let name = found.name.as_deref().map(str::to_owned);
        return Ok((Some(found.workspace.display().to_string()), Some(name)));
    }
    if what.is_dir() {
        return Ok((Some(what.canonicalize()?.display().to_string()), None));
    }
    // One that isn't registered, or no longer is.
    let mut entries = read::entries(&dir.journal(), None, &Filter::default())?;
    while let Some(found) = entries.next_entry(|_| true)? {
        if is_called(&found.entry, &typed) {
            return Ok((Some(found.entry.workspace), Some(found.entry.heartbeat)));
        }
    }
    Err(unknown(&typed, &known).into())
}

/// Warns about lines that are not in the journal yet, with the reason.
fn warn_of_waiting(dir: &DataDir) {
    // `murmur status` reports read errors.
    let kept = unfinished::waiting(dir).unwrap_or_default();
    if kept == 0 {
        return;
    }
    // The daemon may hold more lines in memory.
    let status = super::runtime()
        .ok()
        .and_then(|runtime| runtime.block_on(client::status(dir, StatusRequest::WITHOUT_SETTINGS)).ok());
    let runs = status.is_some();
    // The daemon counted them just now, and may have written them since.
    let (count, reason) = match status {
        Some(status) => (status.waiting_lines, status.waiting_reason),
        None => (kept, super::status::waits(dir)),
    };
    if count > 0 {
        let warning = waiting(count, reason.as_deref(), runs);
        let _closed = warn(format_args!("{warning}"));
    }
}

/// Whether the journal has a line of `workspace`.
fn has_entries(dir: &DataDir, end: Position, workspace: &str) -> io::Result<bool> {
    let filter = Filter { workspace: Some(workspace.to_owned()), ..Filter::default() };
    Ok(!read::newest(&dir.journal(), Some(end), &filter, 1)?.found.is_empty())
}

/// Rejects a workspace that is neither in config.json nor in the journal.
fn refuse_unknown(typed: &Path, workspace: &str, dir: &DataDir, env: &UserEnv) -> anyhow::Result<()> {
    // An unreadable configuration may contain it.
    let Ok(file) = File::read(&dir.config(), &Crons::new(env.time_zone())) else { return Ok(()) };
    if heartbeat::entry(&file, Path::new(workspace)).is_some() {
        return Ok(());
    }
    let is_called = |known: &&Workspace| {
        known.path.file_name() == Some(typed.as_os_str())
            || known.name.as_deref().is_some_and(|name| Path::new(name) == typed)
    };
    let mut called = file.workspaces.iter().flatten().filter(is_called);
    match (called.next(), called.next()) {
        (Some(known), None) => {
            let (typed, path) = (typed.display(), shell::path(&known.path));
            bail!(
                failure!("no workspace at {workspace}"; "{typed} is the name of a workspace; use its path: --workspace {path}")
            )
        }
        _ => {
            let workspace_path = Path::new(workspace);
            let beside = file.workspaces.iter().flatten().map(|known| &*known.path);
            let beside: Vec<&Path> = beside.filter(|path| path.parent() == workspace_path.parent()).collect();
            let names: Vec<&str> = beside.iter().filter_map(|path| path.file_name()?.to_str()).collect();
            let name = workspace_path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let hint = match spelling::nearest(name, &names) {
                Some(meant) => format!(
                    "did you mean {}? See: murmur list",
                    shell::path(&workspace_path.with_file_name(meant))
                ),
                None => "see: murmur list".to_owned(),
            };
            bail!(failure!("{workspace} is not registered and not in the journal"; "{hint}"))
        }
    }
}
