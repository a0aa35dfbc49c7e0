//! Runs the checks on many versions of Claude Code: `versions [VERSION...] [CHECK...]`.
//!
//! Input: versions, by default those that are pinned and the newest one. Output: one table, the differences, what each
//! version can do (`known.rs`), and what to do next.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use fake_claude::replay::ask_version;

use crate::agreement::Agreement;
use crate::checks::{self, Claude};
use crate::choice::is_exact;
use crate::known::{self, Known, Version};
use crate::learn;
use crate::pool::{self, Part};
use crate::report::Report;
use crate::{UNAVAILABLE, build, code, real, say};

/// How many characters of a difference are shown.
const SHOWN: usize = 600;

/// One version, and the results of its checks.
struct CheckedVersion {
    version: Version,
    /// The version that fake-claude imitates exactly.
    is_recorded: bool,
    agreements: BTreeMap<String, Agreement>,
    /// The differences, one per line.
    differences: Vec<String>,
    /// Checks whose facts are the same, but whose shapes differ.
    shapes: BTreeSet<String>,
    /// What murmur doesn't know, and how often it came.
    unknown: BTreeMap<String, u64>,
}

/// Checks versions.
pub(crate) fn check(words: &[String]) -> Result<ExitCode> {
    let started = Instant::now();
    let (named, names): (Vec<String>, Vec<String>) = words.iter().cloned().partition(|word| is_exact(word));
    let chosen = checks::chosen(&names)?;
    let (claudes, missing) = installed(&named);
    missing.iter().for_each(|why| say(&format!("not checked: {why}")));
    if !named.is_empty() && claudes.len() < named.len() {
        return Ok(ExitCode::from(UNAVAILABLE));
    }
    build()?;
    let mut known = Known::read()?;
    let mut parts: Vec<Part> = Vec::new();
    for claude in &claudes {
        parts.extend(checks::probes(&known, claude));
        for check in &chosen {
            parts.extend(checks::parts(check, claude, None)?);
        }
    }
    let (mut all, mut reports, mut wrong) = (Vec::new(), Vec::new(), None);
    pool::run(&parts, |at, report| {
        reports.push((&parts[at], report));
        // The last part of a version.
        if parts.get(at + 1).is_none_or(|next| next.claude != parts[at].claude) {
            match checked(&std::mem::take(&mut reports), &mut known) {
                Ok(checked) => {
                    say(&format!("{}: all run after {} s", checked.version, started.elapsed().as_secs()));
                    checked.differences.iter().for_each(|line| say(line));
                    all.push(checked);
                }
                Err(error) => wrong = Some(error),
            }
        }
    })?;
    if let Some(error) = wrong {
        return Err(error);
    }
    if names.is_empty() {
        known.tested.extend(all.iter().map(|checked| checked.version));
    }
    learn::write(&known)?;
    table(&chosen, &all);
    let agree = advise(&all);
    let seconds = started.elapsed().as_secs();
    let good = all.iter().filter(|checked| !differs(checked)).count();
    say(&format!("conformance: {good} of {} versions agree, in {seconds} s", all.len()));
    Ok(code(agree))
}

/// The available versions, and why others are not.
fn installed(named: &[String]) -> (Vec<Claude>, Vec<String>) {
    let (mut versions, mut missing) = (named.to_vec(), Vec::new());
    if named.is_empty() {
        versions = real::VERSIONS.map(str::to_owned).to_vec();
        match real::newest() {
            Ok(newest) if versions.contains(&newest) => {}
            Ok(newest) => versions.push(newest),
            Err(why) => missing.push(why),
        }
    }
    let mut claudes = Vec::new();
    for version in versions {
        match real::fetched(&version) {
            Ok(path) => claudes.push(Claude { version: ask_version(&path), path }),
            Err(why) => missing.push(why),
        }
    }
    (claudes, missing)
}

