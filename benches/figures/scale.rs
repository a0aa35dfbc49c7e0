//! What grows with the number of heartbeats, of running beats and of agents: the daemon's CPU time for one more of
//! each.

use super::home::{Daemon, Home, a_day_before, after, fixture};
use super::journal_watch;
use super::measure::{Size, Spread, repeat, time_of};
use super::proc::Process;
use super::table::{Row, Table, Target, Unit};
use crate::built::built;
use std::fs;
use std::path::Path;
use std::time::Duration;
use sys::clock;
use sys::pause::pause;

/// Few heartbeats, and many: the cost of a beat should be the same.
const HEARTBEATS: [Size<usize>; 3] =
    [Size { full: 100, tiny: 2 }, Size { full: 1000, tiny: 4 }, Size { full: 10_000, tiny: 6 }];
/// The beats of each, all due at once.
const BEATS: Size<usize> = Size { full: 100, tiny: 2 };
/// Changes of one thing among many, and how long the daemon gets for each.
const CHANGES: Size<usize> = Size { full: 10, tiny: 1 };
const SETTLE: Size<Duration> = Size { full: Duration::from_millis(500), tiny: Duration::from_millis(100) };
/// How long the daemon gets to become idle after its start.
const START: Size<Duration> = Size { full: Duration::from_secs(4), tiny: Duration::from_millis(100) };
/// Slots for beats whose agent sleeps for a second, and how many beats they get.
const SLOTS: Size<usize> = Size { full: 256, tiny: 4 };
const SLEEPERS: Size<usize> = Size { full: 2000, tiny: 4 };
/// Few hosts, and many.
const HOSTS: [Size<usize>; 2] = [Size { full: 10, tiny: 1 }, Size { full: 300, tiny: 2 }];
/// Only the last ones count.
const LAST_HOSTS: Size<usize> = Size { full: 10, tiny: 1 };

/// The target for the daemon's CPU time per beat, in milliseconds.
const MOST_CPU: f64 = 1.5;
/// The target for the time of `status`, in milliseconds.
const MOST_STATUS: f64 = 50.0;
/// The target for beats per second.
const LEAST_BEATS: f64 = 200.0;

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let counts = HEARTBEATS.map(Size::get);
    for (heartbeats, cpu) in counts.into_iter().zip(repeat(counts, beats)?) {
        let due = BEATS.get();
        let figure = format!("daemon, {heartbeats} heartbeats, {due} of them due: CPU per beat");
        table.add(Row::time(figure, cpu[0]).target(Target::AtMost(MOST_CPU)));
    }
    changes(table)?;
    let seen = repeat([()], |()| sleepers())?;
    let [rate, cpu] = seen[0][..] else { anyhow::bail!("a figure is missing") };
    let figure = |what: &str| format!("daemon, {} at a time, an agent that sleeps 1 s: {what}", SLOTS.get());
    table.add(Row::new(figure("beats per second"), Unit::Count, rate).target(Target::AtLeast(LEAST_BEATS)));
    table.add(Row::time(figure("CPU per beat"), cpu).target(Target::AtMost(MOST_CPU)));
    let counts = HOSTS.map(Size::get);
    for (hosts, cpu) in counts.into_iter().zip(repeat(counts, crowd_of_hosts)?) {
        table.add(Row::time(format!("daemon, {hosts} hosts: CPU for a new one"), cpu[0]));
    }
    Ok(())
}

/// Some beats are due; the other heartbeats are not. Returns the milliseconds of CPU time per beat.
fn beats(heartbeats: usize) -> anyhow::Result<Vec<f64>> {
    let home = Home::new(&agent(""))?;
    // Creating them takes time, too.
    let lead = i64::try_from(2 * START.get().as_millis())? + i64::try_from(heartbeats)?;
    let (now, due) = (clock::now(), a_day_before(after(lead)?)?);
    home.register(heartbeats, |number| Some(if number < BEATS.get() { due } else { now }))?;
    let daemon = home.daemon()?;
    pause(START.get());
    let process = Process::numbered(daemon.pid());
    let before = process.cpu()?;
    let is_idle = fs::metadata(home.journal()).map_or(0, |journal| journal.len()) == 0;
    anyhow::ensure!(is_idle, "a beat ran before the daemon was idle");
    let seen = journal_watch::lines(&home.journal(), BEATS.get(), Duration::from_secs(60))?;
    let each = (process.cpu()? - before) as f64 / 1e6 / seen.len() as f64;
    Ok(vec![each])
}

