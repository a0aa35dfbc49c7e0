//! `murmur log`: shows the end of the journal, and follows it.

mod follow;
mod span;

use super::args::Log;
use super::style::{Colors, Style, backend_of, plain_line, remarks, text_of};
use super::user_env::UserEnv;
use crate::daemon::client;
use crate::daemon::status::waiting;
use anyhow::{Context, bail};
use derun::cli::span::span as lasting;
use derun::cli::stdout::stdout;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use murmur_core::config::cron::Crons;
use murmur_core::config::file::{File, Workspace};
use murmur_core::config::heartbeat;
use murmur_store::journal::entry::Entry;
use murmur_store::journal::read::{self, Filter};
use murmur_store::journal::tail::{Position, Tail};
use murmur_store::journal::unfinished;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use sys::error::Hinted;
use sys::failure;
use sys::paths::DataDir;
use sys::text::Shown;
use sys::{shell, spelling};

pub(super) use span::{count, since};

pub(super) fn run(args: &Log, env: &UserEnv) -> anyhow::Result<ExitCode> {
    // Creates the folder, so that there is something to follow.
    let dir = env.read_data_dir()?;
    if args.follow {
        dir.prepare()?;
    }
    let workspace =
        args.workspace.as_ref().map(|path| path.canonicalize().or_else(|_| std::path::absolute(path)));
    let filter = Filter {
        workspace: workspace.transpose()?.map(|path| path.display().to_string()),
        outcome: args.outcome.map(Into::into),
        since: args.since,
    };
    let printer = Printer { json: args.json, style: Style::of_stdout(), zone: TimeZone::system() };
    let mut out = Shown(stdout().lock());
    let unreadable = || format!("cannot read {}", dir.journal().display());
    // Follow from where the first read ended, so that no line is missed or repeated.
    let tail = Tail::from_end(dir.journal()).with_context(unreadable)?;
    let end = tail.position();
    let selected = read::newest(&dir.journal(), Some(end), &filter, args.count).with_context(unreadable)?;
    let found = selected.found;
    let whole = args.count > 0 && args.outcome.is_none() && args.since.is_none();
    if let (true, Some(path), Some(workspace)) = (found.is_empty(), &args.workspace, &filter.workspace)
        // A workspace may have its first beat while it is followed.
        && !(args.follow && path.is_dir())
        && (whole || !has_beaten(&dir, end, workspace).with_context(unreadable)?)
    {
        refuse_unknown(path, workspace, &dir, env)?;
    }
    if found.is_empty() && !args.follow && !args.json {
        writeln!(out, "no beats to show; see: murmur status")?;
    }
    for read::Found { entry, line } in &found {
        printer.print(&mut out, entry, line)?;
    }
    out.flush()?;
    for error in selected.skipped {
        let _closed = writeln!(Shown(io::stderr()), "warning: {}", error.line());
    }
    warn_of_waiting(&dir);
    if args.follow {
        super::runtime()?.block_on(follow::follow(&dir, tail, &filter, &printer, &mut out))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Warns about lines that are not in the journal yet, with the reason.
fn warn_of_waiting(dir: &DataDir) {
    // `murmur status` reports read errors.
    let kept = unfinished::waiting(dir).unwrap_or_default();
    if kept == 0 {
        return;
    }
    // The daemon may hold more lines in memory.
    let told = super::runtime().ok().and_then(|runtime| runtime.block_on(client::status(dir)).ok());
    let runs = told.is_some();
    // The daemon counted them just now, and may have written them since.
    let (count, reason) = match told {
        Some(status) => (status.waiting_lines, status.waiting_reason),
        None => (kept, super::status::waits(dir)),
    };
    if count > 0 {
        let warning = waiting(count, reason.as_deref(), runs);
        let _closed = writeln!(Shown(io::stderr()), "warning: {warning}");
    }
}

/// Whether the journal has a line of `workspace`.
fn has_beaten(dir: &DataDir, end: Position, workspace: &str) -> io::Result<bool> {
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

struct Printer {
    json: bool,
    style: Style,
    zone: TimeZone,
}

impl Printer {
    fn print(&self, out: &mut impl Write, entry: &Entry, line: &[u8]) -> io::Result<()> {
        if self.json {
            out.write_all(line)?;
            return out.write_all(b"\n");
        }
        // The line of a beat shows its start; the line of a stuck agent, when it was noticed.
        let at = if entry.kind.is_beat() { entry.started() } else { entry.ended() };
        let when = at.map_or_else(
            || plain_line(&entry.ts),
            |at| at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        );
        let name =
            entry.heartbeat.as_deref().map(|name| format!("::{}", plain_line(name))).unwrap_or_default();
        let backend = backend_of(entry);
        let took = Duration::from_millis(entry.duration_ms);
        let seconds = match entry.kind.is_beat() {
            true => format!("{:.1}s", took.as_secs_f64()),
            false => {
                lasting(SignedDuration::from_mins(i64::try_from(took.as_secs() / 60).unwrap_or_default()))
            }
        };
        let text = text_of(entry.text().as_deref(), entry.stopped);
        let kind = entry.kind.label().map(|label| format!("{label}: ")).unwrap_or_default();
        let (style, workspace) = (self.style, plain_line(&entry.workspace));
        let remarks = remarks(entry);
        let line = format!(
            "{}  {} {:>7}  {workspace}{name}{backend}  {kind}{remarks}{text}",
            style.dim(when),
            style.outcome_of(entry.outcome, entry.stopped),
            seconds
        );
        writeln!(out, "{}", line.trim_end())
    }
}
