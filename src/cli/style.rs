//! Outcomes, findings and health in color; and text from agents, made safe for a terminal.

use crate::doctor::Level;
pub(super) use derun::cli::style::{Style, plain_line};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use murmur_core::config::backend::Backend;
use murmur_outcome::{EarlyEnd, OutcomeKind};
use murmur_store::journal::entry::JournalEntry;
use murmur_store::pulse::health::Health;
use std::sync::OnceLock;
use sys::clock;
pub(super) use sys::plain::plain as plain_text;

/// Values that murmur prints in color.
pub(super) trait Colors {
    /// The outcome, padded to the longest.
    fn outcome(self, kind: OutcomeKind) -> String;
    /// The outcome; a stopped beat did not fail.
    fn outcome_of(self, kind: OutcomeKind, stopped: bool) -> String;
    /// `text` in the color of the outcome of `entry`.
    fn painted_as(self, entry: &JournalEntry, text: &str) -> String;
    /// The severity of a finding, padded to the longest.
    fn level(self, level: Level) -> String;
    /// The health of an agent.
    fn health(self, health: Health) -> String;
}

impl Colors for Style {
    fn outcome(self, kind: OutcomeKind) -> String {
        self.paint(code(kind), format_args!("{kind:<9}"))
    }

    fn outcome_of(self, kind: OutcomeKind, stopped: bool) -> String {
        if stopped { self.paint(STOPPED, format_args!("{:<9}", "stopped")) } else { self.outcome(kind) }
    }

    fn painted_as(self, entry: &JournalEntry, text: &str) -> String {
        self.paint(if entry.is_stopped() { STOPPED } else { code(entry.outcome) }, text)
    }

    fn level(self, level: Level) -> String {
        let (code, word) = match level {
            Level::Ok => ("32", "ok"),
            Level::Warn => ("33", "warn"),
            Level::Fail => ("31", "fail"),
        };
        self.paint(code, format_args!("{word:<4}"))
    }

    fn health(self, health: Health) -> String {
        let code = match health {
            Health::Stuck | Health::Dead => "31",
            Health::Waiting | Health::Warning | Health::Stale => "33",
            Health::Active => "32",
            Health::Idle | Health::Exited => "2",
        };
        self.paint(code, health.as_str())
    }
}

/// The color of a stopped beat.
const STOPPED: &str = "33";

fn code(kind: OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Ok => "32",
        OutcomeKind::Attention => "33",
        OutcomeKind::Error => "31",
        OutcomeKind::Limited => "36",
        OutcomeKind::Skipped => "2",
    }
}

/// The outcome of `entry` in a word.
pub(super) fn word(entry: &JournalEntry) -> &'static str {
    if entry.is_stopped() { "stopped" } else { entry.outcome.as_str() }
}

/// The text of a journal line, to print after its outcome.
pub(super) fn text_of(entry: &JournalEntry) -> String {
    plain_line(&text_to_show(entry, usize::MAX))
}

/// The first `most` characters of that text.
pub(super) fn text_to_show(entry: &JournalEntry, most: usize) -> String {
    let text = entry.text_after_outcome().unwrap_or_default();
    let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
    let text = &text[..end];
    if entry.kind.is_beat() { beat_text(entry.outcome, text) } else { with_local_times(text) }
}

/// The text of a beat with this outcome, with local times unless it is what its agent said.
pub(super) fn beat_text(outcome: OutcomeKind, text: &str) -> String {
    match outcome {
        OutcomeKind::Ok | OutcomeKind::Attention => text.to_owned(),
        OutcomeKind::Error | OutcomeKind::Limited | OutcomeKind::Skipped => with_local_times(text),
    }
}

/// A text with the times of the journal in it as local ones.
pub(super) fn with_local_times(text: &str) -> String {
    // Reading the zone takes longer.
    if text.contains('Z') { clock::with_local_times(text, zone()) } else { text.to_owned() }
}

/// A text from an agent on one line, of at most `most` characters.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let line = plain_line(text);
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The backend of a heartbeat, beat or agent, after its name; empty for Claude Code.
pub(super) fn in_parentheses(backend: &Backend) -> String {
    if backend.is_default() { String::new() } else { format!(" ({backend})") }
}

/// Whether a beat reached its turn limit, which murmur or the agent itself watches.
pub(super) fn ran_out_of_turns(entry: &JournalEntry) -> bool {
    let is_limit = |error: &String| error.contains("Reached maximum number of turns");
    entry.early_end == Some(EarlyEnd::OutOfTurns) || entry.error.as_ref().is_some_and(is_limit)
}

/// How many calls ran without a decision, before a beat's text; empty for none.
pub(super) fn undecided(calls: usize) -> String {
    match calls {
        0 => String::new(),
        1 => "1 call ran without a decision  ".to_owned(),
        many => format!("{many} calls ran without a decision  "),
    }
}

/// Remarks before a beat's text: calls that ran without a decision, denied calls, ended background tasks, the turn
/// limit, and a changed HEARTBEAT.md.
pub(super) fn remarks(entry: &JournalEntry) -> String {
    let undecided = undecided(entry.undecided_count());
    let denied = match entry.denials.len() {
        0 => String::new(),
        1 => "1 call denied  ".to_owned(),
        many => format!("{many} calls denied  "),
    };
    let cost = if entry.cost_unknown { "reported no cost  " } else { "" };
    let changed = if entry.heartbeat_changed { "its HEARTBEAT.md changed  " } else { "" };
    let ended = match entry.background_ended {
        None | Some(0) => String::new(),
        Some(1) => "1 background task ended  ".to_owned(),
        Some(many) => format!("{many} background tasks ended  "),
    };
    let is_cut = entry.early_end == Some(EarlyEnd::OutOfTurns) && entry.outcome != OutcomeKind::Error;
    let cut = if is_cut { "stopped at its turn limit  " } else { "" };
    undecided + &denied + &ended + cost + cut + changed
}

/// A time for people: local, without a zone.
pub(super) fn local_time(at: Timestamp) -> String {
    at.to_zoned(zone().clone()).strftime("%F %T").to_string()
}

/// The local time zone, read once: some commands print thousands of times.
pub(super) fn zone() -> &'static TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(clock::local_zone)
}
