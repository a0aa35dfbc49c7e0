//! How `murmur log` prints a beat: on a terminal as a row that fits, elsewhere as a whole line.

use super::super::agents::columns;
use super::super::fitted::{cut, cut_at_word, dollars, pad};
use super::super::heartbeat_name::short;
use super::super::show::took;
use super::super::style::{Colors, Style, in_parentheses, plain_line, remarks, shortened, text_of, word};
use derun::cli::span::span;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use murmur_store::journal::entry::JournalEntry;
use std::io::{self, Write};
use std::time::Duration;
use sys::clock;
use unicode_width::UnicodeWidthStr;

/// The width of a terminal that doesn't report one.
const WIDTH: usize = 80;

/// How much of an id is shown at least: a UUIDv7's first 11 characters change every 256 ms.
const ID: usize = 11;

/// How much of an id is shown at most. Beats that start together differ after their 14th character.
const MOST: usize = 18;

/// How much of a heartbeat's name is shown at most, on a narrow terminal.
const NAME: usize = 18;

/// Narrower terminals keep room for some text.
const NARROW: usize = 60;

/// How much.
const TEXT: usize = 12;

/// How much of a heartbeat's name is shown at least.
const LEAST: usize = 4;

/// How a beat is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The journal line.
    Json,
    /// Only id, outcome, name and summary.
    OneLine,
    /// A row that fits the terminal.
    Table,
    /// A line with everything.
    Whole,
}

/// Prints beats.
pub(super) struct Printer {
    form: Form,
    style: Style,
    zone: TimeZone,
    /// The terminal's width.
    width: Option<usize>,
    columns: Columns,
}

/// The widths of columns.
#[derive(Debug, Clone, Copy)]
struct Columns {
    id: usize,
    when: usize,
    name: usize,
    outcome: usize,
    took: usize,
    cost: usize,
}

impl Columns {
    /// Those for which a terminal of this width has room, with some for the text on a narrow one. Others have no width.
    fn within(mut self, width: usize) -> Self {
        let text = if width < NARROW { TEXT } else { 0 };
        let dropped: [fn(&mut Self) -> &mut usize; 4] = [
            |columns| &mut columns.cost,
            |columns| &mut columns.took,
            |columns| &mut columns.id,
            |columns| &mut columns.when,
        ];
        for column in dropped {
            if self.width() + text <= width {
                return self;
            }
            *column(&mut self) = 0;
        }
        let excess = self.width().saturating_sub(width);
        self.name = self.name.saturating_sub(excess).max(LEAST);
        self
    }

    /// How much room they take, with the gaps between them.
    fn width(self) -> usize {
        let widths = [self.id, self.when, self.name, self.outcome, self.took, self.cost];
        widths.into_iter().filter(|width| *width > 0).map(|width| width + 2).sum::<usize>().saturating_sub(2)
    }
}

impl Printer {
    pub(super) fn new(form: Form, style: Style, is_terminal: bool) -> Self {
        let width = is_terminal.then(|| columns().unwrap_or(WIDTH));
        let columns = Columns { id: ID, when: 5, name: 4, outcome: 2, took: 2, cost: 0 };
        Self { form, style, zone: clock::local_zone(), width, columns }
    }

