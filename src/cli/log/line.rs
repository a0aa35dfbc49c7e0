//! How `murmur log` prints a beat: on a terminal as a row that fits, elsewhere as a whole line.

use super::super::agents::columns;
use super::super::heartbeat_name::ShortNames;
use super::super::show::took;
use super::super::style::{
    Colors, Style, in_parentheses, plain_line, remarks, shortened, text_of, text_to_show, word,
};
use derun::cli::fitted::{cut, cut_at_word, cut_middle, dollars, pad};
use derun::cli::json;
use derun::cli::span::span;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use murmur_store::journal::entry::JournalEntry;
use std::io::{self, Write};
use std::time::Duration;
use sys::clock;
use sys::text::{distinct, shown_line};
use unicode_width::UnicodeWidthStr;

/// The width of a terminal that doesn't report one.
const WIDTH: usize = 80;

/// How much of an id is shown at least: a UUIDv7's first 11 characters change every 256 ms.
const ID: usize = 11;

/// How much of an id is shown at most. Beats that start together differ after their 14th character.
const MAX_ID_WIDTH: usize = 18;

/// How much of a heartbeat's name is shown at most, on a narrow terminal.
const NAME: usize = 18;

/// How much room a row has for its text; with less, the text has a line of its own.
const TEXT: usize = 12;

/// How much next to duration and cost.
const LEAST: usize = 8;

/// How much on a terminal narrower than [`WIDTH`].
const NARROW_LEAST: usize = 20;

/// What separates columns, and what lines of a beat that follow its first one begin with.
const INDENT: &str = "  ";

/// How a beat is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The journal line.
    Json,
    /// Only id, outcome, name and text.
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
    names: ShortNames,
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
    /// Those for which a terminal of this width has room next to the text. Others have no width. `None` if a row has no
    /// room.
    fn within(mut self, width: usize) -> Option<Self> {
        let dropped: [fn(&mut Self) -> &mut usize; 2] =
            [|columns| &mut columns.cost, |columns| &mut columns.took];
        let least = if width < WIDTH { NARROW_LEAST } else { LEAST };
        for column in dropped {
            if self.width() + least <= width {
                return Some(self);
            }
            *column(&mut self) = 0;
        }
        (self.width() + TEXT <= width).then_some(self)
    }

    /// How much room they take, with the gaps after them.
    fn width(self) -> usize {
        let widths = [self.id, self.when, self.name, self.outcome, self.took, self.cost];
        widths.into_iter().filter(|width| *width > 0).map(|width| width + 2).sum()
    }
}

impl Printer {
    pub(super) fn new(form: Form, style: Style, is_terminal: bool) -> Self {
        let width = is_terminal.then(|| columns().unwrap_or(WIDTH));
        let columns = Columns { id: ID, when: 5, name: 4, outcome: 2, took: 2, cost: 0 };
        Self { form, style, zone: clock::local_zone(), width, columns, names: ShortNames::default() }
    }

