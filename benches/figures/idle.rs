//! Daemons with 1,000 heartbeats each, none of them due, over a process that waits.

use super::home::{Daemon, Home};
use super::measure::{FEW, Size, Spread};
use super::proc::Process;
use super::table::{Row, Table, Target, Unit};
use std::process::{Command, Stdio};
use std::time::Duration;
use sys::clock;
use sys::pause::pause;

const HEARTBEATS: Size<usize> = Size { full: 1000, tiny: 5 };
const WINDOW: Size<Duration> = Size { full: Duration::from_secs(20), tiny: Duration::from_millis(50) };
/// How long the daemon gets to become idle: it reads the configuration, runs the login shell, and then gives memory
/// back.
const SETTLE: Size<Duration> = Size { full: Duration::from_secs(6), tiny: Duration::from_millis(50) };

/// The target for resident memory.
const MOST: Target = Target::AtMost(3.0 * 1024.0 * 1024.0);

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let mut idle = Vec::new();
    for _ in 0..(Size { full: FEW, tiny: 1 }.get()) {
        idle.push(Idle::start()?);
    }
    let mut waiting = Command::new("sleep").arg("infinity").stdin(Stdio::null()).spawn()?;
    let floor = Process::numbered(waiting.id());
    pause(SETTLE.get());
    let processes: Vec<_> =
        std::iter::once(&floor).chain(idle.iter().map(|idle| &idle.process)).cloned().collect();
    let spent = |process: &Process| Ok::<_, anyhow::Error>([process.switches()?, process.cpu()?]);
    let before = processes.iter().map(spent).collect::<Result<Vec<_>, _>>()?;
    pause(WINDOW.get());
    let after = processes.iter().map(spent).collect::<Result<Vec<_>, _>>()?;
    let grown = |field: usize| {
        let values = before.iter().zip(&after).map(|(before, after)| (after[field] - before[field]) as f64);
        let values: Vec<f64> = values.collect();
        (Spread::of(vec![values[0]]), Spread::of(values[1..].to_vec()))
    };
    let memory = |file: &str, field: &str| -> anyhow::Result<(Spread, Spread)> {
        let values: anyhow::Result<Vec<f64>> =
            processes.iter().map(|process| Ok(process.bytes(file, field)? as f64)).collect();
        let values = values?;
        Ok((Spread::of(vec![values[0]]), Spread::of(values[1..].to_vec())))
    };
    let figure = |what: &str| format!("daemon, idle with 1,000 heartbeats: {what}");
    let bytes = |what: &str, (floor, ours)| Row::new(figure(what), Unit::Bytes, ours).over(floor);
    table.add(bytes("resident memory", memory("status", "VmRSS")?).target(MOST));
    table.add(bytes("its share of it (PSS)", memory("smaps_rollup", "Pss")?));
    table.add(bytes("private memory", memory("smaps_rollup", "Private_Dirty")?));
    table.add(bytes("peak memory", memory("status", "VmHWM")?));
    let (floor, wakes) = grown(0);
    let wakes = Row::new(figure("wake-ups in 20 s"), Unit::Count, wakes).over(floor);
    table.add(wakes.target(Target::AtMost(0.0)));
    let minutes = WINDOW.get().as_secs_f64() / 60.0;
    let (floor, cpu) = grown(1);
    let per_minute = |spent: Spread| spent.map(|nanoseconds| nanoseconds / 1e6 / minutes);
    let cpu = Row::time(figure("CPU per minute"), per_minute(cpu)).over(per_minute(floor));
    table.add(cpu.target(Target::AtMost(1.0)));
    for idle in &idle {
        idle.knows_all()?;
    }
    pause(WINDOW.get());
    table.add(bytes("resident memory, 20 s after `murmur status`", memory("status", "VmRSS")?).target(MOST));
    waiting.kill()?;
    waiting.wait()?;
    Ok(())
}

/// A daemon without anything to do.
#[derive(Debug)]
struct Idle {
    process: Process,
    _daemon: Daemon,
    home: Home,
}

impl Idle {
    fn start() -> anyhow::Result<Self> {
        let home = Home::new("#!/bin/sh\nexit 1\n")?;
        home.register(HEARTBEATS.get(), |_| Some(clock::now()))?;
        let daemon = home.daemon()?;
        Ok(Self { process: Process::numbered(daemon.pid()), _daemon: daemon, home })
    }

    /// The daemon knows all of its heartbeats.
    fn knows_all(&self) -> anyhow::Result<()> {
        let said = self.home.murmur().args(["status", "--json"]).stdout(Stdio::piped()).output()?;
        let status: serde_json::Value = serde_json::from_slice(&said.stdout)?;
        let known = status["heartbeats"].as_array().map_or(0, Vec::len);
        anyhow::ensure!(known == HEARTBEATS.get(), "the daemon knows {known} heartbeats");
        Ok(())
    }
}
