//! 10,000 heartbeats, all due: reading them, deciding, and a daemon that runs them.

use super::home::Home;
use super::journal_watch;
use super::measure::{Size, interleave, milliseconds, repeat};
use super::proc::Process;
use super::table::{Row, Table, Target, Unit};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use murmur::daemon::heartbeats::Heartbeats;
use murmur_core::config::heartbeat::Cache;
use murmur_core::id::BeatId;
use std::fs;
use std::time::Duration;
use sys::clock;

/// Older than any edit that isn't trusted yet.
const MIN_AGE: SignedDuration = SignedDuration::from_secs(60);
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
            &mut || milliseconds(|| Ok(known.load(&path, clock::now().checked_add(MIN_AGE)?)?)),
            &mut || milliseconds(|| Ok(Cache::new(TimeZone::UTC).load(&path, clock::now())?)),
        ],
    )?;
    let mut add = |what: &str, floor, ours| {
        table.add(Row::time(what, ours).over(floor).target(Target::AtMost(50.0)));
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
    table.add(Row::time("decide what of 10,000 due heartbeats starts, and when to wake", ours));
    Ok(())
}

fn working(table: &mut Table, home: &Home) -> anyhow::Result<()> {
    let seen = repeat([()], |()| first_beats(home))?;
    let [memory, agents, each] = seen[0][..] else { anyhow::bail!("a figure is missing") };
    let figure = |what: &str| format!("daemon with 10,000 due heartbeats: {what}");
    table.add(
        Row::new(figure("peak memory"), Unit::Bytes, memory).target(Target::AtMost(f64::from(50 << 20))),
    );
    table
        .add(Row::new(figure("most agents at once"), Unit::Count, agents).target(Target::AtMost(CAP as f64)));
    table.add(Row::time(figure("time per beat"), each));
    Ok(())
}

/// Runs some of them in a new daemon. Returns its peak memory, the most agents at once, and the milliseconds per beat.
fn first_beats(home: &Home) -> anyhow::Result<Vec<f64>> {
    home.register(HEARTBEATS.get(), |_| None)?;
    for written in [home.journal(), home.path().join("agents")] {
        let _none = fs::remove_file(written);
    }
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
    let (first, last) = (seen[0], seen[seen.len() - 1]);
    let each = last.duration_since(first).as_millis_f64() / (seen.len().max(2) - 1) as f64;
    Ok(vec![most as f64, highest as f64, each])
}