    /// Makes the columns wide enough for `entries`, whose heartbeats have these `names`.
    pub(super) fn fit<'a>(&mut self, entries: impl Iterator<Item = &'a JournalEntry>, names: ShortNames) {
        self.names = names;
        let mut ids = Vec::new();
        for entry in entries {
            ids.extend(entry.beat.as_ref().map(|beat| plain_line(beat.as_str())));
            let name = self.name(entry).width();
            let columns = &mut self.columns;
            let most = self.width.filter(|width| *width < 100).map_or(40, |_| NAME);
            columns.name = columns.name.max(name.min(most));
            columns.outcome = columns.outcome.max(word(entry).len());
            columns.took = columns.took.max(duration(entry).len());
            columns.cost = columns.cost.max(cost(entry).len());
            columns.when = columns.when.max(when(entry, &self.zone).len());
        }
        // Long enough to tell the shown beats apart.
        let most = ids.iter().map(|id| id.width()).max().unwrap_or_default();
        self.columns.id = distinct(ids).clamp(ID, MAX_ID_WIDTH).min(most);
    }

    pub(super) fn print(&self, out: &mut impl Write, entry: &JournalEntry, line: &[u8]) -> io::Result<()> {
        match self.form {
            Form::Json => {
                writeln!(out, "{}", json::escaped(&String::from_utf8_lossy(line)))
            }
            Form::OneLine => self.print_short(out, entry),
            Form::Table => self.print_row(out, entry),
            Form::Whole => self.print_whole(out, entry),
        }
    }

    fn print_short(&self, out: &mut impl Write, entry: &JournalEntry) -> io::Result<()> {
        let begin = format!("{} {} {}", self.id(entry), pad(word(entry), 9), self.name(entry));
        let text = self.text(entry);
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(begin.width() + 2));
        if text.is_empty() || room < LEAST {
            let begin = cut(begin.trim_end(), self.width.unwrap_or(usize::MAX));
            return writeln!(out, "{begin}");
        }
        writeln!(out, "{begin}: {}", cut_at_word(&text, room))
    }

    fn print_row(&self, out: &mut impl Write, entry: &JournalEntry) -> io::Result<()> {
        let width = self.width.unwrap_or(WIDTH);
        let Some(columns) = self.columns.within(width) else { return self.print_lines(out, entry, width) };
        let mut line =
            self.style.dim(format!("{}  {}", self.id(entry), pad(&when(entry, &self.zone), columns.when)));
        let name = pad(&cut_middle(&self.name(entry), columns.name), columns.name);
        let outcome = self.style.painted_as(entry, &pad(word(entry), columns.outcome));
        line.push_str(&format!("  {name}  {outcome}"));
        for (width, cell) in [(columns.took, duration(entry)), (columns.cost, cost(entry))] {
            if width > 0 {
                line.push_str(&format!("  {cell:>width$}"));
            }
        }
        let text = cut_at_word(&self.text(entry), width.saturating_sub(columns.width()));
        writeln!(out, "{}", format!("{line}  {text}").trim_end())
    }

    /// Prints a beat on a terminal without room for a row: as many columns in each line as fit, then its text.
    fn print_lines(&self, out: &mut impl Write, entry: &JournalEntry, width: usize) -> io::Result<()> {
        let most = width.saturating_sub(INDENT.len());
        let id = self.id(entry).trim_end().to_owned();
        let (when, name) = (when(entry, &self.zone), cut_middle(&self.name(entry), most));
        let cells = [
            (id.width(), self.style.dim(id)),
            (when.len(), self.style.dim(when)),
            (name.width(), name),
            (word(entry).len(), self.style.painted_as(entry, word(entry))),
        ];
        let (mut line, mut used) = (String::new(), 0);
        for (index, (cell_width, cell)) in cells.into_iter().filter(|(width, _)| *width > 0).enumerate() {
            if index > 0 && used + 2 + cell_width > width {
                writeln!(out, "{}", line.trim_end())?;
                (line, used) = (String::new(), 0);
            }
            let gap = if index > 0 { INDENT } else { "" };
            line.push_str(gap);
            line.push_str(&cell);
            used += gap.len() + cell_width;
        }
        writeln!(out, "{}", line.trim_end())?;
        match cut_at_word(&self.text(entry), most) {
            text if text.is_empty() => Ok(()),
            text => writeln!(out, "{INDENT}{text}"),
        }
    }

    fn print_whole(&self, out: &mut impl Write, entry: &JournalEntry) -> io::Result<()> {
        // The line of a beat shows its start; the line of a stuck agent, when it was noticed.
        let at = if entry.kind.is_beat() { entry.started() } else { entry.ended() };
        let when = at.map_or_else(
            || plain_line(&entry.ts),
            |at| at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        );
        let name =
            entry.heartbeat.as_deref().map(|name| format!("::{}", shown_line(name))).unwrap_or_default();
        let took = Duration::from_millis(entry.duration_ms);
        let seconds = match entry.kind.is_beat() {
            true => format!("{:.1}s", took.as_secs_f64()),
            false => span(SignedDuration::from_mins(i64::try_from(took.as_secs() / 60).unwrap_or_default())),
        };
        let text = text_of(entry);
        let kind = entry.kind.label().map(|label| format!("{label}: ")).unwrap_or_default();
        let (style, workspace, backend) =
            (self.style, shown_line(&entry.workspace), in_parentheses(&entry.backend));
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

    fn name(&self, entry: &JournalEntry) -> String {
        let name = self.names.of_heartbeat(&entry.workspace, entry.heartbeat.as_deref());
        format!("{}{}", shown_line(&name), in_parentheses(&entry.backend))
    }

    /// What happened, shortened to what a terminal could show.
    fn text(&self, entry: &JournalEntry) -> String {
        let text = match self.width {
            // Don't go through megabytes of text to show a line of it.
            Some(_) => shortened(&text_to_show(entry, 4000), 1000),
            None => text_of(entry),
        };
        let kind = entry.kind.label().map(|label| format!("{label}: ")).unwrap_or_default();
        format!("{kind}{}{text}", remarks(entry)).trim_end().to_owned()
    }
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
    use murmur_core::outcome::OutcomeKind;

    #[test]
    fn a_narrow_terminal_has_fewer_columns_and_room_for_text() {
        let all = Columns { id: 11, when: 5, name: 18, outcome: 9, took: 5, cost: 6 };
        let within = |width| {
            let Columns { id, when, name, outcome, took, cost } = all.within(width)?;
            Some([id, when, name, outcome, took, cost])
        };
        assert_eq!(within(80), Some([11, 5, 18, 9, 5, 6]));
        assert_eq!(within(79), Some([11, 5, 18, 9, 5, 0]));
        assert_eq!(within(77), Some([11, 5, 18, 9, 0, 0]));
        assert_eq!(within(63), Some([11, 5, 18, 9, 0, 0]));
        assert_eq!(within(62), None);
    }

    #[test]
    fn a_beat_has_several_lines_where_a_row_has_no_room() {
        let beat = Some(murmur_core::id::BeatId::new("019c2551-ab45-7000-8000-000000000000"));
        let entry = JournalEntry {
            beat,
            summary: Some("ATTENTION: test_login fails.".to_owned()),
            ..JournalEntry::new(String::new(), "/home/me/site".to_owned(), OutcomeKind::Attention, 12_000)
        };
        let lines = |width| {
            let mut printer = Printer::new(Form::Table, Style::none(), false);
            printer.width = Some(width);
            printer.fit(std::iter::once(&entry), ShortNames::default());
            let mut out = Vec::new();
            printer.print(&mut out, &entry, b"").unwrap();
            String::from_utf8(out).unwrap()
        };
        insta::assert_snapshot!(format!("{}{}{}", lines(20), lines(40), lines(60)), @"
        019c2551-ab  unknown
          site  attention
          ATTENTION:…
        019c2551-ab  unknown  site  attention
          ATTENTION: test_login fails.
        019c2551-ab  unknown  site  attention  ATTENTION:…
        ");
    }
}
