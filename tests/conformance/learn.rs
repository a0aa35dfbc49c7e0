//! Writes what a run of all versions has shown into the file and the page of `known.rs`.

use anyhow::{Context, Result};

use crate::known::{FILE, Known, PAGE, Version, path};

/// Records whether a version has a capability.
pub(crate) fn learn(known: &mut Known, name: &str, version: Version, has: bool) {
    if let Some(one) = known.capabilities.iter_mut().find(|one| one.name == name) {
        one.has.remove(&version);
        one.lacks.remove(&version);
        (if has { &mut one.has } else { &mut one.lacks }).insert(version);
    }
}

/// Whether a version was found to lack a capability.
pub(crate) fn lacks(known: &Known, name: &str, version: Version) -> bool {
    known.capabilities.iter().any(|one| one.name == name && one.lacks.contains(&version))
}

/// Writes the file, and its table into the page.
pub(crate) fn write(known: &Known) -> Result<()> {
    let text = serde_json::to_string_pretty(known)?;
    std::fs::write(path(FILE), format!("{text}\n")).with_context(|| format!("writing {FILE}"))?;
    let page = std::fs::read_to_string(path(PAGE)).with_context(|| format!("reading {PAGE}"))?;
    std::fs::write(path(PAGE), known.page(&page)?).with_context(|| format!("writing {PAGE}"))
}
