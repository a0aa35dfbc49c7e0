//! All rows of a run as JSON, the comparison of two such reports, and the page that shows one.

use super::machine::{self, Machine};
use super::table::Row;
use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Changes below this share are noise.
const NOISE: f64 = 0.1;

/// The lines of the page around the generated tables.
const BEGIN: &str = "<!-- just bench page writes this -->\n";
const END: &str = "<!-- until here -->\n";

/// The headings of the page, and the sections below each.
const HEADINGS: [(&str, &[&str]); 5] = [
    (
        "Beats and the daemon",
        &["parse", "beat", "idle", "scan", "crowd", "scale", "log", "usage", "gate", "sweep"],
    ),
    ("Terminal", &["screen"]),
    ("Hook and guard", &["hook", "guard"]),
    ("Hosts", &["host"]),
    ("Captures", &["capture"]),
];

/// Parts of the names of rows that the page leaves out unless they miss their target: it has similar ones.
const DETAILS: [&str; 27] = [
    "parse 200 MB, over twice",
    "parse 200 MB: memory",
    "(fake-claude)",
    "most agents at once",
    " due at once, 4 at a time",
    "sleeps 1 s: CPU",
    "`murmur log --",
    "--by day",
    "a frame of 80x24",
    "host, with a client",
    "host, after a turn:",
    "host, after a turn of 20 MB: wake-ups",
    "while another reads nothing",
    "lost by these replays",
    "read of a running capture",
    "1 MB of nesting",
    "1 MB of quotes",
    "1 MB of one",
    "1 MB of here-document",
    "1 MB of code",
    "1 MB of lists",
    "1 MB of words",
    "1 MB of substitutions",
    "1 MB of backticks",
    "1 MB of variables",
    "1 MB of doubling",
    "1 MB of paths",
];

/// A report, as `--json` prints it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) schema: String,
    pub(crate) sections: Vec<Section>,
}

/// The rows of a section, and where they were measured.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) machine: Machine,
    pub(crate) rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(sections: Vec<Section>) -> Self {
        Self { schema: "bench/2".to_owned(), sections }
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        serde_json::from_str(&text).with_context(|| format!("{shown} is not a report of just bench --json"))
    }

    pub(crate) fn write(&self, out: &mut impl Write) -> anyhow::Result<()> {
        Ok(writeln!(out, "{}", serde_json::to_string_pretty(self)?)?)
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sections.iter().flat_map(|section| &section.rows)
    }

    fn machines(&self) -> Vec<String> {
        machine::lines(self.sections.iter().map(|section| &section.machine))
    }
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The report that the page shows.
fn kept() -> PathBuf {
    in_repository("benches/report.json")
}

fn page() -> PathBuf {
    in_repository("docs/design/performance.md")
}

/// Puts the sections of the reports `files` into the kept report, and that into the page.
pub(crate) fn write_page(files: &[&str]) -> anyhow::Result<()> {
    let mut sections = if kept().exists() { Report::read(&kept())?.sections } else { Vec::new() };
    for file in files {
        for section in Report::read(Path::new(file))?.sections {
            ensure!(
                !section.machine.is_busy(),
                "{file}: the machine was busy when {} was measured",
                section.name
            );
            sections.retain(|known| known.name != section.name);
            sections.push(section);
        }
    }
    let report = Report::new(sections);
    let mut text = Vec::new();
    report.write(&mut text)?;
    fs::write(kept(), text)?;
    fs::write(page(), filled(&report)?)?;
    Ok(())
}

/// The page shows the kept report.
pub(crate) fn check_page() -> anyhow::Result<()> {
    let is_current = filled(&Report::read(&kept())?)? == fs::read_to_string(page())?;
    ensure!(is_current, "docs/design/performance.md doesn't show benches/report.json; run: just bench page");
    Ok(())
}

/// The page with the tables of `report`.
fn filled(report: &Report) -> anyhow::Result<String> {
    let text = fs::read_to_string(page())?;
    let (before, rest) = text.split_once(BEGIN).context("the page has no generated tables")?;
    let (_, after) = rest.split_once(END).context("the page's generated tables don't end")?;
    Ok(format!("{before}{BEGIN}{}\n{END}{after}", tables(report)))
}

