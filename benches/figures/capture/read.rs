//! Reading captures through the library: opening a session by its id, and reading from a cursor.

use super::super::measure::{Size, interleave, median, milliseconds};
use super::super::table::Table;
use super::floor::compare;
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
    let mut add = |what: &str, ours, theirs, most: Option<f64>, wanted: Option<f64>| {
        let mut row = compare(what, ours, theirs, fine, most);
        if let Some(wanted) = wanted {
            (row.wanted, row.met) = (format!("<= {wanted} ms"), Some(ours <= wanted));
        }
        table.add(row);
    };
    add("library: read 64 KiB of 100 MiB, over a `pread` of them", big, floor, None, Some(0.15));
    add("library: the same, over 64 KiB of 1 MiB", big, small, Some(1.2), None);
    add(
        "library: read the last 1,000 bytes of 100 MiB, over those of 1 MiB",
        tail,
        small_tail,
        Some(1.2),
        None,
    );
    add(
        "library: read the last 1,000 bytes of 100 MiB, over a `pread` of 64 KiB",
        tail,
        floor,
        None,
        Some(0.05),
    );
    Ok(())
}

/// Milliseconds, rounded to microseconds.
pub(super) fn fine(milliseconds: f64) -> String {
    format!("{milliseconds:.3} ms")
}
