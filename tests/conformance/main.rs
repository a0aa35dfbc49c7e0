//! Holds fake-claude against the real Claude Code: `cargo test --test conformance [-- record|check] [NAME...]`.
//!
//! `record` records every scenario of `fixtures/claude` anew from the real CLI against fake-model. `check`,
//! the default, runs each on the real CLI and on fake-claude and fails on any difference that matters; and what
//! `fixtures/acted` holds, which is never recorded. The real CLI is the pinned version, or the one that
//! `REAL_CLAUDE_VERSION` or `MURMUR_REAL_CLAUDE` chooses. Where the pinned one cannot be installed, both are skipped, with
//! one line; where the chosen one cannot be, the exit code is 69.

mod acted;
mod attacks;
#[path = "../built.rs"]
mod built;
mod choice;
mod clients;
mod compare;
mod conversation;
mod live;
mod payloads;
mod permits;
mod place;
mod plan;
mod pulses;
mod real;
mod run;
mod scenario;
mod trust;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use fake_claude::replay::{Fixture, ask_version};

use compare::compare;
use real::Missing;
use scenario::Scenario;

/// Checks that are no scenarios: MCP clients that were not written here, the real CLI as a live agent, under murmur's
/// hook, and with its pulses.
const OTHERS: [&str; 11] = [
    "mcp-inspector",
    "mcp-claude",
    "host-live",
    "permits",
    "defers",
    "fails-closed",
    "pulses",
    "pulses-started",
    "plan-beat",
    "plan-live",
    "trust",
];

/// The exit code where the chosen version cannot be installed: `EX_UNAVAILABLE` of sysexits.h.
const UNAVAILABLE: u8 = 69;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/claude");

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let record = names.first().is_some_and(|word| word == "record");
    if record || names.first().is_some_and(|word| word == "check") {
        names.remove(0);
    }
    if record && names.first().is_some_and(|word| word == payloads::NAME) {
        return match payloads::record(&names[1..], say) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(&format!("error: {error:#}"));
                ExitCode::FAILURE
            }
        };
    }
    match conform(record, &names) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn ended(agree: bool) -> ExitCode {
    if agree { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn conform(record: bool, names: &[String]) -> Result<ExitCode> {
    // What is no scenario is named like one, and is checked with them where none is named.
    let named = |name: &str| !record && (names.is_empty() || names.iter().any(|wanted| wanted == name));
    let is_other = |name: &String| OTHERS.contains(&name.as_str());
    let mut agree = true;
    if named(OTHERS[0]) {
        agree &= match clients::inspector() {
            Ok(Some(why)) => told(OTHERS[0], &format!("skipped: {why}"), true),
            Ok(None) => tell(OTHERS[0], Ok(())),
            Err(error) => tell(OTHERS[0], Err(error)),
        };
    }
    let claude = match real::find() {
        Ok(claude) => claude,
        Err(Missing::Pinned(why)) => {
            say(&format!("conformance: skipped: {why}"));
            return Ok(ended(agree));
        }
        Err(Missing::Chosen(why)) => {
            say(&format!("error: {why}"));
            return Ok(ExitCode::from(UNAVAILABLE));
        }
        Err(Missing::Wrong(why)) => bail!(why),
    };
    say(&format!("conformance: with {}", ask_version(&claude)));
    let with_claude: [fn(&Path) -> Result<()>; 10] = [
        clients::claude,
        live::across_a_killed_daemon,
        permits::a_person_decides,
        permits::a_beat_waits_for_its_answer,
        permits::the_hook_fails_closed,
        pulses::of_a_session,
        pulses::of_what_murmur_starts,
        plan::a_beat_is_refused_it,
        plan::a_live_agent_leaves_it,
        |claude| trust::of_a_hostile_repository(claude).and_then(|()| attacks::all(claude)),
    ];
    for (name, check) in OTHERS[1..].iter().zip(with_claude).filter(|(name, _)| named(name)) {
        agree &= tell(name, check(&claude));
    }
    let acted = acted::names()?;
    for name in acted.iter().filter(|name| named(name)) {
        agree &= acts_alike(&claude, name);
    }
    let is_other = |name: &String| is_other(name) || acted.contains(name);
    let scenarios: Vec<String> = names.iter().filter(|name| !is_other(name)).cloned().collect();
    if scenarios.is_empty() && !names.is_empty() {
        return Ok(ended(agree));
    }
    Ok(ended(scenarios_agree(record, &claude, &scenarios)? && agree))
}

fn scenarios_agree(record: bool, claude: &Path, names: &[String]) -> Result<bool> {
    let fixtures = Path::new(FIXTURES);
    let scenarios = Scenario::all(fixtures, names)?;
    if record {
        for scenario in &scenarios {
            let fixture = run::real(claude, scenario, fixtures)?;
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
        let real = run::real(claude, scenario, &folder.path().join("real"))?;
        let fake = run::fake(&fixtures.join(&scenario.name), scenario, &folder.path().join("fake"))?;
        agree += usize::from(agrees(&scenario.name, &real, &fake));
    }
    say(&format!("conformance: {agree} of {} scenarios agree", scenarios.len()));
    Ok(agree == scenarios.len())
}

fn acts_alike(claude: &Path, name: &str) -> bool {
    match acted::differences(claude, name) {
        Ok(differences) if differences.is_empty() => told(name, "agrees", true),
        Ok(differences) => {
            differences.iter().for_each(|difference| say(&format!("{name}: {difference}")));
            false
        }
        Err(error) => told(name, &format!("{error:#}"), false),
    }
}

fn tell(name: &str, checked: Result<()>) -> bool {
    match checked {
        Ok(()) => told(name, "agrees", true),
        Err(error) => told(name, &format!("{error:#}"), false),
    }
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