/// Whether a row is on the page: it has a target, and misses it or isn't a detail.
fn is_on_page(row: &Row) -> bool {
    row.has_target() && (row.met == Some(false) || !DETAILS.iter().any(|part| row.figure.contains(part)))
}

/// The tables of all sections.
fn tables(report: &Report) -> String {
    let mut text = String::new();
    for machine in report.machines() {
        text.extend(["\nMeasured on ", &machine, ".\n"]);
    }
    for (heading, names) in HEADINGS {
        text.extend(["\n## ", heading, "\n\nfigure|target|measured|baseline\n---|---|---|---\n"]);
        for name in names {
            let rows = report.sections.iter().filter(|section| section.name == *name).flat_map(|it| &it.rows);
            text.extend(rows.filter(|row| is_on_page(row)).map(line));
        }
    }
    text
}

/// A row of the page: a missed target is bold.
fn line(row: &Row) -> String {
    let strong = |text: String, is_missed: bool| if is_missed { format!("**{text}**") } else { text };
    let is_missed = row.met == Some(false);
    let measured = match row.is_relative() {
        true => format!("{}, {}", strong(row.shown_ratio(), is_missed), row.shown()),
        false => strong(row.shown(), is_missed),
    };
    grouped(&format!("{}|{}|{measured}|{}\n", row.figure, row.shown_target(), row.shown_baseline_median()))
}

/// `text` with a comma after each thousand of its whole numbers. Reports keep the figures' names as they are.
fn grouped(text: &str) -> String {
    let mut shown = String::new();
    let (mut rest, mut before) = (text, ' ');
    while let Some(first) = rest.chars().next() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (word, after) = rest.split_at(digits.max(first.len_utf8()));
        for (place, letter) in word.char_indices() {
            if place > 0 && before != '.' && (digits - place).is_multiple_of(3) {
                shown.push(',');
            }
            shown.push(letter);
        }
        (rest, before) = (after, first);
    }
    shown
}

/// Prints the figures that differ between the reports `before` (by default, that of the page) and `after` by more than
/// noise, and where the baseline changed as well.
pub(crate) fn compare(out: &mut impl Write, before: Option<&str>, after: &str) -> anyhow::Result<()> {
    let before = Report::read(&before.map_or_else(kept, PathBuf::from))?;
    let after = Report::read(Path::new(after))?;
    writeln!(out, "before: {}\nafter: {}\n", before.machines().join("; "), after.machines().join("; "))?;
    let known: HashMap<&str, &Row> = before.rows().map(|row| (row.figure.as_str(), row)).collect();
    for row in after.rows() {
        match known.get(row.figure.as_str()) {
            None => writeln!(out, "new: {}: {}", row.figure, row.shown())?,
            Some(known) => change(out, known, row)?,
        }
    }
    let is_gone = |row: &&Row| after.rows().all(|new| new.figure != row.figure);
    for row in before.rows().filter(is_gone) {
        writeln!(out, "gone: {}: {}", row.figure, row.shown())?;
    }
    Ok(())
}

fn change(out: &mut impl Write, before: &Row, after: &Row) -> io::Result<()> {
    let factor = |before: f64, after: f64| Some(after / before).filter(|factor| factor.is_finite());
    let Some(ours) = factor(before.measured(), after.measured()) else { return Ok(()) };
    if (ours - 1.0).abs() <= NOISE {
        return Ok(());
    }
    let baseline = before.baseline().zip(after.baseline()).and_then(|(before, after)| factor(before, after));
    let moved = match baseline {
        Some(baseline) if (baseline - 1.0).abs() > NOISE && (baseline > 1.0) == (ours > 1.0) => {
            format!("; so did the baseline: x{baseline:.2}")
        }
        _ => String::new(),
    };
    writeln!(out, "x{ours:.2}: {}: {} to {}{moved}", after.figure, before.shown(), after.shown())
}
