//! Hosts whose agents wait for a message, over a process that waits.

use super::super::measure::{Size, mib};
use super::super::proc::Process;
use super::super::table::{Row, Table};
use super::live::Live;
use std::process::{Command, Stdio};
use std::time::Duration;
use sys::pause::pause;

const WINDOW: Size<Duration> = Size { full: Duration::from_secs(20), tiny: Duration::from_millis(50) };
/// How long they get to become idle: an agent's output is synced to disk a second later.
const SETTLE: Size<Duration> = Size { full: Duration::from_secs(3), tiny: Duration::from_millis(50) };
/// 20 MB of it.
const BURST: Size<&str> = Size { full: "17000", tiny: "170" };
const MOST: u64 = 2 << 20;

pub(super) fn run(table: &mut Table) -> anyhow::Result<()> {
    let (fresh, followed, worked, burst) =
        (Live::start(None)?, Live::start(None)?, Live::start(None)?, Live::start(Some(BURST.get()))?);
    let follower = followed.client(Some(0))?;
    for live in [&worked, &burst] {
        live.client(Some(0))?.turn()?;
    }
    let mut waiting = Command::new("sleep").arg("infinity").stdin(Stdio::null()).spawn()?;
    let floor = Process::numbered(waiting.id());
    let mut hosts = Vec::new();
    for (live, how) in [
        (&fresh, "its agent idle"),
        (&followed, "with a client attached"),
        (&worked, "after a turn"),
        (&burst, "after a turn of 20 MB"),
    ] {
        hosts.push((Process::numbered(live.status()?.pid), how));
    }
    pause(SETTLE.get());
    let before = wakes(&floor, &hosts)?;
    pause(WINDOW.get());
    let after = wakes(&floor, &hosts)?;
    for (number, (host, how)) in hosts.iter().enumerate() {
        for (name, file, field, most) in [
            ("resident", "status", "VmRSS", Some(MOST)),
            ("its share of what it shares (PSS)", "smaps_rollup", "Pss", None),
            ("its own alone (private, dirty)", "smaps_rollup", "Private_Dirty", None),
        ] {
            let (floor, ours) = (floor.bytes(file, field)?, host.bytes(file, field)?);
            table.add(Row {
                what: format!("host, {how}: {name}"),
                floor: mib(floor),
                ours: mib(ours),
                ratio: Some(ours as f64 / floor as f64),
                wanted: most.map_or_else(String::new, |most| format!("<= {}", mib(most))),
                met: most.map(|most| ours <= most),
            });
        }
        let ours = after[number + 1] - before[number + 1];
        table.add(Row {
            what: format!("host, {how}: wake-ups in 20 s"),
            floor: (after[0] - before[0]).to_string(),
            ours: ours.to_string(),
            wanted: "0".to_owned(),
            met: Some(ours == 0),
            ..Row::default()
        });
    }
    waiting.kill()?;
    waiting.wait()?;
    drop(follower);
    Ok(())
}

fn wakes(floor: &Process, hosts: &[(Process, &str)]) -> anyhow::Result<Vec<u64>> {
    std::iter::once(floor).chain(hosts.iter().map(|(host, _)| host)).map(Process::switches).collect()
}