    /// Makes the columns wide enough for `entries`.
    pub(super) fn fit<'a>(&mut self, entries: impl Iterator<Item = &'a JournalEntry>) {
        let mut ids = Vec::new();
        for entry in entries {
            ids.extend(entry.beat.as_ref().map(|beat| plain_line(beat.as_str())));
            let columns = &mut self.columns;
            let most = self.width.filter(|width| *width < 100).map_or(40, |_| NAME);
            columns.name = columns.name.max(name(entry).width().min(most));
            columns.outcome = columns.outcome.max(word(entry).len());
            columns.took = columns.took.max(duration(entry).len());
            columns.cost = columns.cost.max(cost(entry).len());
            columns.when = columns.when.max(when(entry, &self.zone).len());
        }
        // Long enough to tell the shown beats apart.
        ids.sort_unstable();
        ids.dedup();
        let same =
            |one: &str, other: &str| one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        let longest = ids.windows(2).map(|pair| same(&pair[0], &pair[1]) + 1).max().unwrap_or_default();
        let most = ids.iter().map(|id| id.width()).max().unwrap_or_default();
        self.columns.id = longest.clamp(ID, MOST).min(most);
    }

    pub(super) fn print(&self, out: &mut impl Write, entry: &JournalEntry, line: &[u8]) -> io::Result<()> {
        match self.form {
            Form::Json => {
                out.write_all(line)?;
                out.write_all(b"\n")
            }
            Form::OneLine => self.print_short(out, entry),
            Form::Table => self.print_row(out, entry),
            Form::Whole => self.print_whole(out, entry),
        }
    }

    fn print_short(&self, out: &mut impl Write, entry: &JournalEntry) -> io::Result<()> {
        let begin = format!("{} {} {}", self.id(entry), pad(word(entry), 9), name(entry));
        let text = self.text(entry);
        let text = if text.is_empty() { String::new() } else { format!(": {text}") };
        let line = format!("{begin}{text}");
        let line = self.width.map_or(line.clone(), |width| cut_at_word(&line, width));
        writeln!(out, "{}", line.trim_end())
    }

    fn print_row(&self, out: &mut impl Write, entry: &JournalEntry) -> io::Result<()> {
        let width = self.width.unwrap_or(WIDTH);
        let Columns { id, when: when_width, name: name_width, outcome, took, cost: cost_width } =
            self.columns.within(width);
        let joined = |cells: &[String]| {
            cells.iter().filter(|cell| !cell.is_empty()).map(String::as_str).collect::<Vec<_>>().join("  ")
        };
        let cell = |width: usize, text: String| if width == 0 { String::new() } else { text };
        let left =
            joined(&[cell(id, self.id(entry)), cell(when_width, pad(&when(entry, &self.zone), when_width))]);
        let name = pad(&cut(&name(entry), name_width), name_width);
        let outcome = pad(word(entry), outcome);
        let right = joined(&[
            cell(took, format!("{:>took$}", duration(entry))),
            cell(cost_width, format!("{:>cost_width$}", cost(entry))),
        ]);
        let begin = joined(&[left.clone(), name.clone(), outcome.clone(), right.clone()]);
        if begin.width() > width {
            return writeln!(out, "{}", cut(&begin, width));
        }
        let text = cut_at_word(&self.text(entry), width.saturating_sub(begin.width() + 2));
        let left = if left.is_empty() { left } else { self.style.dim(left) };
        let outcome = self.style.painted_as(entry, &outcome);
        let cells = [left, name, outcome, right, text];
        writeln!(out, "{}", joined(&cells).trim_end())
    }

    fn print_whole(&self, out: &mut impl Write, entry: &JournalEntry) -> io::Result<()> {
        // The line of a beat shows its start; the line of a stuck agent, when it was noticed.
        let at = if entry.kind.is_beat() { entry.started() } else { entry.ended() };
        let when = at.map_or_else(
            || plain_line(&entry.ts),
            |at| at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        );
        let name =
            entry.heartbeat.as_deref().map(|name| format!("::{}", plain_line(name))).unwrap_or_default();
        let took = Duration::from_millis(entry.duration_ms);
        let seconds = match entry.kind.is_beat() {
            true => format!("{:.1}s", took.as_secs_f64()),
            false => span(SignedDuration::from_mins(i64::try_from(took.as_secs() / 60).unwrap_or_default())),
        };
        let text = text_of(entry);
        let kind = entry.kind.label().map(|label| format!("{label}: ")).unwrap_or_default();
        let (style, workspace, backend) =
            (self.style, plain_line(&entry.workspace), in_parentheses(&entry.backend));
        let remarks = remarks(entry);
        let line = format!(
            "{}  {} {:>7}  {workspace}{name}{backend}  {kind}{remarks}{text}",
            style.dim(when),
            style.outcome_of(entry.outcome, entry.is_stopped()),
            seconds
        );
        writeln!(out, "{}", line.trim_end())
    }

    fn id(&self, entry: &JournalEntry) -> String {
        let id = entry.beat.as_ref().map(|beat| plain_line(beat.as_str())).unwrap_or_default();
        pad(&id.chars().take(self.columns.id).collect::<String>(), self.columns.id)
    }

    /// What happened, shortened to what a terminal could show.
    fn text(&self, entry: &JournalEntry) -> String {
        let text = entry.text_after_outcome();
        let text = match self.width {
            // Don't go through megabytes of text to show a line of it.
            Some(_) => text.map(|text| shortened(&text.chars().take(4000).collect::<String>(), 1000)),
            None => text.map(|text| plain_line(&text)),
        };
        let kind = entry.kind.label().map(|label| format!("{label}: ")).unwrap_or_default();
        format!("{kind}{}{}", remarks(entry), text.unwrap_or_default())
    }
}

fn name(entry: &JournalEntry) -> String {
    let name = plain_line(&short(&entry.workspace, entry.heartbeat.as_deref()));
    format!("{name}{}", in_parentheses(&entry.backend))
}

/// The local time: of today only the time, otherwise with the day.
fn when(entry: &JournalEntry, zone: &TimeZone) -> String {
    let at = if entry.kind.is_beat() { entry.started() } else { entry.ended() };
    let Some(at) = at else { return "unknown".to_owned() };
    let (at, now) = (at.to_zoned(zone.clone()), clock::now().to_zoned(zone.clone()));
    let form = match () {
        () if at.date() == now.date() => "%H:%M",
        () if at.year() == now.year() => "%m-%d %H:%M",
        () => "%Y-%m-%d",
    };
    at.strftime(form).to_string()
}

/// A duration in at most six characters.
fn duration(entry: &JournalEntry) -> String {
    took(entry.duration_ms).replace(' ', "")
}

fn cost(entry: &JournalEntry) -> String {
    entry.cost_usd.filter(|usd| *usd > 0.0).map(dollars).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_has_fewer_columns_and_room_for_text() {
        let all = Columns { id: 11, when: 5, name: 18, outcome: 9, took: 5, cost: 6 };
        let within = |width| {
            let Columns { id, when, name, outcome, took, cost } = all.within(width);
            [id, when, name, outcome, took, cost]
        };
        assert_eq!(within(80), [11, 5, 18, 9, 5, 6]);
        assert_eq!(within(62), [11, 5, 18, 9, 5, 0]);
        assert_eq!(within(48), [0, 5, 18, 9, 0, 0]);
        assert_eq!(within(40), [0, 0, 18, 9, 0, 0]);
        assert_eq!(within(20), [0, 0, 9, 9, 0, 0]);
    }
}
