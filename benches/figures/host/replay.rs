//! A session of 1,000,000 events replayed, from the first on, from the middle, and near its end.

use super::super::measure::{Size, interleave, median, milliseconds, ms};
use super::super::table::{Row, Table};
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

const ROUNDS: usize = 3;
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
        ROUNDS,
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
    let speed = |time: f64| bytes as f64 / time / 1e3;
    let rate = |time: f64| format!("{:.0} MB/s", speed(time));
    for (how, ours, wanted) in
        [("over the socket", socket, Some(WANTED)), ("in the library alone", library, None)]
    {
        table.add(Row {
            what: format!(
                "host, {next} events ({:.0} MB) told again {how} ({:.0} events/s), over reading the bytes",
                bytes as f64 / 1e6,
                next as f64 / ours * 1e3
            ),
            floor: rate(floor),
            ours: rate(ours),
            ratio: Some(ours / floor),
            wanted: wanted.map_or_else(String::new, |wanted| format!(">= {wanted} MB/s")),
            met: wanted.map(|wanted| speed(ours) >= wanted),
        });
    }
    table.add(Row {
        what: "the same: events lost".to_owned(),
        ours: lost.get().to_string(),
        wanted: "0".to_owned(),
        met: Some(lost.get() == 0),
        ..Row::default()
    });
    for (where_to, from) in [("its last event", next - 1), ("the middle", next / 2), ("the first", 0)] {
        let first = || {
            milliseconds(|| {
                let mut client = live.client(Some(from))?;
                while offset(client.lines.next()?).is_none() {}
                Ok(())
            })
        };
        let times = (0..ATTACHES.get()).map(|_| first()).collect::<Result<Vec<_>, _>>()?;
        table.add(Row {
            what: format!("host, the same session: from connecting to the first event, from {where_to} on"),
            ours: ms(median(times)),
            ..Row::default()
        });
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
