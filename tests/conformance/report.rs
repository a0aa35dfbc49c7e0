//! What a part of a check found, as the process that ran it prints it for the one that asked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a part found: nothing if both agree.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    /// Differences in what murmur reads of a run, which has to be the same in every version.
    pub(crate) facts: Vec<String>,
    /// Differences in anything that is compared, which has to be the same in the version that was recorded.
    pub(crate) shapes: Vec<String>,
    /// What the part needs of a version.
    pub(crate) needs: Vec<String>,
    /// What murmur doesn't know of the real run, and how often it came.
    pub(crate) unknown: BTreeMap<String, u64>,
    /// The capabilities that the part proves, and whether this version has them.
    pub(crate) capabilities: BTreeMap<String, bool>,
}

impl Report {
    /// The report of a part that either holds or says why it does not.
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
