//! Reading captures through the library: opening a session by its id, and reading from a cursor.

use super::super::measure::{Size, Spread, interleave, median, milliseconds};
use super::super::table::{Row, Table, Target};
use super::stored::{BIG, SMALL, Stored, cursors};
use std::fs::File;
use std::os::unix::fs::FileExt;
use sys::clock;

/// How much is read at once, from the start and from the end.
pub(super) const PAGE: usize = 64 * 1024;
pub(super) const TAIL: usize = 1000;
const ROUNDS: usize = 11;
/// Reads per round.
const READS: Size<usize> = Size { full: 200, tiny: 3 };

pub(super) fn run(table: &mut Table, stored: &Stored) -> anyhow::Result<()> {
    let output = File::open(stored.output("big"))?;
    let mut block = vec![0; PAGE];
    let read = |id: &str, cursor: u64, bytes: usize| {
        let page = stored.store.session(id)?.read(cursor, bytes, clock::now())?;
        anyhow::ensure!(page.bytes.len() == bytes, "{id}: {} bytes", page.bytes.len());
        Ok(page)
    };
    let pages = |id: &str, size: u64| {
        let mut times = Vec::with_capacity(READS.get());
        for cursor in cursors(size, PAGE as u64, READS.get()) {
            times.push(milliseconds(|| read(id, cursor, PAGE))?);
        }
        Ok(median(times))
    };
    let tails = |id: &str| {
        let mut times = Vec::with_capacity(READS.get());
        for _ in 0..READS.get() {
            times.push(milliseconds(|| {
                let end = stored.store.session(id)?.end()?;
                read(id, end - TAIL as u64, TAIL)
            })?);
        }
        Ok(median(times))
    };
    let [floor, big, small, tail, small_tail] = interleave(
        ROUNDS,
        [
            &mut || {
                let mut times = Vec::with_capacity(READS.get());
                for cursor in cursors(BIG, PAGE as u64, READS.get()) {
                    times.push(milliseconds(|| Ok(output.read_exact_at(&mut block, cursor)?))?);
                }
                Ok(median(times))
            },
            &mut || pages("big", BIG),
            &mut || pages("small", SMALL),
            &mut || tails("big"),
            &mut || tails("small"),
        ],
    )?;
    reads(table, "read of a capture", [floor, big, small, tail, small_tail], "a `pread` of 64 KiB");
    Ok(())
}

/// The rows of reads from a capture of 100 MiB, the middle of it and its end, over `floor`, and over those from one of
/// 1 MiB.
pub(super) fn reads(
    table: &mut Table,
    reader: &str,
    [floor, big, small, tail, small_tail]: [Spread; 5],
    over: &str,
) {
    for (what, most, big, small) in
        [("64 KiB", 0.15, big, small), ("the last 1,000 bytes", 0.05, tail, small_tail)]
    {
        let figure = format!("{reader}: {what} of 100 MiB");
        table.add(Row::time(format!("{figure}, over {over}"), big).over(floor).target(Target::AtMost(most)));
        table.add(
            Row::time(format!("{figure}, over those of 1 MiB"), big).over(small).target(Target::Times(1.2)),
        );
    }
}