/// The agreements on one version; `known` learns what it can do.
fn checked(parts: &[(&Part, Report)], known: &mut Known) -> Result<CheckedVersion> {
    let version_text = parts.first().map_or("", |(part, _)| &part.version);
    let version =
        Version::parse(version_text).with_context(|| format!("{version_text:?} is not a version"))?;
    for (name, has) in parts.iter().flat_map(|(_, report)| &report.capabilities) {
        learn::learn(known, name, version, *has);
    }
    let is_recorded = version.to_string() == real::VERSION;
    let mut checked = CheckedVersion {
        version,
        is_recorded,
        agreements: BTreeMap::new(),
        differences: Vec::new(),
        shapes: BTreeSet::new(),
        unknown: BTreeMap::new(),
    };
    for (part, report) in parts {
        let lacks = |need: &str| learn::lacks(known, need, version);
        for (name, count) in &report.unknown {
            *checked.unknown.entry(name.clone()).or_default() += count;
        }
        let is_same = report.shapes.is_empty() && report.unknown.is_empty();
        let differs = !report.facts.is_empty() || is_recorded && !is_same;
        let agreement = Agreement::of(differs, &report.needs, lacks);
        if agreement == Agreement::Differs {
            let name = format!("{version}: {}: {}", part.check, part.case);
            let all = if is_recorded { report.differences().collect() } else { report.facts.clone() };
            let shown = |what: &String| format!("{name}: {}", what.chars().take(SHOWN).collect::<String>());
            checked.differences.extend(all.iter().map(shown));
        } else if report.facts.is_empty() && !report.shapes.is_empty() {
            checked.shapes.insert(part.check.clone());
        }
        let so_far = checked.agreements.remove(&part.check).unwrap_or(Agreement::Ok);
        checked.agreements.insert(part.check.clone(), so_far.and(agreement));
    }
    Ok(checked)
}

/// The table: a row per check, a column per version.
fn table(checks: &[String], all: &[CheckedVersion]) {
    let cell = |checked: &CheckedVersion, check: &String| {
        checked.agreements.get(check).map_or(String::new(), Agreement::to_string)
    };
    let first = checks.iter().map(String::len).max().unwrap_or_default();
    let widths: Vec<usize> = all
        .iter()
        .map(|one| checks.iter().map(|check| cell(one, check).len()).max().unwrap_or_default().max(7))
        .collect();
    let line = |head: &str, cells: Vec<String>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("  {cell:<width$}"));
        say(format!("{head:<first$}{}", cells.collect::<String>()).trim_end());
    };
    line("", all.iter().map(|one| one.version.to_string()).collect());
    for check in checks {
        line(check, all.iter().map(|one| cell(one, check)).collect());
    }
}

fn differs(checked: &CheckedVersion) -> bool {
    checked.agreements.values().any(|agreement| *agreement == Agreement::Differs)
}

/// Prints the differences and what to do; returns whether all agree.
fn advise(all: &[CheckedVersion]) -> bool {
    for checked in all.iter().filter(|checked| !checked.shapes.is_empty() && !checked.is_recorded) {
        let checks: Vec<&str> = checked.shapes.iter().map(String::as_str).collect();
        say(&format!("{}: the same facts in other shapes: {}", checked.version, checks.join(", ")));
    }
    for checked in all.iter().filter(|checked| !checked.unknown.is_empty()) {
        let names = checked.unknown.iter().map(|(name, count)| format!("{name} ({count})"));
        let names: Vec<String> = names.collect();
        say(&format!("{}: murmur doesn't know {}", checked.version, names.join(", ")));
    }
    let (bad, good): (Vec<&CheckedVersion>, Vec<&CheckedVersion>) =
        all.iter().partition(|checked| differs(checked));
    let list = |all: &[&CheckedVersion]| {
        all.iter().map(|one| one.version.to_string()).collect::<Vec<_>>().join(", ")
    };
    if !good.is_empty() {
        say(&format!(
            "{}: murmur reads the same. Commit {} with the page; the newest goes into .ci/versions.sh",
            list(&good),
            known::FILE
        ));
    }
    if !bad.is_empty() {
        say(&format!(
            "{}: murmur would read something else. For each line above: if murmur handles it, have fake-claude/src/act do the \
             same from that version on, or name the capability that the case \"needs\"; if not, change murmur first. Record \
             fixtures again only to move to a new version (tests/conformance/real.rs)",
            list(&bad)
        ));
    }
    bad.is_empty()
}
