//! The result of a part of a check, as its process prints it for the parent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The result of a part: empty if both agree.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    /// Differences in what murmur reads from a run, which must be the same in every version.
    pub(crate) facts: Vec<String>,
    /// Differences in anything that is compared, which must be the same in the recorded version.
    pub(crate) shapes: Vec<String>,
    /// The capabilities that the part needs.
    pub(crate) needs: Vec<String>,
    /// What murmur doesn't know of the real run, and how often it came.
    pub(crate) unknown: BTreeMap<String, u64>,
    /// The capabilities that the part proves, and whether this version has them.
    pub(crate) capabilities: BTreeMap<String, bool>,
}

impl Report {
    /// The report of a part that either succeeds or says why not.
    pub(crate) fn of(held: anyhow::Result<()>) -> Self {
        let facts = held.err().map(|error| format!("{error:#}")).into_iter().collect();
        Self { facts, ..Self::default() }
    }

    /// All differences, those in facts last.
    pub(crate) fn differences(&self) -> impl Iterator<Item = String> {
        let unknown = self.unknown.keys().map(|name| format!("murmur doesn't know {name}"));
        unknown.chain(self.shapes.iter().cloned()).chain(self.facts.iter().cloned())
    }
}
