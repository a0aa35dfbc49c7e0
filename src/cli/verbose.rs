//! The output of a verbose beat: texts and calls as in `murmur show`, while it runs.

use super::show::denials::Denials;
use super::show::{Lines, cost, take};
use super::style::{Style, plain_line};
use jiff::Timestamp;
use murmur_agent::backend;
use murmur_agent::event::Event;
use murmur_agent::transcript::{Item, Transcript};
use murmur_core::config::backend::Backend;
use murmur_store::journal::entry::JournalEntry;
use std::io::{self, Write};
use std::time::Duration;
use sys::clock;
use sys::paths::DataDir;

/// How long a line waits for the result of its call.
pub(super) const RESULT_TIMEOUT: Duration = Duration::from_secs(1);

/// The output so far.
#[derive(Debug)]
pub(super) struct Verbose {
    transcript: Transcript,
    lines: Lines,
    denials: Denials,
    /// The last text of the agent.
    last: String,
}

impl Verbose {
    /// The output of a beat of `agent` that begins `now`.
    pub(super) fn new(dir: &DataDir, agent: &str, style: Style, now: Timestamp) -> Self {
        Self {
            transcript: Transcript::default(),
            lines: Lines { style, is_full: false },
            denials: Denials::from_now(dir, agent, now),
            last: String::new(),
        }
    }

    /// Handles an event, and prints what is complete. The outcome has the errors of the result.
    pub(super) fn event(&mut self, out: &mut impl Write, event: &Event<'_>) -> io::Result<()> {
        if !matches!(event, Event::Result(_)) {
            take(&mut self.transcript, event, Some(clock::now()));
        }
        while let Some(item) = self.transcript.complete() {
            self.item(out, &item)?;
        }
        Ok(())
    }

    /// Whether a call without a result holds lines back.
    pub(super) fn is_holding(&self) -> bool {
        self.transcript.is_holding()
    }

    /// Prints what is held back. The results of calls come later.
    pub(super) fn release(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.transcript.take_all().iter().try_for_each(|item| self.item(out, item))
    }

    /// Prints the rest.
    pub(super) fn finish(&mut self, out: &mut impl Write) -> io::Result<()> {
        let rest: Vec<Item> = self.transcript.finish().collect();
        rest.iter().try_for_each(|item| self.item(out, item))
    }

    /// The part of a beat's text that was not printed yet.
    pub(super) fn rest_of(&self, text: &str) -> String {
        unprinted(text, &plain_line(&self.last)).to_owned()
    }

    fn item(&mut self, out: &mut impl Write, item: &Item) -> io::Result<()> {
        if let Item::Text { parent, text } = item
            && parent.is_empty()
        {
            text.clone_into(&mut self.last);
        }
        self.lines.item(out, &mut self.denials, item)
    }
}

/// The part of `text` without `printed`, which it may begin or end with, and whose end it may lack.
fn unprinted<'a>(text: &'a str, printed: &str) -> &'a str {
    let is_start = |start: &str| !start.is_empty() && printed.starts_with(start);
    if text == printed || text.strip_suffix('…').is_some_and(is_start) {
        return "";
    }
    let without_dot = printed.strip_suffix('.').unwrap_or(printed);
    if printed.is_empty() {
        text
    } else if let Some(rest) = text.strip_prefix(without_dot) {
        let rest = rest.trim_start_matches([',', ';', '.', ' ']);
        rest.strip_prefix("but ").unwrap_or(rest)
    } else {
        text.strip_suffix(printed).map_or(text, |rest| rest.trim_end_matches([':', ' ']))
    }
}

/// A warning if murmur was not tested with this version of `backend`.
pub(super) fn unknown_version(event: &Event<'_>, backend: &Backend) -> Option<String> {
    let Event::Session { version, .. } = event else { return None };
    let (name, tested) = backend::tested(backend)?;
    if version.is_empty() || tested.iter().any(|known| version.starts_with(known)) {
        return None;
    }
    let tested: Vec<String> = tested.iter().map(|known| format!("{known}x")).collect();
    Some(format!("{name} {} was not tested with murmur (tested: {})", plain_line(version), tested.join(", ")))
}

/// What the beat cost, if it is known.
pub(super) fn summary(out: &mut impl Write, style: Style, entry: &JournalEntry) -> io::Result<()> {
    let cost = cost(entry);
    if cost.is_empty() { Ok(()) } else { writeln!(out, "{}", style.dim(cost)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_not_printed_twice() {
        for (text, printed, expected) in [
            ("ATTENTION: wet", "ATTENTION: wet", ""),
            ("ATTENTION: w…", "ATTENTION: wet", ""),
            ("No sudo, but the guard refused it", "No sudo.", "the guard refused it"),
            ("exited with code 1: API Error", "API Error", "exited with code 1"),
            ("timed out after 5m", "Looking.", "timed out after 5m"),
            ("timed out after 5m", "", "timed out after 5m"),
        ] {
            assert_eq!(unprinted(text, printed), expected, "{text}");
        }
    }
}
