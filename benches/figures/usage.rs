//! `murmur usage` on a journal of 1,000,000 lines, in one file and in parts, over `wc -l`.

use super::home::Home;
use super::journal::{self, LINES};
use super::measure::{interleave, time_of};
use super::table::{Row, Table, Target};
use std::io::Write;
use std::path::Path;
use sys::atomic;

const ROUNDS: usize = 21;
/// How many lines are written before the journal may rotate.
const LINES_AT_ONCE: usize = 1000;

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new("#!/bin/sh\n")?;
    journal::write(&home)?;
    let usage = |by: &str| {
        let mut command = home.murmur();
        command.args(["usage", "--by", by]);
        time_of(&mut command)
    };
    let count = || {
        let mut command = home.command("/usr/bin/wc");
        command.arg("-l").arg(home.journal());
        time_of(&mut command)
    };
    let [floor, heartbeat, day] =
        interleave(ROUNDS, [&mut || count(), &mut || usage("heartbeat"), &mut || usage("day")])?;
    let bytes = std::fs::metadata(home.journal())?.len();
    rotate(&home.journal())?;
    let [rotated_heartbeat, rotated_day] =
        interleave(ROUNDS, [&mut || usage("heartbeat"), &mut || usage("day")])?;
    for (by, shape, ours) in [
        ("heartbeat", "", heartbeat),
        ("day", "", day),
        ("heartbeat", ", rotated", rotated_heartbeat),
        ("day", ", rotated", rotated_day),
    ] {
        let (lines, megabytes) = (LINES.get(), bytes / 1_000_000);
        let figure = format!(
            "`murmur usage --by {by}` of {lines} lines, {megabytes} MB{shape}, over `wc -l` of one file"
        );
        table.add(Row::time(figure, ours).over(floor).target(Target::AtMost(300.0)));
    }
    Ok(())
}

/// Writes the journal again, as parts.
fn rotate(journal: &Path) -> anyhow::Result<()> {
    let whole = std::fs::read(journal)?;
    std::fs::remove_file(journal)?;
    for line in whole.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>().chunks(LINES_AT_ONCE) {
        let mut file = rotate::open_locked(journal, atomic::open_append)?;
        file.write_all(&line.concat())?;
        rotate::rotate_if_full(journal, &file, rotate::LIMIT)?;
    }
    rotate::compress(journal)?;
    Ok(())
}
