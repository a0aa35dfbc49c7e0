//! Colour, on a terminal only, and never where NO_COLOR is set.

#[cfg(unix)]
use crate::doctor::Level;
#[cfg(unix)]
use crate::journal::entry::Entry;
#[cfg(unix)]
use crate::outcome::Kind;
#[cfg(unix)]
use crate::pulse::health::Health;
use crate::sys::text::is_hidden;
use std::fmt::Display;
use std::io::IsTerminal;

/// Whether to colour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    colour: bool,
}

impl Style {
    /// For what goes to stdout.
    pub(super) fn of_stdout() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { colour: !unwanted && std::io::stdout().is_terminal() }
    }

    /// The outcome, in its colour, padded to the longest.
    #[cfg(unix)]
    pub(super) fn outcome(self, kind: Kind) -> String {
        let code = match kind {
            Kind::Ok => "32",
            Kind::Attention => "33",
            Kind::Error => "31",
        };
        self.paint(code, format_args!("{kind:<9}"))
    }

    /// The same; a beat that somebody stopped didn't fail.
    #[cfg(unix)]
    pub(super) fn outcome_of(self, kind: Kind, stopped: bool) -> String {
        if stopped { self.paint("33", format_args!("{:<9}", "stopped")) } else { self.outcome(kind) }
    }

    /// How bad a finding is, in its colour, padded to the longest.
    #[cfg(unix)]
    pub(super) fn level(self, level: Level) -> String {
        let (code, word) = match level {
            Level::Ok => ("32", "ok"),
            Level::Warn => ("33", "warn"),
            Level::Fail => ("31", "fail"),
        };
        self.paint(code, format_args!("{word:<4}"))
    }

    /// How an agent is, in its colour.
    #[cfg(unix)]
    pub(super) fn health(self, health: Health) -> String {
        let code = match health {
            Health::Stuck | Health::Dead => "31",
            Health::Waiting | Health::Warning | Health::Stale => "33",
            Health::Active => "32",
            Health::Idle | Health::Exited => "2",
        };
        self.paint(code, health.word())
    }

    /// For what is no terminal.
    #[cfg(all(test, unix))]
    pub(super) fn none() -> Self {
        Self { colour: false }
    }

    #[cfg(unix)]
    pub(super) fn bold(self, text: impl Display) -> String {
        self.paint("1", text)
    }

    pub(super) fn dim(self, text: impl Display) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: impl Display) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}

/// One line of text that an agent wrote, with nothing in it that a terminal would obey.
pub(super) fn plain_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|character| !is_hidden(*character)));
    }
    line
}

/// Text that an agent wrote, its line breaks and tabs kept, with nothing else in it that a terminal would obey.
#[cfg(unix)]
pub(super) fn plain_text(text: &str) -> String {
    text.chars().filter(|character| !is_hidden(*character) || matches!(character, '\n' | '\t')).collect()
}

/// What is said of a beat before its text: how many of its calls were denied, how many of its background tasks were ended,
/// that it was stopped at its turn limit, and that its HEARTBEAT.md changed.
#[cfg(unix)]
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
