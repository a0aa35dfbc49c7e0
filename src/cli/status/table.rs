//! The heartbeats as `murmur status` shows them on a terminal: one line each, problems first, then what needs a person.
//!
//! The crate comfy-table would only replace the padding: it wraps cells, while this table leaves out times without room
//! for them, cuts names in the middle, and gives text a line of its own on a narrow terminal.

use super::detail::{self, held_at, hint_of};
use crate::cli::agents::columns;
use crate::cli::heartbeat_name::{ShortNames, short as short_name};
use crate::cli::style::{Colors, Style, beat_text, plain_line, undecided};
use crate::daemon::status::HeartbeatStatus;
use derun::cli::fitted::{cut_at_word, cut_middle, pad};
use derun::cli::span::span;
use jiff::Timestamp;
use murmur_core::outcome::OutcomeKind;
use std::collections::HashMap;
use std::io::{self, Write};
use sys::paths::DataDir;
use sys::terminal;
use sys::text::shown_line;
use unicode_width::UnicodeWidthStr;

/// The width of a terminal that doesn't report one.
const WIDTH: usize = 80;

/// How many lines are printed besides those of heartbeats, at least.
const OTHERS: usize = 6;

/// How wide a name may be.
const NAME: usize = 24;

/// On narrower terminals, names leave room for [`TEXT`].
const NARROW: usize = 60;

/// The least room for text; with less, it has a line of its own.
const TEXT: usize = 12;

/// How wide a name is at least.
const LEAST: usize = 4;

/// A line, and how urgent it is: 0 for a problem, 1 if it needs a person, 2 otherwise.
struct HeartbeatRow {
    urgency: u8,
    name: String,
    state: &'static str,
    /// The color of the state.
    outcome: Option<OutcomeKind>,
    /// How long it has been running, or how long ago it ended.
    when: String,
    next: String,
    text: String,
}

pub(super) fn print(
    out: &mut impl Write,
    style: Style,
    heartbeats: &[HeartbeatStatus],
    (dir, has_daemon): (&DataDir, bool),
    now: Timestamp,
) -> io::Result<()> {
    let row = |(heartbeat, name)| HeartbeatRow { name, ..row(heartbeat, dir, has_daemon, now) };
    let mut rows: Vec<HeartbeatRow> = heartbeats.iter().zip(names(heartbeats)).map(row).collect();
    rows.sort_by_key(|row| row.urgency);
    let widest =
        |cell: fn(&HeartbeatRow) -> &str| rows.iter().map(|row| cell(row).width()).max().unwrap_or(0);
    let name = widest(|row| &row.name).min(NAME);
    let state = widest(|row| row.state);
    let (mut when, mut next) = (widest(|row| &row.when), widest(|row| &row.next));
    let width = columns().unwrap_or(WIDTH);
    let gap = |column: usize| if column == 0 { 0 } else { column + 2 };
    // Without room for it, the text has a line of its own.
    let is_below = name + state + 4 + TEXT > width;
    // What is wrong matters more than when it runs.
    let text = if width < NARROW && !is_below { TEXT } else { 0 };
    if name + state + gap(when) + gap(next) + 4 + text > width {
        next = 0;
    }
    if name + state + gap(when) + 4 + text > width {
        when = 0;
    }
    let name = name.min(width.saturating_sub(state + 2)).max(LEAST);
    writeln!(out)?;
    for row in &rows {
        let begin = pad(&cut_middle(&row.name, name), name);
        let used = if is_below { 2 } else { name + state + gap(when) + gap(next) + 4 };
        let text = cut_at_word(&row.text, width.saturating_sub(used));
        let between = if is_below && !text.is_empty() { "\n" } else { "" };
        let word = pad(row.state, state);
        let word = row.outcome.map_or(word.clone(), |outcome| {
            // Without its padding, which is as wide as the longest outcome.
            style.outcome(outcome).replace(&format!("{outcome:<9}"), &word)
        });
        let cells = [(when, &row.when), (next, &row.next)].into_iter().filter(|(width, _)| *width > 0);
        let times: String = cells.map(|(width, cell)| format!("  {}", pad(cell, width))).collect();
        let mut line = format!("{begin}  {word}{times}");
        if is_below {
            line.truncate(line.trim_end().len());
        }
        writeln!(out, "{}", format!("{line}{between}  {text}").trim_end())?;
    }
    writeln!(out)?;
    if is_long(rows.len()) {
        urgent(out, &rows, width)?;
    }
    writeln!(out, "for details, run: murmur status -v")
}

/// Whether this many heartbeats, one line each, are more than the screen shows, so that those on top scroll away.
pub(super) fn is_long(heartbeats: usize) -> bool {
    let rows = terminal::size().map_or(0, |size| usize::from(size.ws_row));
    rows > 0 && heartbeats + OTHERS > rows
}

