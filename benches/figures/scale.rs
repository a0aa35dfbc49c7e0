//! What grows with the number of heartbeats, of running beats and of agents: the daemon's CPU time for one more of each.

use super::home::{Daemon, Home, a_day_before, after, fixture};
use super::journal_watch;
use super::measure::{Size, median, ms, time_of};
use super::proc::Process;
use super::table::{Row, Table};
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
    for heartbeats in HEARTBEATS {
        beats(table, heartbeats.get())?;
    }
    changes(table)?;
    sleepers(table)?;
    for hosts in HOSTS {
        crowd_of_hosts(table, hosts.get())?;
    }
    Ok(())
}

/// Some beats are due; the other heartbeats are not.
fn beats(table: &mut Table, heartbeats: usize) -> anyhow::Result<()> {
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
    table.add(at_most(
        format!("daemon, {heartbeats} heartbeats, {} of them due: CPU per beat", BEATS.get()),
        each,
        MOST_CPU,
    ));
    Ok(())
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
    table.add(at_most(what("CPU for one beat by hand"), by_hand, MOST_CPU));
    let edited = each(&daemon, |number| {
        let file = home.workspace(number).join("HEARTBEAT.md");
        Ok(fs::write(file, format!("Look at build {number} and say how it is.\n"))?)
    })?;
    table.add(at_most(what("CPU for an edit of one HEARTBEAT.md"), edited, MOST_CPU));
    let mut times = Vec::new();
    for _ in 0..CHANGES.get() {
        times.push(time_of(home.murmur().arg("status"))?);
    }
    table.add(at_most(what("`murmur status`"), median(times), MOST_STATUS));
    Ok(())
}

/// The daemon's CPU time for each of some changes, in milliseconds.
fn each(daemon: &Daemon, mut change: impl FnMut(usize) -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let process = Process::numbered(daemon.pid());
    let mut spent = Vec::new();
    for number in 0..CHANGES.get() {
        let before = process.cpu()?;
        change(number)?;
        pause(SETTLE.get());
        spent.push((process.cpu()? - before) as f64 / 1e6);
    }
    Ok(median(spent))
}

/// Beats that wait most of the time: the slots should be full.
fn sleepers(table: &mut Table) -> anyhow::Result<()> {
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
    let what = |what: &str| format!("daemon, {} at a time, an agent that sleeps 1 s: {what}", SLOTS.get());
    table.add(Row {
        what: what("beats per second"),
        ours: format!("{rate:.0}"),
        wanted: format!(">= {LEAST_BEATS:.0}"),
        met: Some(rate >= LEAST_BEATS),
        ..Row::default()
    });
    table.add(at_most(what("CPU per beat"), spent, MOST_CPU));
    Ok(())
}

/// The last of many hosts should cost the daemon as much as the first.
fn crowd_of_hosts(table: &mut Table, hosts: usize) -> anyhow::Result<()> {
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
    table.add(Row {
        what: format!("daemon, {hosts} hosts: CPU for a new one"),
        ours: ms(each),
        ..Row::default()
    });
    Ok(())
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

fn at_most(what: String, ours: f64, most: f64) -> Row {
    Row {
        what,
        ours: ms(ours),
        wanted: format!("<= {}", ms(most)),
        met: Some(ours <= most),
        ..Row::default()
    }
}
