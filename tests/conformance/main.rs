//! Compares fake-claude with the real Claude Code: `cargo test --test conformance [-- record|check|versions]
//! [NAME...]`.
//!
//! `record` records scenarios of `fixtures/claude` again, from the real CLI with fake-model. `check`, the default, runs
//! every check (`checks.rs`) on the real CLI, several at once, and fails on any difference from fake-claude. The real
//! CLI is the pinned version, or the one that `REAL_CLAUDE_VERSION` or `MURMUR_REAL_CLAUDE` chooses. If the pinned one
//! can't be installed, both print one line and skip; if the chosen one can't, the exit code is 69. `versions` runs the
//! checks on many versions and reports what each lacks (`versions.rs`). `codex` and `acp`, with `check` or `record`,
//! are other agents (`agents.rs`).

mod acted;
mod agents;
mod agreement;
mod attacks;
#[path = "../built.rs"]
mod built;
mod checks;
mod choice;
mod clients;
mod compare;
mod conversation;
mod facts;
mod known;
mod learn;
mod limits;
mod live;
mod overlap;
mod payloads;
mod permits;
mod place;
mod plan;
mod pool;
mod pulses;
mod real;
mod report;
mod run;
mod scenario;
mod schedules;
mod stuck;
mod triggers;
mod trust;
mod unattended;
mod versions;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use fake_claude::replay::ask_version;

use checks::{Claude, INSPECTOR};
use pool::Part;
use real::Missing;
use report::Report;
use scenario::Scenario;

/// The exit code if the chosen version can't be installed: `EX_UNAVAILABLE` of sysexits.h.
const UNAVAILABLE: u8 = 69;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|word| word == pool::PART) {
        return ended(pool::answer(&args[1..]).map(|()| ExitCode::SUCCESS));
    }
    let mut words: Vec<String> = args.into_iter().filter(|word| !word.starts_with('-')).collect();
    let mode = words.first().filter(|word| ["record", "check", "versions"].contains(&word.as_str())).cloned();
    if mode.is_some() {
        words.remove(0);
    }
    if words.iter().any(|name| agents::is_one(name)) {
        return match agents::run(mode.as_deref() == Some("record"), &words, say) {
            Ok(Some(true)) => ExitCode::SUCCESS,
            Ok(Some(false)) => ExitCode::FAILURE,
            Ok(None) => ExitCode::from(UNAVAILABLE),
            Err(error) => {
                say(&format!("error: {error:#}"));
                ExitCode::FAILURE
            }
        };
    }
    ended(match mode.as_deref() {
        Some("record") => record(&words),
        Some("versions") => versions::check(&words),
        _ => check(&words),
    })
}

fn ended(result: Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        say(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

/// The real CLI, or the exit code if there is none.
fn claude() -> Result<Result<Claude, ExitCode>> {
    Ok(match real::find() {
        Ok(path) => Ok(Claude { version: ask_version(&path), path }),
        Err(Missing::Pinned(why)) => {
            say(&format!("conformance: skipped: {why}"));
            Err(ExitCode::SUCCESS)
        }
        Err(Missing::Chosen(why)) => {
            say(&format!("error: {why}"));
            Err(ExitCode::from(UNAVAILABLE))
        }
        Err(Missing::Wrong(why)) => bail!(why),
    })
}

fn record(names: &[String]) -> Result<ExitCode> {
    if names.first().is_some_and(|word| word == payloads::NAME) {
        payloads::record(&names[1..], say)?;
        return Ok(ExitCode::SUCCESS);
    }
    let claude = match claude()? {
        Ok(claude) => claude,
        Err(code) => return Ok(code),
    };
    let fixtures = Path::new(checks::FIXTURES);
    for scenario in &Scenario::all(fixtures, names)? {
        let fixture = run::real(&claude.path, &claude.version, scenario, fixtures)?;
        let (end, bytes) = (fixture.run.end, fixture.stdout.len());
        say(&format!("recorded {}: {end:?}, {bytes} bytes", scenario.name));
    }
    Ok(ExitCode::SUCCESS)
}

fn check(names: &[String]) -> Result<ExitCode> {
    let started = Instant::now();
    let chosen = checks::chosen(names)?;
    let wants_inspector = names.is_empty() || names.iter().any(|name| name == INSPECTOR);
    let mut agree = !wants_inspector || inspector();
    if chosen.is_empty() {
        return Ok(code(agree));
    }
    let claude = match claude()? {
        Ok(claude) => claude,
        Err(code) if agree => return Ok(code),
        Err(_) => return Ok(ExitCode::FAILURE),
    };
    say(&format!("conformance: with {}", claude.version));
    let older = real::older().map(|path| Claude { version: ask_version(&path), path });
    let mut parts: Vec<Part> = Vec::new();
    for check in &chosen {
        parts.extend(checks::parts(check, &claude, older.as_ref())?);
    }
    build()?;
    let (mut good, mut differ) = (0, false);
    pool::run(&parts, |at, report| {
        let part = &parts[at];
        differ |= tell(part, &report);
        // The last part of a check reports the results of all.
        if parts.get(at + 1).is_none_or(|next| next.check != part.check) {
            if !differ {
                say(&format!("{}: agrees", part.check));
                good += 1;
            }
            agree &= !differ;
            differ = false;
        }
    })?;
    let seconds = started.elapsed().as_secs();
    say(&format!("conformance: {good} of {} checks agree, in {seconds} s", chosen.len()));
    Ok(code(agree))
}

fn code(agree: bool) -> ExitCode {
    if agree { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Builds fake-claude and fake-model before the parts need them.
fn build() -> Result<()> {
    built::built("fake-claude")?;
    Ok(())
}

/// Prints the differences of a part, if any.
fn tell(part: &Part, report: &Report) -> bool {
    let name =
        if part.case.is_empty() { part.check.clone() } else { format!("{}: {}", part.check, part.case) };
    for difference in report.differences() {
        say(&format!("{name}: {difference}"));
    }
    report.differences().next().is_some()
}

fn inspector() -> bool {
    let (what, agrees) = match clients::inspector() {
        Ok(Some(why)) => (format!("skipped: {why}"), true),
        Ok(None) => ("agrees".to_owned(), true),
        Err(error) => (format!("{error:#}"), false),
    };
    say(&format!("{INSPECTOR}: {what}"));
    agrees
}

fn say(line: &str) {
    // Without a reader, the exit code alone reports it.
    drop(writeln!(io::stdout(), "{line}"));
}
