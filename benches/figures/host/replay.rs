//! A session of 1,000,000 events replayed, from the first on, from the middle, and near its end.

use super::super::measure::{FEW, Size, Spread, interleave, milliseconds};
use super::super::table::{Row, Table, Target, Unit};
use super::line::offset;
use super::live::{Live, output};
use anyhow::Context;
use murmur_agent::parser::Dialect;
use murmur_host::replay::{Replay, StoredEvents};
use murmur_rpc::feed::Past;
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

const ATTACHES: Size<usize> = Size { full: 41, tiny: 3 };
/// Of about 1,200 bytes each.
const LINES: Size<u64> = Size { full: 1_000_000, tiny: 1000 };
/// How much is read, or derived, at once.
const PAGE: usize = 256 << 10;
/// MB/s of the agent's bytes.
const WANTED: f64 = 400.0;

pub(super) fn run(table: &mut Table) -> anyhow::Result<()> {
    let live = Live::start(Some(&LINES.get().to_string()))?;
    live.client(Some(0))?.turn()?;
    let status = live.status()?;
    let (next, capture) = (status.stream_offset, status.capture.context("nothing was captured")?);
    let kept = StoredEvents {
        root: live.store(),
        session: capture.clone(),
        agent_id: status.info.agent_id,
        dialect: Dialect::StreamJson,
        limit: Arc::new(AtomicU64::new(u64::MAX)),
        is_over: false,
    };
    let file = output(&live.store(), capture.as_str());
    let bytes = file.metadata()?.len();
    // Until everything is on disk, that takes a core and the page cache.
    rustix::fs::sync();
    let lost = Cell::new(0);
    let [floor, library, socket] = interleave(
        FEW,
        [
            &mut || milliseconds(|| plain(&file, bytes)),
            &mut || milliseconds(|| derive(kept.clone(), next)),
            &mut || {
                milliseconds(|| {
                    let mut client = live.client(Some(0))?;
                    let seen = client.until(|line| offset(line) == Some(next - 1))?;
                    lost.set(lost.get() + seen.lost + next.abs_diff(seen.events + seen.lost));
                    Ok(())
                })
            },
        ],
    )?;
    let speed = |times: Spread| times.map(|time| bytes as f64 / time / 1e3);
    let replayed = |how: &str, ours| {
        let figure = format!(
            "host: replay {next} events, {:.0} MB, {how}, over reading the bytes",
            bytes as f64 / 1e6
        );
        Row::new(figure, Unit::Speed, speed(ours)).over(speed(floor))
    };
    table.add(replayed("through the socket", socket).target(Target::AtLeast(WANTED)));
    table.add(replayed("in the library alone", library));
    let lost = Spread::of(vec![lost.get() as f64]);
    table.add(Row::new("host: events lost by these replays", Unit::Count, lost).target(Target::AtMost(0.0)));
    for (where_to, from) in [("its last event", next - 1), ("the middle", next / 2), ("the first", 0)] {
        let first = || {
            milliseconds(|| {
                let mut client = live.client(Some(from))?;
                while offset(client.lines.next()?).is_none() {}
                Ok(())
            })
        };
        let times = (0..ATTACHES.get()).map(|_| first()).collect::<Result<Vec<_>, _>>()?;
        let figure =
            format!("host: the same session, from connecting to the first event, from {where_to} on");
        table.add(Row::time(figure, Spread::of(times)));
    }
    Ok(())
}

fn plain(file: &std::path::Path, bytes: u64) -> anyhow::Result<()> {
    let (mut file, mut page, mut read) = (File::open(file)?, vec![0; PAGE], 0);
    loop {
        match file.read(&mut page)? {
            0 => break,
            count => read += count as u64,
        }
    }
    anyhow::ensure!(read == bytes, "{read} of {bytes} bytes");
    Ok(())
}

fn derive(kept: StoredEvents, next: u64) -> anyhow::Result<()> {
    let (mut replay, mut page, mut at) = (Replay::open(kept, 0)?, Vec::new(), 0);
    while at < next {
        page.clear();
        let events = replay.fill(&mut page, PAGE)?;
        anyhow::ensure!(events.start == at && !events.is_empty(), "events {events:?} where {at} is next");
        at = events.end;
    }
    Ok(())
}
