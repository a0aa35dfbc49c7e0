//! The table that is printed at the end.

use super::machine::Machine;
use serde::Serialize;
use std::io::{self, Write};

/// One row of the table.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Row {
    #[serde(rename = "figure")]
    pub(crate) what: String,
    #[serde(rename = "baseline")]
    pub(crate) floor: String,
    #[serde(rename = "measured")]
    pub(crate) ours: String,
    pub(crate) ratio: Option<f64>,
    #[serde(rename = "target")]
    pub(crate) wanted: String,
    /// Whether it meets its target, if it has one.
    pub(crate) met: Option<bool>,
}

/// The rows of one section.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Row>);

/// Prints the header above the rows of all sections.
pub(crate) fn print_head(out: &mut impl Write, machine: &Machine) -> io::Result<()> {
    writeln!(out, "{}; medians of interleaved runs.\n", machine.line())?;
    writeln!(out, "| figure | baseline | measured | ratio | target | result |")?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- |")
}

impl Table {
    pub(crate) fn add(&mut self, row: Row) {
        self.0.push(row);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_rows(self) -> Vec<Row> {
        self.0
    }

    /// Prints the rows; on a busy machine, without results.
    pub(crate) fn print(&self, out: &mut impl Write, is_busy: bool) -> io::Result<()> {
        for row in &self.0 {
            let Row { what, floor, ours, wanted, .. } = row;
            let ratio = row.ratio.map_or_else(String::new, |ratio| format!("x{ratio:.2}"));
            let verdict = match row.met {
                Some(_) if is_busy => "not judged",
                Some(true) => "met",
                Some(false) => "**missed**",
                None => "",
            };
            writeln!(out, "| {what} | {floor} | {ours} | {ratio} | {wanted} | {verdict} |")?;
        }
        Ok(())
    }
}
