//! Hosts whose agents wait for a message, over a process that waits.

use super::super::measure::{FEW, Size, Spread};
use super::super::proc::Process;
use super::super::table::{Row, Table, Target, Unit};
use super::live::Live;
use std::process::{Command, Stdio};
use std::time::Duration;
use sys::pause::pause;

const WINDOW: Size<Duration> = Size { full: Duration::from_secs(20), tiny: Duration::from_millis(50) };
/// How long they get to become idle: an agent's output is synced to disk a second later.
const SETTLE: Size<Duration> = Size { full: Duration::from_secs(3), tiny: Duration::from_millis(50) };
/// 20 MB of it.
const BURST: Size<&str> = Size { full: "17000", tiny: "170" };
/// The target for resident memory.
const MOST: Target = Target::AtMost(2.0 * 1024.0 * 1024.0);
const STATES: [&str; 4] =
    ["its agent idle", "with a client attached", "after a turn", "after a turn of 20 MB"];

pub(super) fn run(table: &mut Table) -> anyhow::Result<()> {
    let (mut live, mut hosts, mut followers) = (Vec::new(), [const { Vec::new() }; STATES.len()], Vec::new());
    for _ in 0..(Size { full: FEW, tiny: 1 }.get()) {
        let (fresh, followed, worked, burst) =
            (Live::start(None)?, Live::start(None)?, Live::start(None)?, Live::start(Some(BURST.get()))?);
        followers.push(followed.client(Some(0))?);
        for live in [&worked, &burst] {
            live.client(Some(0))?.turn()?;
        }
        for (host, hosts) in [fresh, followed, worked, burst].into_iter().zip(&mut hosts) {
            hosts.push(Process::numbered(host.status()?.pid));
            live.push(host);
        }
    }
    let mut waiting = Command::new("sleep").arg("infinity").stdin(Stdio::null()).spawn()?;
    let floor = Process::numbered(waiting.id());
    pause(SETTLE.get());
    let wakes = || -> anyhow::Result<Vec<u64>> { hosts.iter().flatten().map(Process::switches).collect() };
    let before = wakes()?;
    pause(WINDOW.get());
    let woken: Vec<f64> =
        wakes()?.iter().zip(before).map(|(after, before)| (after - before) as f64).collect();
    for ((state, hosts), woken) in STATES.into_iter().zip(&hosts).zip(woken.chunks(hosts[0].len())) {
        for (name, file, field, target) in [
            ("resident memory", "status", "VmRSS", Some(MOST)),
            ("its share of it (PSS)", "smaps_rollup", "Pss", None),
            ("private memory", "smaps_rollup", "Private_Dirty", None),
        ] {
            let bytes = |process: &Process| Ok::<_, anyhow::Error>(process.bytes(file, field)? as f64);
            let ours = Spread::of(hosts.iter().map(bytes).collect::<Result<_, _>>()?);
            let row = Row::new(format!("host, {state}: {name}"), Unit::Bytes, ours);
            let row = row.over(Spread::of(vec![bytes(&floor)?]));
            table.add(target.map_or_else(|| row.clone(), |target| row.clone().target(target)));
        }
        let woken =
            Row::new(format!("host, {state}: wake-ups in 20 s"), Unit::Count, Spread::of(woken.to_vec()));
        table.add(woken.target(Target::AtMost(0.0)));
    }
    waiting.kill()?;
    waiting.wait()?;
    drop(followers);
    Ok(())
}
