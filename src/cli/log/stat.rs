//! `murmur log --stat`: sums up the beats of each heartbeat.

use super::super::agents::columns;
use super::super::heartbeat_name::ShortNames;
use super::super::show::took;
use super::super::style::{Colors, Style, word};
use derun::cli::fitted::{cut, cut_middle, dollars, pad};
use derun::cli::json::print as print_json;
use derun::cli::stdout::{stdout, warn};
use derun::cli::wrapped::{output_width, wrapped};
use jiff::SignedDuration;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::read::{self, Filter};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use sys::clock;
use sys::error::Hinted;
use sys::paths::DataDir;
use sys::text::{Styled, shown_line};
use unicode_width::UnicodeWidthStr;

/// How far back beats count unless `--since` says otherwise.
const DAYS: i64 = 30;

/// How many outcomes are shown.
const STRIP: usize = 30;

/// How wide a name and the strip are before other columns are dropped for them.
const NAME: usize = 9;
const SHORT_STRIP: usize = 5;

/// The beats of a heartbeat.
#[derive(Default)]
struct Sum {
    /// The last outcomes, oldest first.
    last: VecDeque<JournalEntry>,
    durations: Vec<u64>,
    cost: Option<f64>,
}

impl Sum {
    /// Sorts the durations and returns the median, in milliseconds.
    fn median(&mut self) -> u64 {
        self.durations.sort_unstable();
        let count = self.durations.len();
        let at = |index: usize| self.durations.get(index).copied().unwrap_or_default();
        u64::midpoint(at(count.saturating_sub(1) / 2), at(count / 2))
    }
}

pub(super) fn show(dir: &DataDir, mut filter: Filter, style: Style, json: bool) -> anyhow::Result<ExitCode> {
    let month = SignedDuration::from_hours(24 * DAYS);
    filter.since = filter.since.or_else(|| clock::now().checked_sub(month).ok());
    let since = filter.since.map(clock::rfc3339);
    let mut entries = read::entries(&dir.journal(), None, &filter)?;
    let mut sums: BTreeMap<(String, Option<String>), Sum> = BTreeMap::new();
    while let Some(found) = entries.next_entry(|_| true)? {
        let entry = found.entry;
        if !entry.kind.is_beat() || !filter.matches(&entry) {
            continue;
        }
        let sum = sums.entry((entry.workspace.clone(), entry.heartbeat.clone())).or_default();
        sum.durations.push(entry.duration_ms);
        sum.cost = entry.cost_usd.map(|cost| sum.cost.unwrap_or(0.0) + cost).or(sum.cost);
        if sum.last.len() < STRIP {
            sum.last.push_front(JournalEntry { summary: None, error: None, ..entry });
        }
    }
    let mut out = Styled(stdout().lock());
    if json {
        let heartbeats: Vec<Value> = sums.into_iter().map(|(id, sum)| object(id, sum)).collect();
        print_json(&mut out, "log-stat/1", &json!({ "since": since, "heartbeats": heartbeats }))?;
    } else if sums.is_empty() {
        writeln!(out, "no beats to show; see: murmur status")?;
    } else {
        let names = ShortNames::beside_registered(dir, sums.keys().map(|(workspace, _)| &**workspace));
        table(&mut out, sums, &names, style)?;
    }
    out.flush()?;
    for error in entries.into_skipped() {
        let _closed = warn(error.line());
    }
    Ok(ExitCode::SUCCESS)
}

fn table(
    out: &mut impl Write,
    sums: BTreeMap<(String, Option<String>), Sum>,
    names: &ShortNames,
    style: Style,
) -> io::Result<()> {
    let head = ["HEARTBEAT", "RUNS", "MEDIAN", "COST"].map(str::to_owned);
    let rows: Vec<([String; 4], Vec<JournalEntry>)> = sums
        .into_iter()
        .map(|((workspace, name), sum)| row(names.of_heartbeat(&workspace, name.as_deref()), sum))
        .collect();
    let widest = |column: usize| {
        rows.iter().map(|(row, _)| row).chain([&head]).map(|row| row[column].width()).max().unwrap_or(0)
    };
    let mut widths: [usize; 4] = std::array::from_fn(widest);
    let (mut shown, mut strip) = (widths.len(), STRIP);
    if io::stdout().is_terminal() {
        let most = columns().unwrap_or(80);
        let others = |shown: usize| widths[1..shown].iter().map(|width| width + 2).sum::<usize>() + 2;
        while shown > 1 && NAME + others(shown) + SHORT_STRIP > most {
            shown -= 1;
        }
        let room = most.saturating_sub(others(shown));
        strip = strip.min(room.saturating_sub(NAME));
        widths[0] = widths[0].min(room.saturating_sub(strip).max(NAME));
    }
    let line = |row: &[String; 4], strip: &str| {
        let mut line = pad(&cut_middle(&row[0], widths[0]), widths[0]);
        for (cell, width) in row.iter().zip(widths).take(shown).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        format!("{line}  {strip}")
    };
    writeln!(out, "{}", style.bold(line(&head, &cut("LAST OUTCOMES", strip))))?;
    for (row, last) in &rows {
        let older = last.len().saturating_sub(strip);
        let strip: String = last.iter().skip(older).map(|entry| mark(entry, style)).collect();
        writeln!(out, "{}", line(row, &strip))?;
    }
    let legend = "\n. ok  ! attention  E error  L limited  - skipped  s stopped\n";
    out.write_all(wrapped(legend, output_width()).as_bytes())
}

/// The beats of a heartbeat, for programs.
fn object((workspace, heartbeat): (String, Option<String>), mut sum: Sum) -> Value {
    let outcomes: Vec<&str> = sum.last.iter().map(word).collect();
    let mut object = json!({
        "workspace": workspace,
        "heartbeat": heartbeat,
        "runs": sum.durations.len(),
        "medianDurationMs": sum.median(),
        "outcomes": outcomes,
    });
    if let Some(cost) = sum.cost {
        object["costUsd"] = cost.into();
    }
    object
}

fn row(name: String, mut sum: Sum) -> ([String; 4], Vec<JournalEntry>) {
    let median = sum.median();
    let cells = [
        shown_line(&name),
        sum.durations.len().to_string(),
        took(median),
        sum.cost.map(dollars).unwrap_or_default(),
    ];
    (cells, sum.last.into())
}

/// A beat in one letter, in the color of its outcome.
fn mark(entry: &JournalEntry, style: Style) -> String {
    let letter = match word(entry) {
        "ok" => ".",
        "attention" => "!",
        "error" => "E",
        "limited" => "L",
        "skipped" => "-",
        _ => "s",
    };
    style.painted_as(entry, letter)
}
