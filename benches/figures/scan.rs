//! 10,000 heartbeats, all due: reading them, deciding, and a daemon that runs them.

use super::home::Home;
use super::journal_watch;
use super::measure::{Size, interleave, mib, milliseconds, ms};
use super::proc::Process;
use super::table::{Row, Table};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use murmur::daemon::heartbeats::Heartbeats;
use murmur_core::config::heartbeat::Cache;
use murmur_core::id::BeatId;
use std::fs;
use std::time::Duration;
use sys::clock;

/// Older than any edit that isn't trusted yet.
const SETTLED: SignedDuration = SignedDuration::from_secs(60);
const HEARTBEATS: Size<usize> = Size { full: 10_000, tiny: 20 };
const CAP: usize = 4;
const ROUNDS: usize = 5;
/// How many of them the daemon runs, if it can in 20 s: the rest would be the same.
const BEATS: Size<usize> = Size { full: 1000, tiny: 8 };

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new(&agent())?;
    home.register(HEARTBEATS.get(), |_| None)?;
    reading(table, &home)?;
    deciding(table, &home)?;
    working(table, &home)
}

/// An agent that only records when it starts and ends.
fn agent() -> String {
    let said = super::home::fixture("ok").join("stdout");
    format!("#!/bin/sh\necho + >>\"$HOME/agents\"\ncat {}\necho - >>\"$HOME/agents\"\n", said.display())
}

fn reading(table: &mut Table, home: &Home) -> anyhow::Result<()> {
    let files: Vec<_> =
        (0..HEARTBEATS.get()).map(|number| home.workspace(number).join("HEARTBEAT.md")).collect();
    let path = home.data().join("config.json");
    let mut known = Cache::new(TimeZone::UTC);
    let [look, read, warm, cold] = interleave(
        ROUNDS,
        [
            &mut || milliseconds(|| Ok(files.iter().filter(|file| fs::metadata(file).is_ok()).count())),
            &mut || milliseconds(|| Ok(files.iter().filter(|file| fs::read(file).is_ok()).count())),
            // Like some time after the last edit: a recently changed file is read again, to be safe.
            &mut || milliseconds(|| Ok(known.load(&path, clock::now().checked_add(SETTLED)?)?)),
            &mut || milliseconds(|| Ok(Cache::new(TimeZone::UTC).load(&path, clock::now())?)),
        ],
    )?;
    let mut add = |what: &str, floor: f64, ours: f64| {
        table.add(Row {
            what: what.to_owned(),
            floor: ms(floor),
            ours: ms(ours),
            ratio: Some(ours / floor),
            wanted: "<= 50 ms".to_owned(),
            met: Some(ours <= 50.0),
        });
    };
    add("scan 10,000 heartbeats again, over a stat of each file", look, warm);
    add("scan 10,000 heartbeats for the first time, over reading each file", read, cold);
    Ok(())
}

fn deciding(table: &mut Table, home: &Home) -> anyhow::Result<()> {
    let path = home.data().join("config.json");
    let now = clock::now();
    let mut decision = || {
        let loaded = Cache::new(TimeZone::UTC).load(&path, clock::now())?;
        let mut state = Heartbeats::default();
        state.load(loaded.heartbeats, loaded.max_concurrent, now);
        let mut number = 0;
        milliseconds(|| {
            let started = state.start_due(now, true, usize::MAX, || {
                number += 1;
                BeatId::new(number.to_string())
            });
            anyhow::ensure!(started.len() == CAP, "{} started", started.len());
            Ok((started, state.wake_at()))
        })
    };
    let [ours] = interleave(ROUNDS, [&mut decision])?;
    table.add(Row {
        what: "decide what of 10,000 due heartbeats starts, and when to wake".to_owned(),
        ours: ms(ours),
        ..Row::default()
    });
    Ok(())
}

fn working(table: &mut Table, home: &Home) -> anyhow::Result<()> {
    let daemon = home.daemon()?;
    let process = Process::numbered(daemon.pid());
    let seen = journal_watch::lines(&home.journal(), BEATS.get(), Duration::from_secs(20))?;
    let most = process.bytes("status", "VmHWM")?;
    drop(daemon);
    let agents = fs::read_to_string(home.path().join("agents"))?;
    let (mut running, mut highest) = (0_usize, 0);
    for line in agents.lines() {
        running = if line == "+" { running + 1 } else { running - 1 };
        highest = highest.max(running);
    }
    table.add(Row {
        what: "daemon with 10,000 due heartbeats: peak memory".to_owned(),
        ours: mib(most),
        wanted: "<= 50 MiB".to_owned(),
        met: Some(most <= 50 << 20),
        ..Row::default()
    });
    table.add(Row {
        what: format!("the most agents at once in its first {} beats", seen.len()),
        floor: CAP.to_string(),
        ours: highest.to_string(),
        wanted: format!("<= {CAP}"),
        met: Some(highest <= CAP),
        ..Row::default()
    });
    let (first, last) = (seen[0], seen[seen.len() - 1]);
    let each = last.duration_since(first).as_millis_f64() / (seen.len().max(2) - 1) as f64;
    table.add(Row { what: "the same: time a beat".to_owned(), ours: ms(each), ..Row::default() });
    Ok(())
}
