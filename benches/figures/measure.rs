//! Measurements: rounds that take turns, their median and their spread.

use serde::{Deserialize, Serialize};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// How many rounds slow measurements have.
pub(crate) const FEW: usize = 5;

/// Whether everything is tiny, to test that each section works. Nothing is measured then.
static IS_TINY: AtomicBool = AtomicBool::new(false);

/// Makes every [`Size`] tiny from now on.
pub(crate) fn be_tiny() {
    IS_TINY.store(true, Ordering::Relaxed);
}

/// The size of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size<T> {
    /// For figures.
    pub(crate) full: T,
    /// For testing a section.
    pub(crate) tiny: T,
}

impl<T: Copy> Size<T> {
    pub(crate) fn get(self) -> T {
        if IS_TINY.load(Ordering::Relaxed) { self.tiny } else { self.full }
    }
}

/// The median of some rounds, and the least and the most of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// That of `values`; not a number if there is none.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
        Self { median: at(values.len() / 2), least: at(0), most: at(values.len().saturating_sub(1)) }
    }

    /// The same in another unit.
    pub(crate) fn map(self, convert: impl Fn(f64) -> f64) -> Self {
        let (one, other) = (convert(self.least), convert(self.most));
        Self { median: convert(self.median), least: one.min(other), most: one.max(other) }
    }
}

/// Runs each of `subjects` `rounds` times, in turn, and returns what they returned. The first round warms up and does
/// not count.
pub(crate) fn interleave<const N: usize>(
    rounds: usize,
    mut subjects: [&mut dyn FnMut() -> anyhow::Result<f64>; N],
) -> anyhow::Result<[Spread; N]> {
    let mut seen = [const { Vec::new() }; N];
    let rounds = Size { full: rounds, tiny: 1 }.get();
    for round in 0..=rounds {
        for (subject, seen) in subjects.iter_mut().zip(&mut seen) {
            let value = subject()?;
            if round > 0 {
                seen.push(value);
            }
        }
    }
    Ok(seen.map(Spread::of))
}

/// Measures each of `subjects` [`FEW`] times, in turn. A measurement may consist of several values.
pub(crate) fn repeat<T>(
    subjects: impl IntoIterator<Item = T> + Clone,
    mut measure: impl FnMut(T) -> anyhow::Result<Vec<f64>>,
) -> anyhow::Result<Vec<Vec<Spread>>> {
    let mut seen: Vec<Vec<Vec<f64>>> = Vec::new();
    for _ in 0..(Size { full: FEW, tiny: 1 }.get()) {
        for (number, subject) in subjects.clone().into_iter().enumerate() {
            let values = measure(subject)?;
            if seen.len() <= number {
                seen.push(vec![Vec::new(); values.len()]);
            }
            for (seen, value) in seen[number].iter_mut().zip(values) {
                seen.push(value);
            }
        }
    }
    Ok(seen.into_iter().map(|values| values.into_iter().map(Spread::of).collect()).collect())
}

/// The middle of `values`; not a number if there is none.
pub(crate) fn median(values: Vec<f64>) -> f64 {
    Spread::of(values).median
}

/// How long `work` takes, in milliseconds.
pub(crate) fn milliseconds<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<f64> {
    let started = Instant::now();
    std::hint::black_box(work()?);
    Ok(started.elapsed().as_secs_f64() * 1000.0)
}

/// How long `command` takes to succeed, in milliseconds.
pub(crate) fn time_of(command: &mut Command) -> anyhow::Result<f64> {
    milliseconds(|| {
        let status = command.status()?;
        anyhow::ensure!(status.success(), "{command:?}: {status}");
        Ok(())
    })
}