/// Prints again, below the others, which heartbeats have problems and which need a person, one line for each kind.
fn urgent(out: &mut impl Write, rows: &[HeartbeatRow], width: usize) -> io::Result<()> {
    for (urgency, one, many) in [(0, "has a problem", "have problems"), (1, "needs you", "need you")] {
        let names: Vec<&str> =
            rows.iter().filter(|row| row.urgency == urgency).map(|row| &*row.name).collect();
        if !names.is_empty() {
            let what = if names.len() == 1 { one } else { many };
            let line = format!("{} {what}: {}", names.len(), names.join(", "));
            writeln!(out, "{}", cut_at_word(&line, width))?;
        }
    }
    Ok(())
}

/// What to call heartbeats: by their titles or, where several have the same, by what tells them apart.
pub(in crate::cli) fn names(heartbeats: &[HeartbeatStatus]) -> Vec<String> {
    let title = |heartbeat: &HeartbeatStatus| shown_line(&heartbeat.title);
    let short = |heartbeat: &HeartbeatStatus| {
        plain_line(&short_name(&heartbeat.workspace, heartbeat.name.as_deref()))
    };
    let (mut titles, mut shorts): (HashMap<String, usize>, HashMap<String, usize>) = Default::default();
    for heartbeat in heartbeats {
        *titles.entry(title(heartbeat)).or_default() += 1;
        *shorts.entry(short(heartbeat)).or_default() += 1;
    }
    let apart = ShortNames::of(heartbeats.iter().map(|heartbeat| &*heartbeat.workspace));
    let named = |heartbeat: &HeartbeatStatus| match (title(heartbeat), short(heartbeat)) {
        (title, _) if titles.get(&title) == Some(&1) => title,
        (_, short) if shorts.get(&short) == Some(&1) => short,
        _ => shown_line(&apart.of_heartbeat(&heartbeat.workspace, heartbeat.name.as_deref())),
    };
    heartbeats.iter().map(named).collect()
}

fn row(heartbeat: &HeartbeatStatus, dir: &DataDir, has_daemon: bool, now: Timestamp) -> HeartbeatRow {
    let last = heartbeat.last.as_ref();
    let (state, outcome) = match last {
        _ if detail::request_of_running(heartbeat).is_some() => ("waiting", Some(OutcomeKind::Attention)),
        _ if heartbeat.running.is_some() => ("running", None),
        _ if heartbeat.problem.is_some() => ("problem", Some(OutcomeKind::Error)),
        _ if heartbeat.waits_for.is_some() => ("waiting", Some(OutcomeKind::Attention)),
        _ if !heartbeat.approved => ("unapproved", Some(OutcomeKind::Attention)),
        _ if heartbeat.unedited => ("unedited", Some(OutcomeKind::Attention)),
        _ if !heartbeat.enabled => ("disabled", Some(OutcomeKind::Skipped)),
        _ if heartbeat.paused.is_some() => ("paused", Some(OutcomeKind::Skipped)),
        Some(last) if last.stopped => ("stopped", Some(OutcomeKind::Attention)),
        Some(last) => (last.outcome.as_str(), Some(last.outcome)),
        None => ("new", None),
    };
    let urgency = match outcome {
        Some(OutcomeKind::Error) => 0,
        _ if heartbeat.failures > 0 => 0,
        Some(OutcomeKind::Attention) => 1,
        _ if heartbeat.repository_untrusted || !heartbeat.notices.is_empty() => 1,
        _ => 2,
    };
    let ended = last.and_then(|last| last.ended_at.parse::<Timestamp>().ok());
    let ended = ended.map(|at| format!("{} ago", short(at, now)));
    let began = heartbeat.running.as_ref().map(|running| running.since.parse::<Timestamp>());
    let lasting = began.map(|at| at.map(|at| format!("for {}", short(at, now))).unwrap_or_default());
    let when = lasting.or(ended).unwrap_or_default();
    let next = heartbeat.next_run.as_deref();
    let held = next.and_then(|next| held_at(heartbeat, next));
    let at = held.map(|held| held.until.as_str()).or(next).filter(|_| has_daemon);
    let next = match at.and_then(|at| at.parse::<Timestamp>().ok()) {
        _ if heartbeat.running.is_some() || heartbeat.waits_for.is_some() => String::new(),
        Some(at) if at <= now => "due".to_owned(),
        Some(at) => format!("in {}", short(now, at)),
        None => String::new(),
    };
    let last_text = last.map(|last| {
        let text = last.text_after_outcome.as_deref().map(|text| plain_line(&beat_text(last.outcome, text)));
        format!("{}{}", undecided(last.undecided), text.unwrap_or_default())
    });
    // What the last beat said is over once the next one runs.
    let last_text = last_text.filter(|_| heartbeat.running.is_none());
    let hint = hint_of(heartbeat, dir);
    let text = hint.or_else(|| held.map(|held| held.why.clone())).or(last_text).unwrap_or_default();
    // A summary may be megabytes long.
    let text = plain_line(&text.chars().take(4000).collect::<String>());
    HeartbeatRow { urgency, name: String::new(), state, outcome, when, next, text }
}

/// The largest unit of a time span.
fn short(from: Timestamp, to: Timestamp) -> String {
    let text = span(to.duration_since(from));
    text.split(' ').next().unwrap_or_default().to_owned()
}
