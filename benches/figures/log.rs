//! `murmur log` on a journal of 1,000,000 lines, over `tail`.

use super::home::Home;
use super::measure::{Size, interleave, ms, time_of};
use super::table::{Row, Table};
use jiff::SignedDuration;
use murmur::outcome::{Kind, Outcome};
use murmur_core::id::SessionId;
use murmur_store::journal::entry::Entry;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use sys::clock;
use sys::process::Exit;

const LINES: Size<usize> = Size { full: 1_000_000, tiny: 2000 };
/// One in so many beats fails.
const ERROR_EVERY: usize = 10_000;
/// The beats alternate between so many workspaces.
const WORKSPACES: usize = 100;
const ROUNDS: usize = 21;
const ELSEWHERE: &str = "/workspaces/elsewhere";

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new("#!/bin/sh\n")?;
    write_journal(&home)?;
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
        (" --workspace W, none: every line is read", nothing),
    ] {
        table.add(Row {
            what: format!("`murmur log{args}` of 1,000,000 lines, over `tail -n 20`"),
            floor: ms(floor),
            ours: ms(ours),
            ratio: Some(ours / floor),
            wanted: "< 50 ms".to_owned(),
            met: Some(ours < 50.0),
        });
    }
    Ok(())
}

/// A beat a minute, the last one now.
fn write_journal(home: &Home) -> anyhow::Result<()> {
    let mut journal = BufWriter::with_capacity(1 << 20, File::create(home.journal())?);
    let now = clock::now();
    for number in 0..LINES.get() {
        let minutes = i64::try_from(LINES.get() - number)?;
        let at = now.checked_sub(SignedDuration::from_mins(minutes))?;
        let mut entry = Entry {
            beat: Some(murmur::beat::new_id(at)),
            agent: format!("{:03}-{number:08x}", number % WORKSPACES),
            session_id: Some(SessionId::new(format!("{number:08x}-0000-4000-8000-000000000001"))),
            cost_usd: Some(0.0132),
            num_turns: Some(3),
            exit: Some(Exit::Code(0)),
            ..Entry::new(
                clock::rfc3339(at),
                format!("/workspaces/{:03}", number % WORKSPACES),
                Kind::Ok,
                41_234,
            )
        };
        if number % ERROR_EVERY == ERROR_EVERY / 2 {
            entry.set_outcome(Outcome::Error("API Error: 429 rate limited; try again later".to_owned()));
        } else if number % 10 == 0 {
            entry.set_outcome(Outcome::Attention("ATTENTION: two builds failed on main".to_owned()));
        }
        journal.write_all(entry.line()?.as_bytes())?;
    }
    journal.flush()?;
    Ok(())
}
