//! Formats a request for people: complete, and without terminal control characters.

use super::super::style::Style;
use crate::daemon::broker::{RequestKind, RequestRow};
use jiff::Timestamp;
use murmur_core::permit::call_text;
use shell_guard::line::Command;
use std::io::{self, Write};
use std::time::Duration;
use sys::text::{shown, shown_line};

/// Writes `row` as a paragraph.
pub(in crate::cli) fn paragraph(
    out: &mut impl Write,
    style: Style,
    row: &RequestRow,
    now: Timestamp,
) -> io::Result<()> {
    let (agent, workspace) = (shown_line(&row.agent), shown_line(&row.workspace.display().to_string()));
    let agent = if agent.is_empty() { "an agent without a name" } else { &agent };
    writeln!(out, "{}  {}  {agent} in {workspace}", style.bold(&row.id), shown_line(&row.tool))?;
    for line in input(row).lines() {
        writeln!(out, "    {line}")?;
    }
    for note in call_text::lookalike_notes(&row.input) {
        writeln!(out, "  note: {note}")?;
    }
    if row.cwd != row.workspace {
        writeln!(out, "  in {}", shown_line(&row.cwd.display().to_string()))?;
    }
    if let Some(doubt) = &row.doubt {
        writeln!(out, "  the guard cannot tell what it does: {}", shown_line(doubt))?;
    } else if let Some(reading) = reading(row) {
        writeln!(out, "  {reading}")?;
    }
    writeln!(out, "  {}", style.dim(times(row, now)))
}

/// The commands that a command line runs, as the guard reads it, if that says more than the line itself.
pub(in crate::cli) fn reading(row: &RequestRow) -> Option<String> {
    let line = row.input.get("command").filter(|_| row.kind == RequestKind::Permission)?.as_str()?;
    let mut texts = Vec::new();
    gather(&shell_guard::shell::commands(line).ok()?, &mut texts);
    let says_more = texts.len() > 1 || texts.first().is_some_and(|only| *only != shown(line.trim()));
    says_more.then(|| format!("the guard reads: {}", texts.join("; ")))
}

/// Adds the texts of commands; each command precedes those that it runs.
fn gather(commands: &[Command], texts: &mut Vec<String>) {
    for command in commands {
        let writes = command.writes.iter().map(|file| format!(" > {}", file.as_deref().unwrap_or("?")));
        let text = format!("{}{}", command.text, writes.collect::<String>());
        texts.push(shown(&text).replace('\n', "\\n"));
        gather(&command.inner, texts);
    }
}

/// The complete input of the call.
pub(in crate::cli) fn input(row: &RequestRow) -> String {
    call_text::input(&row.input, row.kind == RequestKind::Question)
}

fn times(row: &RequestRow, now: Timestamp) -> String {
    let span = |from: Timestamp, to: Timestamp| {
        let seconds = u64::try_from(to.duration_since(from).as_secs()).unwrap_or_default();
        humantime::format_duration(Duration::from_secs(seconds)).to_string()
    };
    let age = row.asked_at.parse().map(|at| format!("asked {} ago", span(at, now)));
    let age = age.unwrap_or_else(|_| "asked some time ago".to_owned());
    let left = row.expires_at.as_deref().and_then(|until| until.parse().ok());
    let left = left.map(|until| format!(", {} left", span(now, until))).unwrap_or_default();
    let word = match row.state.as_str() {
        "deferred" => ", its beat continues after your answer",
        "answered" => ", answered: its beat resumes soon",
        _ => "",
    };
    format!("{age}{left}{word}")
}
