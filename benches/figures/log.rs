//! `murmur log` on a journal of 1,000,000 lines, over `tail`.

use super::home::Home;
use super::journal;
use super::measure::{interleave, time_of};
use super::table::{Row, Table, Target};
use std::fs;

const ROUNDS: usize = 21;
const ELSEWHERE: &str = "/workspaces/elsewhere";

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new("#!/bin/sh\n")?;
    journal::write(&home)?;
    // A registered workspace without a line: an unknown name would be an error.
    let config = serde_json::json!({ "workspaces": [{ "path": ELSEWHERE, "interval": "1d" }] });
    fs::write(home.data().join("config.json"), config.to_string())?;
    let time = |args: &[&str]| {
        let mut command = home.murmur();
        command.arg("log").args(args);
        time_of(&mut command)
    };
    let tail = || {
        let mut command = home.command("/usr/bin/tail");
        command.args(["-n", "20"]).arg(home.journal());
        time_of(&mut command)
    };
    let [floor, newest, errors, since, workspace, nothing] = interleave(
        ROUNDS,
        [
            &mut || tail(),
            &mut || time(&[]),
            &mut || time(&["--outcome", "error"]),
            &mut || time(&["--since", "2h"]),
            &mut || time(&["--workspace", "/workspaces/042"]),
            &mut || time(&["--workspace", ELSEWHERE]),
        ],
    )?;
    for (args, ours) in [
        ("", newest),
        (" --since 2h", since),
        (" --workspace W, 1 line in 100", workspace),
        (" --outcome error, 1 line in 10,000", errors),
        (" --workspace EMPTY", nothing),
    ] {
        let figure = format!("`murmur log{args}` of 1,000,000 lines, over `tail -n 20`");
        let row = Row::time(figure, ours).over(floor).target(Target::AtMost(50.0));
        table.add(row);
    }
    Ok(())
}
