//! 1,000 heartbeats that are due at once, with 4 and with 256 beats at a time: the daemon's cost per beat, and how
//! long `status` takes meanwhile.

use super::home::{Home, fixture};
use super::journal_watch;
use super::measure::{Size, median, ms, time_of};
use super::proc::Process;
use super::table::{Row, Table};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const HEARTBEATS: Size<usize> = Size { full: 1000, tiny: 8 };
/// How many beats may run at once: few, and more than a machine can handle.
const SLOTS: [usize; 2] = [4, 256];
/// The target for the daemon's CPU time per beat, in milliseconds.
const MOST_CPU: f64 = 2.0;
/// The target for the time of `status`, in milliseconds.
const MOST_STATUS: f64 = 200.0;

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    for slots in SLOTS {
        with_slots(table, slots)?;
    }
    Ok(())
}

fn with_slots(table: &mut Table, slots: usize) -> anyhow::Result<()> {
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
    let what = |what: &str| format!("daemon, 1,000 heartbeats due at once, {slots} at a time: {what}");
    table.add(Row {
        what: what("CPU per beat, with constant `status` requests"),
        ours: ms(each),
        wanted: format!("<= {}", ms(MOST_CPU)),
        met: Some(each <= MOST_CPU),
        ..Row::default()
    });
    table.add(Row { what: what("`murmur status`, median"), ours: ms(median(asked)), ..Row::default() });
    table.add(Row {
        what: what("`murmur status`, slowest"),
        ours: ms(slowest),
        wanted: format!("<= {}", ms(MOST_STATUS)),
        met: Some(slowest <= MOST_STATUS),
        ..Row::default()
    });
    Ok(())
}
