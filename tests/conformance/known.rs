//! What is known about Claude Code's versions: fixtures/claude-versions.json, and the table generated from it in
//! fixtures/claude-versions.md.
//!
//! `just conformance versions` writes both; `murmur doctor` has the file compiled in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) const FILE: &str = "fixtures/claude-versions.json";
const PAGE: &str = "fixtures/claude-versions.md";
/// The markers around the generated part of the page.
const MARKS: [&str; 2] = ["<!-- just conformance versions writes this -->\n", "<!-- until here -->\n"];

/// An exact version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version([u32; 3]);

impl Version {
    /// The version at the beginning of `text`, such as `2.1.329 (Claude Code)`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ').next()?.split('.').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let version = Self([next()?, next()?, next()?]);
        numbers.next().is_none().then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        to.pad(&format!("{major}.{minor}.{patch}"))
    }
}

/// Something that only some versions can do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Capability {
    pub(crate) name: String,
    /// Its description.
    about: String,
    /// The effect of its absence, if users should know; `murmur doctor` prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    without: Option<String>,
    /// The check that proves it: `SCENARIO` or `FILE/CASE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proof: Option<String>,
    /// A case that proves it, if no check does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) probe: Option<Value>,
    /// The beginning of what the run shows if the version has it.
    pub(crate) shows: String,
    #[serde(with = "words")]
    has: BTreeSet<Version>,
    #[serde(with = "words")]
    lacks: BTreeSet<Version>,
}

impl Capability {
    fn learn(&mut self, version: Version, has: bool) {
        self.has.remove(&version);
        self.lacks.remove(&version);
        (if has { &mut self.has } else { &mut self.lacks }).insert(version);
    }

    /// The first or last version that has it, as far as measured.
    fn span(&self) -> String {
        let all: BTreeMap<Version, bool> = self
            .has
            .iter()
            .map(|one| (*one, true))
            .chain(self.lacks.iter().map(|one| (*one, false)))
            .collect();
        let mut runs: Vec<(Version, Version, bool)> = Vec::new();
        for (version, has) in all {
            match runs.last_mut().filter(|run| run.2 == has) {
                Some(run) => run.1 = version,
                None => runs.push((version, version, has)),
            }
        }
        match runs[..] {
            [] => "not measured".to_owned(),
            [(first, _, true)] => format!("{first} or older"),
            [(_, last, false)] => format!("after {last}, if at all"),
            [(_, before, false), (first, _, true)] => format!("{first} ({before} lacks it)"),
            [(_, last, true), (after, _, false)] => format!("up to {last} ({after} lacks it)"),
            _ => {
                let with: Vec<String> = self.has.iter().map(Version::to_string).collect();
                with.join(", ")
            }
        }
    }
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Known {
    format: u32,
    /// The versions with which all checks were run.
    #[serde(with = "words")]
    tested: BTreeSet<Version>,
    pub(crate) capabilities: Vec<Capability>,
}

impl Known {
    pub(crate) fn read() -> Result<Self> {
        let text = std::fs::read(path(FILE)).with_context(|| format!("reading {FILE}"))?;
        let known: Self = serde_json::from_slice(&text).with_context(|| format!("reading {FILE}"))?;
        ensure!(known.format == 1, "{FILE}: format {} is unknown", known.format);
        Ok(known)
    }

    /// Records that all checks were run with a version.
    pub(crate) fn add_tested(&mut self, version: Version) {
        self.tested.insert(version);
    }

    /// Records whether a version has a capability.
    pub(crate) fn learn(&mut self, name: &str, version: Version, has: bool) {
        if let Some(capability) = self.capabilities.iter_mut().find(|capability| capability.name == name) {
            capability.learn(version, has);
        }
    }

    /// Whether a version has a capability, if it was measured.
    pub(crate) fn has(&self, name: &str, version: Version) -> Option<bool> {
        let capability = self.capabilities.iter().find(|capability| capability.name == name)?;
        (capability.has.contains(&version) || capability.lacks.contains(&version))
            .then(|| capability.has.contains(&version))
    }

    /// Writes the file, and its table into the page.
    pub(crate) fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(path(FILE), format!("{text}\n")).with_context(|| format!("writing {FILE}"))?;
        let page = std::fs::read_to_string(path(PAGE)).with_context(|| format!("reading {PAGE}"))?;
        std::fs::write(path(PAGE), self.page(&page)?).with_context(|| format!("writing {PAGE}"))
    }

    /// The page with this table.
    pub(crate) fn page(&self, page: &str) -> Result<String> {
        let (before, rest) = page.split_once(MARKS[0]).with_context(|| format!("{PAGE} has no mark"))?;
        let (_, after) = rest.split_once(MARKS[1]).with_context(|| format!("{PAGE} has no second mark"))?;
        Ok(format!("{before}{}{}{}{after}", MARKS[0], self.table()?, MARKS[1]))
    }

    fn table(&self) -> Result<String> {
        let mut table = String::from("\n");
        let tested: Vec<String> = self.tested.iter().map(Version::to_string).collect();
        writeln!(table, "All checks were run with {}.\n", tested.join(", "))?;
        writeln!(
            table,
            "| capability | first version | what it is | without it |\n| --- | --- | --- | --- |"
        )?;
        for one in &self.capabilities {
            let without = one.without.as_deref().unwrap_or("murmur does the same");
            writeln!(table, "| {} | {} | {} | {without} |", one.name, one.span(), one.about)?;
        }
        table.push('\n');
        Ok(table)
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Versions as one text.
mod words {
    use super::Version;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::collections::BTreeSet;

    pub(super) fn serialize<S: Serializer>(versions: &BTreeSet<Version>, to: S) -> Result<S::Ok, S::Error> {
        let words: Vec<String> = versions.iter().map(Version::to_string).collect();
        to.serialize_str(&words.join(" "))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeSet<Version>, D::Error> {
        let text = String::deserialize(from)?;
        let version = |word: &str| {
            Version::parse(word).ok_or_else(|| D::Error::custom(format!("{word} is no version")))
        };
        text.split_whitespace().map(version).collect()
    }
}
