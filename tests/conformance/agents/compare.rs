//! Runs scenarios and beats with one version of an agent, several at once, and prints the results of all versions as a
//! table.
//!
//! Input: an agent, its programs by version, and names. Output: the differences, and the table.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::{Result, bail};

use super::scenario::Scenario;
use super::{Agent, beats};
use crate::pool;

/// A version of an agent.
pub(super) struct Version {
    /// What it is called in the table.
    pub(super) name: String,
    pub(super) program: PathBuf,
}

/// A check of a version.
enum Check {
    /// A beat of murmur's, by its number in `beats`.
    Beat(usize),
    Scenario(Box<Scenario>),
}

impl Check {
    fn name(&self) -> String {
        match self {
            Self::Beat(number) => format!("{}/{}", beats::NAME, beats::CHECKS[*number].name),
            Self::Scenario(scenario) => scenario.name.clone(),
        }
    }

    /// What differs.
    fn run(&self, agent: &Agent, version: &Version) -> Vec<String> {
        let found = match self {
            Self::Beat(number) => beats::run(*number, agent, &version.program).map(|()| Vec::new()),
            Self::Scenario(scenario) => agent.differences(&version.program, scenario),
        };
        found.unwrap_or_else(|error| vec![format!("{error:#}")])
    }
}

/// Checks each version. `wanted` are names, or `None` for all scenarios. Returns whether all agree.
pub(super) fn compare(
    agent: &Agent,
    versions: &[Version],
    wanted: &[Option<&str>],
    say: fn(&str),
) -> Result<bool> {
    let (beats, scenarios): (Vec<_>, Vec<_>) =
        wanted.iter().copied().partition(|name| name.is_some_and(|name| name.starts_with(beats::NAME)));
    let all_beats = scenarios.contains(&None) || beats.contains(&Some(beats::NAME));
    let of_agent = beats::CHECKS.iter().enumerate().filter(|(_, check)| (check.is_for)(agent));
    let of_agent = of_agent.map(|(number, _)| Check::Beat(number));
    let mut checks: Vec<Check> =
        of_agent.filter(|check| all_beats || beats.contains(&Some(&*check.name()))).collect();
    if checks.is_empty() && !beats.is_empty() {
        bail!("{} has no such check: {beats:?}", agent.name);
    }
    if agent.folder().is_dir() && !scenarios.is_empty() {
        checks.extend(
            Scenario::all(&agent.folder(), &scenarios)?.into_iter().map(Box::new).map(Check::Scenario),
        );
    }
    let mut columns = Vec::new();
    for version in versions {
        let found = all(agent, version, &checks, &|check, differences| {
            for difference in differences {
                say(&format!("{} {}: {}: {difference}", agent.name, version.name, check.name()));
            }
        })?;
        columns.push(found);
    }
    table(agent, versions, &checks, &columns, say);
    Ok(columns.iter().flatten().all(Vec::is_empty))
}

/// The differences of each check, which `tell` gets in order.
fn all(
    agent: &Agent,
    version: &Version,
    checks: &[Check],
    tell: &dyn Fn(&Check, &[String]),
) -> Result<Vec<Vec<String>>> {
    let (next, (sender, results)) = (AtomicUsize::new(0), mpsc::channel());
    let jobs = pool::jobs()?;
    let mut found: Vec<Option<Vec<String>>> = checks.iter().map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..jobs {
            let sender = sender.clone();
            scope.spawn(|| {
                let sender = sender;
                while let Some((number, check)) = {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    checks.get(number).map(|check| (number, check))
                } {
                    drop(sender.send((number, check.run(agent, version))));
                }
            });
        }
        drop(sender);
        let mut told = 0;
        for (number, differences) in results {
            found[number] = Some(differences);
            while let Some(Some(differences)) = found.get(told) {
                tell(&checks[told], differences);
                told += 1;
            }
        }
    });
    Ok(found.into_iter().map(Option::unwrap_or_default).collect())
}

/// Prints the checks, one per line, with a column for each version.
fn table(agent: &Agent, versions: &[Version], checks: &[Check], columns: &[Vec<Vec<String>>], say: fn(&str)) {
    let cell = |differences: &Vec<String>| if differences.is_empty() { "ok" } else { "differs" };
    let first = checks.iter().map(|check| check.name().len()).max().unwrap_or_default().max(agent.name.len());
    let line = |head: &str, cells: &[&str]| {
        let cells = cells.iter().zip(versions).map(|(cell, version)| {
            let width = version.name.len().max(7);
            format!("  {cell:<width$}")
        });
        say(format!("{head:<first$}{}", cells.collect::<String>()).trim_end());
    };
    line(agent.name, &versions.iter().map(|version| version.name.as_str()).collect::<Vec<_>>());
    for (number, check) in checks.iter().enumerate() {
        line(&check.name(), &columns.iter().map(|column| cell(&column[number])).collect::<Vec<_>>());
    }
    for (version, column) in versions.iter().zip(columns) {
        let good = column.iter().filter(|differences| differences.is_empty()).count();
        say(&format!("{} {}: {good} of {} agree", agent.name, version.name, checks.len()));
    }
}
