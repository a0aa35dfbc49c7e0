//! All checks: their names, their parts, and the result of a part.
//!
//! A check is a scenario of `fixtures/claude`, a file of `fixtures/acted`, each case of which is a part, or one of
//! [`OTHERS`]. `pool.rs` runs each part in its own process.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::acted;
use crate::compare::compare;
use crate::facts::Facts;
use crate::known::{Capability, Known};
use crate::pool::Part;
use crate::report::Report;
use crate::scenario::Scenario;
use crate::{
    attacks, clients, limits, live, overlap, permits, plan, pulses, run, schedules, stuck, triggers, trust,
    unattended,
};

pub(crate) const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/claude");

/// The check that needs an MCP client but no Claude Code.
pub(crate) const INSPECTOR: &str = "mcp-inspector";

/// Those that are also run with the older version if none is chosen.
const OLDER: [&str; 3] = ["pulses", "pulses-started", "shell-killed"];

/// Prefix of the checks that prove a capability with their own case.
const PROBE: &str = "capability ";

/// A check with murmur itself.
struct Other {
    name: &'static str,
    check: fn(&Path) -> Result<()>,
    /// The capabilities without which it fails.
    needs: &'static [&'static str],
}

const fn other(name: &'static str, needs: &'static [&'static str], check: fn(&Path) -> Result<()>) -> Other {
    Other { name, check, needs }
}

/// Checks that are not scenarios: the real CLI as a client of murmur's MCP server, as a hosted agent, under murmur's
/// hook, with its pulses, against a hostile repository and a hostile agent, and
/// while nobody watches.
const OTHERS: &[Other] = &[
    other("mcp-claude", &[], clients::claude),
    other("host-live", &[], live::across_a_killed_daemon),
    other("permits", &[], permits::a_person_decides),
    other("defers", &["defer"], permits::a_beat_waits_for_its_answer),
    other("fails-closed", &["onFailure"], permits::the_hook_fails_closed),
    other("shell-killed", &[], permits::the_hooks_shell_is_killed),
    other("pulses", &["hook-duration"], pulses::of_a_session),
    other("pulses-started", &["hook-duration"], pulses::of_what_murmur_starts),
    other("plan-beat", &[], plan::a_beat_is_refused_it),
    other("plan-live", &[], plan::a_live_agent_leaves_it),
    other("trust", &[], trust::of_a_hostile_repository),
    other("attacks", &[], attacks::all),
    other("limited", &[], limits::a_limited_beat_continues),
    other("limit-dropped", &[], limits::a_limited_beat_is_dropped),
    other("reserved", &[], limits::a_reserve),
    other("overloaded", &[], unattended::an_overload_is_retried),
    other("unreachable", &[], unattended::an_unreachable_api_is_retried),
    other("timed-out-retrying", &[], unattended::a_timeout_during_retries),
    other("gates", &[], unattended::gates),
    other("over-budget", &[], unattended::budget),
    other("dead-mcp", &[], unattended::dead_mcp_server),
    other("hangs", &[], unattended::watchdogs),
    other("host-stuck", &[], stuck::a_suspended_host),
    other("start-timeout", &[], overlap::start_timeout),
    other("queued", &[], overlap::queue),
    other("replaced", &[], overlap::replace),
    other("paused", &[], unattended::pause_and_active_hours),
    other("skipped", &[], overlap::skip),
    other("start-deadline", &[], schedules::start_deadline),
    other("catch-up", &[], schedules::catch_up),
    other("jittered", &[], schedules::jitter),
    other("excluded-dates", &[], schedules::excluded_dates),
    other("changed-page", &[], schedules::changed_page),
    other("swept", &[], unattended::retention),
    other("large-capture", &["whole-output"], triggers::large_capture),
    other("changed-files", &[], triggers::changed_files),
    other("new-commits", &[], triggers::new_commits),
    other("on-change", &[], triggers::on_a_change),
    other("breaker", &[], triggers::breaker),
    other("preflight", &[], triggers::preflight),
];

/// A Claude Code to check.
#[derive(Debug, Clone)]
pub(crate) struct Claude {
    pub(crate) path: PathBuf,
    /// What `claude --version` prints.
    pub(crate) version: String,
}

/// The names of all checks, in the order of the report.
pub(crate) fn names() -> Result<Vec<String>> {
    let mut names: Vec<String> = OTHERS.iter().map(|other| other.name.to_owned()).collect();
    names.extend(acted::names()?);
    names.extend(Scenario::all(Path::new(FIXTURES), &[])?.into_iter().map(|scenario| scenario.name));
    Ok(names)
}

/// The checks with these names, or all.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<String>> {
    let mut all = self::names()?;
    if let Some(unknown) = names.iter().find(|name| *name != INSPECTOR && !all.contains(name)) {
        bail!("no such check: {unknown}");
    }
    all.retain(|name| names.is_empty() || names.contains(name));
    Ok(all)
}

