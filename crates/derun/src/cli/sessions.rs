//! `murmur capture list`: lists captured sessions, newest first.

use super::args::Sessions as Args;
use super::captures;
use super::json;
use super::span::span;
use super::stdout::{note, stdout};
use super::style::{Style, plain_line};
use crate::record::{Gap, Lost, Meta, SCHEMA_VERSION, State, TransportMode};
use crate::session::{Session, Status};
use crate::store::StoreError;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use std::collections::HashMap;
use std::io::{self, Write};
use std::process::ExitCode;
use sys::clock;
use sys::error::Hinted;

/// How many characters of a command to show.
const COMMAND: usize = 100;

/// Prints the sessions, newest first.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    run_named(args, |_| HashMap::new())
}

/// Like [`run`], but people see the names that `named` gives to ids of sessions instead of their commands.
pub fn run_named(
    args: &Args,
    named: impl FnOnce(&[&str]) -> HashMap<String, String>,
) -> anyhow::Result<ExitCode> {
    let now = clock::now();
    let Some(store) = captures::existing()? else { return show(&mut [], args, now, true, named) };
    let ids = store.list()?;
    let looked = ids.iter().filter_map(|id| {
        let row = store.session(id.as_str()).and_then(|session| Ok(Row::new(&session, session.status(now)?)));
        match row {
            Ok(row) => Some(row),
            // Removed meanwhile by a sweep.
            Err(StoreError::NotFound(_)) => None,
            Err(error) => {
                let _closed = note(plain_line(&error.failure().to_string()));
                None
            }
        }
    });
    let wanted = looked.filter(|row| args.state.is_none_or(|wanted| row.state == wanted));
    let mut rows: Vec<Row> = wanted.take(args.count).collect();
    show(&mut rows, args, now, ids.is_empty(), named)
}

fn show(
    rows: &mut [Row],
    args: &Args,
    now: Timestamp,
    is_empty: bool,
    named: impl FnOnce(&[&str]) -> HashMap<String, String>,
) -> anyhow::Result<ExitCode> {
    let mut out = stdout().lock();
    if args.json {
        let listed = Listed { schema_version: SCHEMA_VERSION, sessions: rows };
        json::print(&mut out, "captures/1", &listed)?;
    } else if rows.is_empty() && is_empty {
        writeln!(out, "no sessions; see: murmur capture run -- COMMAND")?;
    } else if rows.is_empty() {
        writeln!(out, "no matching sessions; see: murmur capture list")?;
    } else {
        let ids: Vec<&str> = rows.iter().map(|row| &*row.session_id).collect();
        let mut names = named(&ids);
        for row in &mut *rows {
            row.name = names.remove(&row.session_id);
        }
        print(&mut out, rows, now)?;
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Listed<'a> {
    schema_version: &'static str,
    sessions: &'a [Row],
}

/// A session. Keys that its files also have are named like there (README.md).
#[derive(Serialize)]
struct Row {
    session_id: String,
    /// What people see instead of the command.
    #[serde(skip)]
    name: Option<String>,
    state: State,
    command: Vec<String>,
    working_directory: String,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    exit_code: Option<i32>,
    signal: Option<String>,
    error: Option<String>,
    lost: Option<Lost>,
    gap: Option<Gap>,
    /// `null` if unknown.
    output_bytes: Option<u64>,
    retention_seconds: u64,
    expires_at: Option<Timestamp>,
    transport_mode: TransportMode,
    tty_attached: bool,
    pid: u32,
}

impl Row {
    fn new(session: &Session, status: Status) -> Self {
        let (meta, last): (Meta, _) = (session.meta().clone(), status.last);
        let ended_at = last.as_ref().map(|last| last.ended_at);
        let exit_code = last.as_ref().and_then(|last| last.exit_code);
        let (signal, error, lost) =
            last.map_or((None, None, None), |last| (last.signal, last.error, last.lost));
        Self {
            session_id: session.id().to_string(),
            name: None,
            state: status.state,
            command: meta.command,
            working_directory: meta.working_directory,
            started_at: meta.started_at,
            ended_at,
            exit_code,
            signal,
            error,
            lost,
            gap: session.gap().ok().flatten(),
            output_bytes: session.end().ok(),
            retention_seconds: meta.retention_seconds,
            expires_at: status.expires_at,
            transport_mode: meta.transport_mode,
            tty_attached: meta.tty_attached,
            pid: meta.pid.unwrap_or(0),
        }
    }

    /// The state, with the exit code or signal.
    fn state(&self) -> String {
        match (self.exit_code, &self.signal) {
            (Some(code), _) => format!("{} {code}", self.state),
            (None, Some(signal)) => format!("{} {}", self.state, plain_line(signal)),
            (None, None) => self.state.to_string(),
        }
    }

    fn duration(&self, now: Timestamp) -> String {
        let end = self.ended_at.or_else(|| self.state.is_active().then_some(now));
        match end.map(|end| end.duration_since(self.started_at).max(SignedDuration::ZERO)) {
            None => "?".to_owned(),
            Some(short) if short.as_secs() < 60 => format!("{:.1}s", short.as_secs_f64()),
            Some(long) => span(long),
        }
    }

    fn command(&self) -> String {
        let command = plain_line(&self.name.clone().unwrap_or_else(|| self.command.join(" ")));
        match command.char_indices().nth(COMMAND) {
            Some((end, _)) => format!("{}…", &command[..end]),
            None => command,
        }
    }
}

fn print(out: &mut impl Write, rows: &[Row], now: Timestamp) -> io::Result<()> {
    let (style, zone) = (Style::of_stdout(), clock::local_zone());
    let ids: Vec<String> = rows.iter().map(|row| plain_line(&row.session_id)).collect();
    let states: Vec<String> = rows.iter().map(Row::state).collect();
    let longest = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let (id_width, state_width) = (longest(&ids).max(2), longest(&states).max(5));
    let header = format!(
        "{:<id_width$}  {:<state_width$}  {:<19}  {:>8}  {:>10}  COMMAND",
        "ID", "STATE", "STARTED", "DURATION", "BYTES"
    );
    writeln!(out, "{}", style.dim(header))?;
    for (row, (id, state)) in rows.iter().zip(ids.iter().zip(&states)) {
        let started = row.started_at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S");
        let (duration, bytes) = (row.duration(now), row.output_bytes.map_or("?".to_owned(), size));
        let line = format!(
            "{id:<id_width$}  {state:<state_width$}  {started}  {duration:>8}  {bytes:>10}  {}",
            row.command()
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A human-readable size: `12 B`, `1.5 MiB`.
fn size(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if size < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{size:.1} {unit}") };
        }
        size /= 1024.0;
    }
    format!("{size:.1} TiB")
}
