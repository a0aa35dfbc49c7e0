//! A daemon with 1,000 heartbeats, none of them due, over a process that waits.

use super::home::Home;
use super::measure::{Size, mib};
use super::proc::Process;
use super::table::{Row, Table};
use std::process::{Command, Stdio};
use std::time::Duration;
use sys::clock;
use sys::pause::pause;

const HEARTBEATS: Size<usize> = Size { full: 1000, tiny: 5 };
const WINDOW: Size<Duration> = Size { full: Duration::from_secs(20), tiny: Duration::from_millis(50) };
/// How long the daemon gets to become idle: it reads the configuration, runs the login shell, and then gives memory back.
const SETTLE: Size<Duration> = Size { full: Duration::from_secs(6), tiny: Duration::from_millis(50) };

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new("#!/bin/sh\nexit 1\n")?;
    home.register(HEARTBEATS.get(), |_| Some(clock::now()))?;
    let daemon = home.daemon()?;
    let mut waiting = Command::new("sleep").arg("infinity").stdin(Stdio::null()).spawn()?;
    let (ours, floor) = (Process::numbered(daemon.pid()), Process::numbered(waiting.id()));
    pause(SETTLE.get());
    let before = [&floor, &ours].map(|process| Ok::<_, anyhow::Error>((process.switches()?, process.cpu()?)));
    pause(WINDOW.get());
    let mut spent = Vec::new();
    for (process, before) in [&floor, &ours].into_iter().zip(before) {
        let (switches, cpu) = before?;
        let minutes = WINDOW.get().as_secs_f64() / 60.0;
        spent.push((process.switches()? - switches, (process.cpu()? - cpu) as f64 / 1e6 / minutes));
    }
    let what = |what: &str| format!("daemon, idle with 1,000 heartbeats: {what}");
    for (name, file, field, most) in [
        ("resident", "status", "VmRSS", Some(3 << 20)),
        ("its share of what it shares (PSS)", "smaps_rollup", "Pss", None),
        ("its own alone (private, dirty)", "smaps_rollup", "Private_Dirty", None),
        ("the most it was", "status", "VmHWM", None),
    ] {
        let (floor, ours) = (floor.bytes(file, field)?, ours.bytes(file, field)?);
        table.add(Row {
            what: what(name),
            floor: mib(floor),
            ours: mib(ours),
            ratio: Some(ours as f64 / floor as f64),
            wanted: most.map_or_else(String::new, |most| format!("<= {}", mib(most))),
            met: most.map(|most| ours <= most),
        });
    }
    table.add(Row {
        what: what("wake-ups in 20 s"),
        floor: spent[0].0.to_string(),
        ours: spent[1].0.to_string(),
        wanted: "0".to_owned(),
        met: Some(spent[1].0 == 0),
        ..Row::default()
    });
    table.add(Row {
        what: what("CPU a minute"),
        floor: format!("{:.2} ms", spent[0].1),
        ours: format!("{:.2} ms", spent[1].1),
        wanted: "<= 1 ms".to_owned(),
        met: Some(spent[1].1 <= 1.0),
        ..Row::default()
    });
    knows_all(&home)?;
    pause(WINDOW.get());
    let (floor, ours) = (floor.bytes("status", "VmRSS")?, ours.bytes("status", "VmRSS")?);
    table.add(Row {
        what: what("resident 20 s after `murmur status --json`"),
        floor: mib(floor),
        ours: mib(ours),
        ratio: Some(ours as f64 / floor as f64),
        wanted: format!("<= {}", mib(3 << 20)),
        met: Some(ours <= 3 << 20),
    });
    waiting.kill()?;
    waiting.wait()?;
    Ok(())
}

/// The measured daemon has all of them.
fn knows_all(home: &Home) -> anyhow::Result<()> {
    let said = home.murmur().args(["status", "--json"]).stdout(Stdio::piped()).output()?;
    let status: serde_json::Value = serde_json::from_slice(&said.stdout)?;
    let known = status["heartbeats"].as_array().map_or(0, Vec::len);
    anyhow::ensure!(known == HEARTBEATS.get(), "the daemon knows {known} heartbeats");
    Ok(())
}
