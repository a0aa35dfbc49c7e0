//! All rows of a run as JSON, and the comparison of two such reports.

use super::machine::Machine;
use super::table::Row;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};

/// Changes below this share are noise.
const NOISE: f64 = 0.1;

/// A report, as `--json` prints it.
#[derive(Debug, Serialize)]
pub(crate) struct Report<'a> {
    pub(crate) schema: &'static str,
    pub(crate) machine: &'a Machine,
    pub(crate) rows: &'a [Row],
}

/// What is needed of an earlier report.
#[derive(Debug, Deserialize)]
struct Known {
    machine: Value,
    rows: Vec<KnownRow>,
}

#[derive(Debug, Deserialize)]
struct KnownRow {
    figure: String,
    measured: String,
    baseline: String,
}

/// Prints the figures that differ between the reports `before` and `after` by more than noise, and where the baseline moved with
/// them.
pub(crate) fn compare(out: &mut impl Write, before: &str, after: &str) -> anyhow::Result<()> {
    let read = |path: &str| -> anyhow::Result<Known> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
        serde_json::from_str(&text).with_context(|| format!("{path} is not a report of just bench --json"))
    };
    let (before, after) = (read(before)?, read(after)?);
    writeln!(out, "before: {}\nafter: {}\n", before.machine, after.machine)?;
    let known: HashMap<&str, &KnownRow> = before.rows.iter().map(|row| (row.figure.as_str(), row)).collect();
    for row in &after.rows {
        match known.get(row.figure.as_str()) {
            None => writeln!(out, "new: {}: {}", row.figure, row.measured)?,
            Some(known) => change(out, known, row)?,
        }
    }
    let is_gone = |row: &&KnownRow| after.rows.iter().all(|new| new.figure != row.figure);
    for row in before.rows.iter().filter(is_gone) {
        writeln!(out, "gone: {}: {}", row.figure, row.measured)?;
    }
    Ok(())
}

fn change(out: &mut impl Write, before: &KnownRow, after: &KnownRow) -> io::Result<()> {
    let Some(ours) = factor(&before.measured, &after.measured) else { return Ok(()) };
    if (ours - 1.0).abs() <= NOISE {
        return Ok(());
    }
    let baseline = factor(&before.baseline, &after.baseline);
    let moved = match baseline {
        Some(baseline) if (baseline - 1.0).abs() > NOISE && (baseline > 1.0) == (ours > 1.0) => {
            format!("; so did the baseline: x{baseline:.2}")
        }
        _ => String::new(),
    };
    writeln!(out, "x{ours:.2}: {}: {} to {}{moved}", after.figure, before.measured, after.measured)
}

/// By which factor the number at the beginning of a text changed, if the unit is the same.
fn factor(before: &str, after: &str) -> Option<f64> {
    let parts = |text: &str| -> Option<(f64, String)> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at_checked(end)?;
        Some((number.parse().ok()?, unit.trim().to_owned()))
    };
    let ((before, unit), (after, after_unit)) = (parts(before)?, parts(after)?);
    (unit == after_unit && before > 0.0).then(|| after / before)
}
