//! Holds fake-claude against the real Claude Code: `cargo test --test conformance [-- record|check] [NAME...]`.
//!
//! `record` records every scenario of `fixtures/claude` anew from the real CLI against fake-model. `check`,
//! the default, runs each on the real CLI and on fake-claude and fails on any difference that matters. Both
//! are skipped, with one line, where the real CLI cannot be had.

mod compare;
mod real;
mod run;
mod scenario;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use murmur::replay::Fixture;

use compare::compare;
use scenario::Scenario;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/claude");

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let record = names.first().is_some_and(|word| word == "record");
    if record || names.first().is_some_and(|word| word == "check") {
        names.remove(0);
    }
    match conform(record, &names) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn conform(record: bool, names: &[String]) -> Result<bool> {
    let claude = match real::find() {
        Ok(claude) => claude,
        Err(why) => {
            say(&format!("conformance: skipped: {why}"));
            return Ok(true);
        }
    };
    let fixtures = Path::new(FIXTURES);
    let scenarios = Scenario::all(fixtures, names)?;
    if record {
        for scenario in &scenarios {
            let fixture = run::real(&claude, scenario, fixtures)?;
            say(&format!(
                "recorded {}: {:?}, {} bytes",
                scenario.name,
                fixture.run.end,
                fixture.stdout.len()
            ));
        }
        return Ok(true);
    }
    let mut agree = 0;
    for scenario in &scenarios {
        let folder = tempfile::tempdir()?;
        let real = run::real(&claude, scenario, &folder.path().join("real"))?;
        let fake = run::fake(&fixtures.join(&scenario.name), scenario, &folder.path().join("fake"))?;
        agree += usize::from(agrees(&scenario.name, &real, &fake));
    }
    say(&format!("conformance: {agree} of {} scenarios agree", scenarios.len()));
    Ok(agree == scenarios.len())
}

fn agrees(name: &str, real: &Fixture, fake: &Fixture) -> bool {
    let differences = compare(real, fake);
    for difference in &differences {
        say(&format!("{name}: {difference}"));
    }
    if differences.is_empty() {
        say(&format!("{name}: agrees"));
    }
    differences.is_empty()
}

fn say(line: &str) {
    // Without a reader there is nobody to tell; the exit code still says it.
    drop(writeln!(io::stdout(), "{line}"));
}
