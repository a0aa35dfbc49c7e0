//! The table that is printed at the end.

use std::io::{self, Write};

/// One row of the table.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) floor: String,
    pub(crate) ours: String,
    pub(crate) ratio: Option<f64>,
    pub(crate) wanted: String,
    /// Whether it meets its target, if it has one.
    pub(crate) met: Option<bool>,
}

/// The rows of one section.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Row>);

/// Prints the header above the rows of all sections.
pub(crate) fn print_head(out: &mut impl Write) -> io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZeroUsize::get);
    writeln!(out, "Measured on {cores} cores; medians of interleaved runs.\n")?;
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

    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for row in &self.0 {
            let Row { what, floor, ours, wanted, .. } = row;
            let ratio = row.ratio.map_or_else(String::new, |ratio| format!("x{ratio:.2}"));
            let verdict = match row.met {
                Some(true) => "met",
                Some(false) => "**missed**",
                None => "",
            };
            writeln!(out, "| {what} | {floor} | {ours} | {ratio} | {wanted} | {verdict} |")?;
        }
        Ok(())
    }
}
