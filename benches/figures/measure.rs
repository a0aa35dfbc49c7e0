//! Times, their medians, and their format.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

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

/// Runs each of `subjects` `rounds` times, in turn, and returns the median of what each returned. The first round
/// warms up and does not count.
pub(crate) fn interleave<const N: usize>(
    rounds: usize,
    mut subjects: [&mut dyn FnMut() -> anyhow::Result<f64>; N],
) -> anyhow::Result<[f64; N]> {
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
    Ok(seen.map(median))
}

/// The middle of `values`; 0 if there is none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
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

/// Milliseconds, for people.
pub(crate) fn ms(value: f64) -> String {
    if value < 10.0 { format!("{value:.2} ms") } else { format!("{value:.0} ms") }
}

/// Bytes as MiB, for people.
pub(crate) fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