/// One of 10,000 heartbeats runs by hand, or is edited.
fn changes(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new(&agent(""))?;
    let heartbeats = HEARTBEATS[2].get();
    home.register(heartbeats, |_| Some(clock::now()))?;
    let daemon = home.daemon()?;
    pause(START.get());
    let what = |what: &str| format!("daemon, {heartbeats} heartbeats: {what}");
    let by_hand = each(&daemon, |number| {
        time_of(home.murmur().arg("beat").arg(home.workspace(number)))?;
        Ok(())
    })?;
    table.add(Row::time(what("CPU for one beat by hand"), by_hand).target(Target::AtMost(MOST_CPU)));
    let edited = each(&daemon, |number| {
        let file = home.workspace(number).join("HEARTBEAT.md");
        Ok(fs::write(file, format!("Look at build {number} and say how it is.\n"))?)
    })?;
    table
        .add(Row::time(what("CPU for an edit of one HEARTBEAT.md"), edited).target(Target::AtMost(MOST_CPU)));
    let mut times = Vec::new();
    for _ in 0..CHANGES.get() {
        times.push(time_of(home.murmur().arg("status"))?);
    }
    table.add(Row::time(what("`murmur status`"), Spread::of(times)).target(Target::AtMost(MOST_STATUS)));
    Ok(())
}

/// The daemon's CPU time for each of some changes, in milliseconds.
fn each(daemon: &Daemon, mut change: impl FnMut(usize) -> anyhow::Result<()>) -> anyhow::Result<Spread> {
    let process = Process::numbered(daemon.pid());
    let mut spent = Vec::new();
    for number in 0..CHANGES.get() {
        let before = process.cpu()?;
        change(number)?;
        pause(SETTLE.get());
        spent.push((process.cpu()? - before) as f64 / 1e6);
    }
    Ok(Spread::of(spent))
}

/// Beats that wait most of the time: the slots should be full. Returns the beats per second, and the milliseconds of
/// CPU time per beat.
fn sleepers() -> anyhow::Result<Vec<f64>> {
    let home = Home::new(&agent("sleep 1\n"))?;
    home.register_with(SLEEPERS.get(), SLOTS.get(), |_| None)?;
    let daemon = home.daemon()?;
    let process = Process::numbered(daemon.pid());
    let before = process.cpu()?;
    let seen = journal_watch::lines(&home.journal(), SLEEPERS.get(), Duration::from_secs(120))?;
    let spent = (process.cpu()? - before) as f64 / 1e6 / seen.len() as f64;
    let (first, last) = (seen[0], seen[seen.len() - 1]);
    let seconds = last.duration_since(first).as_secs_f64().max(0.001);
    let rate = (seen.len() - 1) as f64 / seconds;
    Ok(vec![rate, spent])
}

/// The last of many hosts should cost the daemon as much as the first. Returns the milliseconds of CPU time for one.
fn crowd_of_hosts(hosts: usize) -> anyhow::Result<Vec<f64>> {
    let fake = built("fake-claude")?;
    let home = Home::new(&format!("#!/bin/sh\nFAKE_CLAUDE_LIVE=echo exec {fake} \"$@\"\n"))?;
    home.register(1, |_| Some(clock::now()))?;
    let daemon = home.daemon()?;
    let process = Process::numbered(daemon.pid());
    let folder = home.workspace(0);
    for number in LAST_HOSTS.get()..hosts {
        start_host(&home, &folder, number)?;
    }
    pause(SETTLE.get());
    let before = process.cpu()?;
    for number in 0..LAST_HOSTS.get() {
        start_host(&home, &folder, number)?;
    }
    pause(SETTLE.get());
    let each = (process.cpu()? - before) as f64 / 1e6 / LAST_HOSTS.get() as f64;
    time_of(home.murmur().args(["agent", "stop", "--all", "--force"]))?;
    Ok(vec![each])
}

fn start_host(home: &Home, folder: &Path, number: usize) -> anyhow::Result<()> {
    let id = format!("figures-{number}");
    time_of(home.murmur().args(["host", "spawn", "--agent-id", &id, "--worktree"]).arg(folder))?;
    Ok(())
}

/// An agent that reports success, after `first`.
fn agent(first: &str) -> String {
    format!("#!/bin/sh\n{first}exec cat {}\n", fixture("ok").join("stdout").display())
}
