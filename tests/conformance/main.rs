//! Holds fake-claude against the real Claude Code: `cargo test --test conformance [-- record|check] [NAME...]`.
//!
//! `record` records every scenario of `fixtures/claude` anew from the real CLI against fake-model. `check`,
//! the default, runs each on the real CLI and on fake-claude and fails on any difference that matters. Both
//! are skipped, with one line, where the real CLI cannot be had.

mod clients;
mod compare;
mod conversation;
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
    // The MCP clients are named like scenarios, and are checked with them where none is named.
    let named = |name: &str| !record && (names.is_empty() || names.iter().any(|wanted| wanted == name));
    let (with_inspector, with_claude) = (named("mcp-inspector"), named("mcp-claude"));
    let only_clients = !names.is_empty() && names.iter().all(|name| name.starts_with("mcp-"));
    let names: Vec<String> = names.iter().filter(|name| !name.starts_with("mcp-")).cloned().collect();
    let mut clients_agree = true;
    if with_inspector {
        clients_agree &= match clients::inspector() {
            Ok(None) => told("mcp-inspector", "agrees", true),
            Ok(Some(why)) => told("mcp-inspector", &format!("skipped: {why}"), true),
            Err(error) => told("mcp-inspector", &format!("{error:#}"), false),
        };
    }
    let claude = match real::find() {
        Ok(claude) => claude,
        Err(why) => {
            say(&format!("conformance: skipped: {why}"));
            return Ok(clients_agree);
        }
    };
    if with_claude {
        clients_agree &= match clients::claude(&claude) {
            Ok(()) => told("mcp-claude", "agrees", true),
            Err(error) => told("mcp-claude", &format!("{error:#}"), false),
        };
    }
    if only_clients {
        return Ok(clients_agree);
    }
    let fixtures = Path::new(FIXTURES);
    let scenarios = Scenario::all(fixtures, &names)?;
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
    Ok(clients_agree && agree == scenarios.len())
}

fn told(name: &str, what: &str, agrees: bool) -> bool {
    say(&format!("{name}: {what}"));
    agrees
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
