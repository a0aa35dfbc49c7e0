//! What a gate adds to a beat, over the gate's own program; and a beat that a gate skips.

use super::home::{Home, fixture};
use super::measure::{interleave, time_of};
use super::table::{Row, Table, Target};
use serde_json::{Value, json};

const ROUNDS: usize = 60;
/// The most that a gate may add, in milliseconds.
const WANTED: f64 = 3.0;

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new(&format!("#!/bin/sh\nexec cat {}\n", fixture("ok").join("stdout").display()))?;
    home.register(4, |_| None)?;
    let path = home.data().join("config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    config["workspaces"][1]["when"] = json!(["true"]);
    config["workspaces"][2]["when"] = json!(["sh", "-c", "exit 78"]);
    config["workspaces"][3]["when"] = json!(["echo", "3 new mails"]);
    std::fs::write(&path, config.to_string())?;
    let beat = |number: usize| {
        let mut command = home.murmur();
        command.arg("beat").arg(home.workspace(number));
        time_of(&mut command)
    };
    let [program, without, silent, skipped, printing] = interleave(
        ROUNDS,
        [
            &mut || time_of(&mut home.command("true")),
            &mut || beat(0),
            &mut || beat(1),
            &mut || beat(2),
            &mut || beat(3),
        ],
    )?;
    for (what, with) in [("runs `true`", silent), ("prints a line, which is captured", printing)] {
        let added = with.map(|with| with - without.median);
        table.add(
            Row::time(format!("a gate that {what}: time it adds to a beat, over `true`"), added)
                .over(program)
                .target(Target::Beyond(WANTED)),
        );
    }
    table.add(Row::time("a beat that a gate skips", skipped));
    Ok(())
}
