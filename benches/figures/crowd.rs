//! 1,000 heartbeats that are due at once, with 4 and with 256 beats at a time: the daemon's cost per beat, and how
//! long `status` takes meanwhile.

use super::home::{Home, fixture};
use super::journal_watch;
use super::measure::{Size, median, repeat, time_of};
use super::proc::Process;
use super::table::{Row, Table, Target};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const HEARTBEATS: Size<usize> = Size { full: 1000, tiny: 8 };
/// How many beats may run at once: few, and more than a machine can handle.
const SLOTS: [usize; 2] = [4, 256];
/// The target for the daemon's CPU time per beat, in milliseconds.
const MOST_CPU: f64 = 1.5;
/// The target for the time of `status`, in milliseconds.
const MOST_STATUS: f64 = 100.0;

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    for (slots, seen) in SLOTS.into_iter().zip(repeat(SLOTS, with_slots)?) {
        let [cpu, median, slowest] = seen[..] else { anyhow::bail!("a figure is missing") };
        let figure = |what: &str| format!("daemon, 1,000 heartbeats due at once, {slots} at a time: {what}");
        let cpu = Row::time(figure("CPU per beat, with constant `status` requests"), cpu);
        table.add(cpu.target(Target::AtMost(MOST_CPU)));
        table.add(Row::time(figure("`murmur status`, median"), median));
        let slowest = Row::time(figure("`murmur status`, slowest"), slowest);
        table.add(slowest.target(Target::AtMost(MOST_STATUS)));
    }
    Ok(())
}

/// Returns the daemon's CPU time per beat, and the median and the most of the times of `status`, in milliseconds.
fn with_slots(slots: usize) -> anyhow::Result<Vec<f64>> {
    let said = fixture("ok").join("stdout");
    let home = Home::new(&format!("#!/bin/sh\nexec cat {}\n", said.display()))?;
    home.register_with(HEARTBEATS.get(), slots, |_| None)?;
    let daemon = home.daemon()?;
    let process = Process::numbered(daemon.pid());
    let before = process.cpu()?;
    let is_over = AtomicBool::new(false);
    let (seen, asked) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut times = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                times.push(time_of(home.murmur().arg("status"))?);
            }
            anyhow::Ok(times)
        });
        let seen = journal_watch::lines(&home.journal(), HEARTBEATS.get(), Duration::from_secs(100));
        is_over.store(true, Ordering::Relaxed);
        (seen, asking.join())
    });
    let seen = seen?;
    let asked = asked.map_err(|_| anyhow::anyhow!("nobody asked for the status"))??;
    anyhow::ensure!(seen.len() >= HEARTBEATS.get(), "only {} of them ran", seen.len());
    let each = (process.cpu()? - before) as f64 / 1e6 / seen.len() as f64;
    let slowest = asked.iter().copied().fold(0.0, f64::max);
    Ok(vec![each, median(asked), slowest])
}