/// The parts of a check. `older` is another Claude Code with which some parts are run, too.
pub(crate) fn parts(check: &str, claude: &Claude, older: Option<&Claude>) -> Result<Vec<Part>> {
    let part = |claude: &Claude, case: &str| Part {
        check: check.to_owned(),
        case: case.to_owned(),
        claude: claude.path.clone(),
        version: claude.version.clone(),
    };
    if acted::names()?.iter().any(|name| name == check) {
        let file = acted::File::load(check)?;
        return Ok(file.names().map(|case| part(claude, case)).collect());
    }
    let mut parts = vec![part(claude, "")];
    parts.extend(older.filter(|_| OLDER.contains(&check)).map(|older| part(older, &older.version)));
    Ok(parts)
}

/// The parts that prove capabilities that no check proves.
pub(crate) fn probes(known: &Known, claude: &Claude) -> Vec<Part> {
    let own = known.capabilities.iter().filter(|capability| capability.probe.is_some());
    own.map(|capability| Part {
        check: format!("{PROBE}{}", capability.name),
        case: String::new(),
        claude: claude.path.clone(),
        version: claude.version.clone(),
    })
    .collect()
}

/// Runs a part.
pub(crate) fn run(part: &Part) -> Report {
    perform(part).unwrap_or_else(|error| Report::of(Err(error)))
}

fn perform(part: &Part) -> Result<Report> {
    let known = Known::read()?;
    if let Some(name) = part.check.strip_prefix(PROBE) {
        let found = known.capabilities.iter().find(|capability| capability.name == name);
        let Some(Capability { probe: Some(probe), shows, .. }) = found else { bail!("no probe of {name}") };
        let facts = acted::probe(&part.claude, probe)?;
        let capabilities = [(name.to_owned(), facts.shows(shows))].into();
        return Ok(Report { capabilities, ..Report::default() });
    }
    if let Some(other) = OTHERS.iter().find(|other| other.name == part.check) {
        let needs = other.needs.iter().map(|need| (*need).to_owned()).collect();
        return Ok(Report { needs, ..Report::of((other.check)(&part.claude)) });
    }
    let (mut report, facts) = if part.case.is_empty() { recorded(part)? } else { acted::compare(part)? };
    let name = [part.check.as_str(), part.case.as_str()].join("/");
    let proven =
        known.capabilities.iter().filter(|one| one.proof.as_deref() == Some(name.trim_end_matches('/')));
    report.capabilities = proven.map(|one| (one.name.clone(), facts.shows(&one.shows))).collect();
    Ok(report)
}

/// Compares a recorded scenario with fake-claude, which plays its fixture.
fn recorded(part: &Part) -> Result<(Report, Facts)> {
    let fixtures = Path::new(FIXTURES);
    let Some(scenario) = Scenario::all(fixtures, std::slice::from_ref(&part.check))?.pop() else {
        bail!("no scenario {}", part.check)
    };
    let folder = tempfile::tempdir()?;
    let real = run::real(&part.claude, &part.version, &scenario, &folder.path().join("real"))?;
    let fake =
        run::fake(&fixtures.join(&scenario.name), &part.version, &scenario, &folder.path().join("fake"))?;
    let facts = run::facts(&real);
    let report = Report {
        facts: facts.differences(&run::facts(&fake)),
        shapes: compare(&real, &fake).iter().map(ToString::to_string).collect(),
        needs: scenario.needs.clone(),
        unknown: facts.unknown.clone(),
        ..Report::default()
    };
    Ok((report, facts))
}
