//! `murmur capture list`: lists captured sessions, newest first.

use super::args::Sessions as Args;
use super::captures;
use super::json;
use super::span::span;
use super::stdout::{note, stdout};
use super::style::{Style, plain_line};
use super::wrapped::output_width;
use crate::record::{Gap, Lost, Meta, SCHEMA_VERSION, State, TransportMode};
use crate::session::{Session, Status};
use crate::store::StoreError;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use std::collections::HashMap;
use std::io::{self, Write};
use std::process::ExitCode;
use sys::clock;
use sys::error::Hinted;
use sys::text::{below_a_minute, cut, distinct};
use unicode_width::UnicodeWidthStr;

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
        let row = store
            .session(id.as_str())
            .and_then(|session| Ok(SessionRow::new(&session, session.status(now)?)));
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
    let mut rows: Vec<SessionRow> = wanted.take(args.count).collect();
    show(&mut rows, args, now, ids.is_empty(), named)
}

fn show(
    rows: &mut [SessionRow],
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
        print(&mut out, rows, now, output_width())?;
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Listed<'a> {
    schema_version: &'static str,
    sessions: &'a [SessionRow],
}

/// A session. Keys that its files also have are named like there (README.md).
#[derive(Serialize)]
pub(super) struct SessionRow {
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

impl SessionRow {
    pub(super) fn new(session: &Session, status: Status) -> Self {
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
            Some(time) => {
                let ms = u64::try_from(time.as_millis()).unwrap_or_default();
                below_a_minute(ms).unwrap_or_else(|| span(time))
            }
        }
    }

    fn command(&self) -> String {
        let command = plain_line(&self.name.clone().unwrap_or_else(|| self.command.join(" ")));
        match command.char_indices().nth(COMMAND) {
            Some((end, _)) => format!("{}…", &command[..end]),
            None => command,
        }
    }

    /// The local time; if it is `short`, of this year without the year and seconds, of others only the day.
    fn started(&self, zone: &TimeZone, now: Timestamp, short: bool) -> String {
        let at = self.started_at.to_zoned(zone.clone());
        let form = match short {
            false => "%Y-%m-%d %H:%M:%S",
            true if at.year() == now.to_zoned(zone.clone()).year() => "%m-%d %H:%M",
            true => "%Y-%m-%d",
        };
        at.strftime(form).to_string()
    }
}

/// The narrowest terminal for all columns.
const WIDE: usize = 100;

/// How much of an id is shown at least on a narrower one, as in `murmur log`.
const ID: usize = 11;

/// How much room commands have before columns are dropped for them.
const LEAST: usize = 16;

/// The columns that are dropped for them, in this order.
const DROPPED: [usize; 3] = [DURATION, STARTED, STATE];
const STATE: usize = 1;
const STARTED: usize = 2;
const DURATION: usize = 3;
const BYTES: usize = 4;

/// Prints a table, on a terminal of this width if it is given: then each row fits it.
fn print(out: &mut impl Write, rows: &[SessionRow], now: Timestamp, width: Option<usize>) -> io::Result<()> {
    let (style, zone) = (Style::of_stdout(), clock::local_zone());
    let is_narrow = width.is_some_and(|width| width < WIDE);
    let mut id_width = rows.iter().map(|row| row.session_id.width()).max().unwrap_or(0);
    if is_narrow {
        let ids = rows.iter().map(|row| plain_line(&row.session_id)).collect();
        id_width = id_width.min(distinct(ids).max(ID));
    }
    let cells = |row: &SessionRow| {
        let bytes = row.output_bytes.map_or("?".to_owned(), size);
        [
            plain_line(&row.session_id).chars().take(id_width).collect(),
            row.state(),
            row.started(&zone, now, is_narrow),
            row.duration(now),
            bytes,
        ]
    };
    let mut table = vec![["ID", "STATE", "STARTED", "DURATION", "BYTES"].map(str::to_owned)];
    table.extend(rows.iter().map(cells));
    let mut widths: [usize; 5] =
        std::array::from_fn(|column| table.iter().map(|row| row[column].width()).max().unwrap_or(0));
    // As wide as other lists of the same command.
    (widths[DURATION], widths[BYTES]) = (widths[DURATION].max(8), widths[BYTES].max(10));
    let commands: Vec<String> =
        std::iter::once("COMMAND".to_owned()).chain(rows.iter().map(SessionRow::command)).collect();
    let mut shown: Vec<usize> = (0..widths.len()).filter(|column| !is_narrow || *column != BYTES).collect();
    let most = commands.iter().map(|command| command.width()).max().unwrap_or(0).min(LEAST);
    for column in DROPPED {
        let used: usize = shown.iter().map(|column| widths[*column] + 2).sum();
        if width.is_some_and(|width| used + most > width) {
            shown.retain(|kept| *kept != column);
        }
    }
    for (place, (cells, command)) in table.iter().zip(commands).enumerate() {
        let mut line = String::new();
        for column in &shown {
            let (cell, width) = (&cells[*column], widths[*column]);
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            match *column {
                DURATION | BYTES => line.extend([&*padding, cell, "  "]),
                _ => line.extend([&**cell, &*padding, "  "]),
            }
        }
        let line = cut(format!("{line}{command}").trim_end(), width.unwrap_or(usize::MAX));
        writeln!(out, "{}", if place == 0 { style.dim(line) } else { line })?;
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
