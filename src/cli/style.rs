//! Outcomes, findings and health in color; and text from agents, made safe for a terminal.

use crate::doctor::Level;
use crate::journal::entry::Entry;
use crate::outcome::Kind;
use crate::pulse::health::Health;
pub(super) use derun::cli::style::{Style, plain_line};
use sys::text::is_hidden;

/// What murmur shows in color.
pub(super) trait Colors {
    /// The outcome, in its color, padded to the longest.
    fn outcome(self, kind: Kind) -> String;
    /// The same; a beat that somebody stopped didn't fail.
    fn outcome_of(self, kind: Kind, stopped: bool) -> String;
    /// How bad a finding is, in its color, padded to the longest.
    fn level(self, level: Level) -> String;
    /// How an agent is, in its color.
    fn health(self, health: Health) -> String;
}

impl Colors for Style {
    fn outcome(self, kind: Kind) -> String {
        let code = match kind {
            Kind::Ok => "32",
            Kind::Attention => "33",
            Kind::Error => "31",
        };
        self.paint(code, format_args!("{kind:<9}"))
    }

    fn outcome_of(self, kind: Kind, stopped: bool) -> String {
        if stopped { self.paint("33", format_args!("{:<9}", "stopped")) } else { self.outcome(kind) }
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
        self.paint(code, health.word())
    }
}

/// The text of a beat behind its outcome, which says already that the beat was stopped.
pub(super) fn text_of(text: Option<&str>, stopped: bool) -> String {
    let text = plain_line(text.unwrap_or_default());
    match text.strip_prefix("stopped ").filter(|_| stopped) {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

/// Text that an agent wrote, its line breaks and tabs kept, with nothing else in it that a terminal would obey.
pub(super) fn plain_text(text: &str) -> String {
    text.chars().filter(|character| !is_hidden(*character) || matches!(character, '\n' | '\t')).collect()
}

/// What is said of a beat before its text: how many of its calls were denied, how many of its background tasks were ended,
/// that it was stopped at its turn limit, and that its HEARTBEAT.md changed.
pub(super) fn remarks(entry: &Entry) -> String {
    let denied = match entry.denials.len() {
        0 => String::new(),
        1 => "1 call denied  ".to_owned(),
        many => format!("{many} calls denied  "),
    };
    let changed = if entry.heartbeat_changed { "its HEARTBEAT.md changed  " } else { "" };
    let ended = match entry.background_ended {
        None | Some(0) => String::new(),
        Some(1) => "1 background task ended  ".to_owned(),
        Some(many) => format!("{many} background tasks ended  "),
    };
    let cut =
        if entry.out_of_turns && entry.outcome != Kind::Error { "stopped at its turn limit  " } else { "" };
    denied + &ended + cut + changed
}
