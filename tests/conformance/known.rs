//! What is known about Claude Code's versions: fixtures/claude-versions.json, and the table generated from it in
//! docs/reference/claude-code.md.
//!
//! `just conformance versions` writes both; `murmur doctor` has the file compiled in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) const FILE: &str = "fixtures/claude-versions.json";
pub(crate) const PAGE: &str = "docs/reference/claude-code.md";
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
    /// The effect of its absence, if there is one; `murmur doctor` prints it.
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
    pub(crate) has: BTreeSet<Version>,
    #[serde(with = "words")]
    pub(crate) lacks: BTreeSet<Version>,
}

impl Capability {
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
            [(_, before, false), (first, _, true)] => format!("{first} ({before})"),
            [(_, last, true), (after, _, false)] => format!("up to {last}, not {after}"),
            _ => {
                let list = |versions: &BTreeSet<Version>| {
                    versions.iter().map(Version::to_string).collect::<Vec<_>>().join(", ")
                };
                let are_few = self.lacks.len() < self.has.len();
                if are_few { format!("all versions but {}", list(&self.lacks)) } else { list(&self.has) }
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
    pub(crate) tested: BTreeSet<Version>,
    pub(crate) capabilities: Vec<Capability>,
}

impl Known {
    pub(crate) fn read() -> Result<Self> {
        let text = std::fs::read(path(FILE)).with_context(|| format!("reading {FILE}"))?;
        let known: Self = serde_json::from_slice(&text).with_context(|| format!("reading {FILE}"))?;
        ensure!(known.format == 1, "{FILE}: format {} is unknown", known.format);
        Ok(known)
    }

    /// The page with this table.
    pub(crate) fn page(&self, page: &str) -> Result<String> {
        let (before, rest) = page.split_once(MARKS[0]).with_context(|| format!("{PAGE} has no mark"))?;
        let (_, after) = rest.split_once(MARKS[1]).with_context(|| format!("{PAGE} has no second mark"))?;
        Ok(format!("{before}{}{}{}{after}", MARKS[0], self.table()?, MARKS[1]))
    }

    /// The capabilities that some version lacks.
    fn table(&self) -> Result<String> {
        let mut table = String::from("\n");
        let tested: Vec<String> = self.tested.iter().map(Version::to_string).collect();
        let (last, others) = tested.split_last().context("no version was tested")?;
        writeln!(
            table,
            "All checks then available ran with {} and {last}, some\nalso with others.\n",
            others.join(", ")
        )?;
        writeln!(
            table,
            "since (newest tested version without it)|feature|effect of lacking it\n---|---|---"
        )?;
        for one in self.capabilities.iter().filter(|one| !one.lacks.is_empty()) {
            let effect = one.without.as_deref().unwrap_or("none");
            writeln!(table, "{}|{}|{effect}", one.span(), one.about)?;
        }
        table.push('\n');
        Ok(table)
    }
}

pub(crate) fn path(name: &str) -> PathBuf {
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
            Version::parse(word).ok_or_else(|| D::Error::custom(format!("{word} is not a version")))
        };
        text.split_whitespace().map(version).collect()
    }
}
