//! The rows of a report: what was measured, its baseline, and its target.

use super::measure::Spread;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The unit of a figure's values, and how people read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Unit {
    Milliseconds,
    /// Of memory.
    Bytes,
    /// MB/s.
    Speed,
    Percent,
    Count,
}

/// The least or the most that a figure should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Target {
    /// At most so many times the baseline's time.
    Times(f64),
    AtMost(f64),
    AtLeast(f64),
    /// At most so much more than the baseline.
    Beyond(f64),
}

/// One row of the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    pub(crate) figure: String,
    unit: Unit,
    measured: Spread,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    baseline: Option<Spread>,
    /// How many times as long as the baseline, or as much memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<Target>,
    /// Whether it meets its target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) met: Option<bool>,
}

impl Row {
    pub(crate) fn new(figure: impl Into<String>, unit: Unit, measured: Spread) -> Self {
        Self { figure: figure.into(), unit, measured, baseline: None, ratio: None, target: None, met: None }
    }

    /// A time in milliseconds.
    pub(crate) fn time(figure: impl Into<String>, measured: Spread) -> Self {
        Self::new(figure, Unit::Milliseconds, measured)
    }

    pub(crate) fn over(mut self, baseline: Spread) -> Self {
        let factor = self.measured.median / baseline.median;
        let ratio = if self.unit == Unit::Speed { 1.0 / factor } else { factor };
        (self.baseline, self.ratio) = (Some(baseline), Some(ratio).filter(|ratio| ratio.is_finite()));
        self
    }

    /// Compares it with `target`; after [`Row::over`], if that needs the baseline.
    pub(crate) fn target(mut self, target: Target) -> Self {
        let value = self.measured.median;
        self.met = match target {
            Target::Times(most) => self.ratio.map(|ratio| ratio <= most),
            Target::AtMost(most) => Some(value <= most),
            Target::AtLeast(least) => Some(value >= least),
            Target::Beyond(most) => self.baseline.map(|baseline| value - baseline.median <= most),
        };
        self.target = Some(target);
        self
    }

    pub(crate) fn has_target(&self) -> bool {
        self.target.is_some()
    }

    pub(crate) fn measured(&self) -> f64 {
        self.measured.median
    }

    pub(crate) fn baseline(&self) -> Option<f64> {
        self.baseline.map(|baseline| baseline.median)
    }

    /// The measured value with its spread, for people.
    pub(crate) fn shown(&self) -> String {
        self.unit.show(self.measured)
    }

    /// The baseline with its spread, for people; empty without one.
    pub(crate) fn shown_baseline(&self) -> String {
        self.baseline.map_or_else(String::new, |baseline| self.unit.show(baseline))
    }

    /// Without its spread.
    pub(crate) fn shown_baseline_median(&self) -> String {
        self.baseline.map_or_else(String::new, |baseline| self.unit.show(Spread::of(vec![baseline.median])))
    }

    pub(crate) fn shown_ratio(&self) -> String {
        self.ratio.map_or_else(String::new, |ratio| format!("x{ratio:.2}"))
    }

    pub(crate) fn shown_target(&self) -> String {
        let limit = |value| self.unit.show(Spread::of(vec![value]));
        match self.target {
            None => String::new(),
            Some(Target::Times(most)) => format!("≤x{most}"),
            Some(Target::AtMost(0.0)) => "0".to_owned(),
            Some(Target::AtMost(most)) => format!("≤{}", limit(most)),
            Some(Target::AtLeast(least)) => format!("≥{}", limit(least)),
            Some(Target::Beyond(most)) => format!("≤{} more", limit(most)),
        }
    }

    /// Whether the target is a ratio.
    pub(crate) fn is_relative(&self) -> bool {
        matches!(self.target, Some(Target::Times(_)))
    }
}

impl Unit {
    /// The median, and in parentheses the least and the most if they differ.
    fn show(self, value: Spread) -> String {
        let (one, name) = match (self, value.median) {
            (Self::Milliseconds, median) if median > 0.0 && median < 0.1 => (0.001, " µs"),
            (Self::Milliseconds, median) if median >= 10_000.0 => (1000.0, " s"),
            (Self::Milliseconds, _) => (1.0, " ms"),
            (Self::Bytes, _) => (f64::from(1 << 20), " MiB"),
            (Self::Speed, _) => (1.0, " MB/s"),
            (Self::Percent, _) => (1.0, " %"),
            (Self::Count, _) => (1.0, ""),
        };
        let digits = match (self, value.median / one) {
            (Self::Bytes, _) => 1,
            (Self::Count | Self::Speed, _) => 0,
            (_, shown) if shown < 10.0 => 2,
            (_, shown) if shown < 100.0 => 1,
            _ => 0,
        };
        let text = |value: f64| format!("{:.digits$}", value / one);
        let (median, least, most) = (text(value.median), text(value.least), text(value.most));
        match least == most {
            true => format!("{median}{name}"),
            false => format!("{median}{name} ({least}–{most})"),
        }
    }
}

/// The rows of one section.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Row>);

/// Prints the header above the rows of all sections.
pub(crate) fn print_head(out: &mut impl Write, machine: &str) -> io::Result<()> {
    writeln!(out, "{machine}; medians of interleaved rounds, with the least and the most.\n")?;
    writeln!(out, "| figure | baseline | measured | ratio | target | result |")?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- |")
}

impl Table {
    /// Adds a row, unless it has no number because a program isn't installed.
    pub(crate) fn add(&mut self, row: Row) {
        if row.measured.median.is_finite() && row.baseline.is_none_or(|baseline| baseline.median.is_finite())
        {
            self.0.push(row);
        }
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
            let decision = match row.met {
                Some(_) if is_busy => "not compared",
                Some(true) => "met",
                Some(false) => "**missed**",
                None => "",
            };
            let (figure, baseline, ours) = (&row.figure, row.shown_baseline(), row.shown());
            let (ratio, target) = (row.shown_ratio(), row.shown_target());
            writeln!(out, "| {figure} | {baseline} | {ours} | {ratio} | {target} | {decision} |")?;
        }
        Ok(())
    }
}
