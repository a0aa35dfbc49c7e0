//! `murmur usage` on a journal of 1,000,000 lines, over `wc -l`.

use super::home::Home;
use super::journal::{self, LINES};
use super::measure::{interleave, ms, time_of};
use super::table::{Row, Table};

const ROUNDS: usize = 21;

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
    for (by, ours) in [("heartbeat", heartbeat), ("day", day)] {
        table.add(Row {
            what: format!(
                "`murmur usage --by {by}` of {} lines, {} MB, over `wc -l`",
                LINES.get(),
                bytes / 1_000_000
            ),
            floor: ms(floor),
            ours: ms(ours),
            ratio: Some(ours / floor),
            wanted: "< 300 ms".to_owned(),
            met: Some(ours < 300.0),
        });
    }
    Ok(())
}
