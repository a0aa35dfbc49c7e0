//! Claude Code's settings files: that they load, and that nothing in them keeps hooks and rules from counting. A file with
//! an entry of the wrong form is dropped whole by older versions, silently (docs/setup.md).

use super::{Environment, Finding};
use crate::config::heartbeat::Cache;
use crate::setup::flaw::flaws;
use crate::sys::{clock, file};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const CHECK: &str = "claude settings";

pub(super) fn examine(environment: &Environment) -> Vec<Finding> {
    let loaded = Cache::new(environment.time_zone.clone()).load(&environment.dir.config(), clock::now());
    let workspaces: BTreeSet<PathBuf> = loaded
        .iter()
        .flat_map(|loaded| &loaded.heartbeats)
        .map(|heartbeat| heartbeat.workspace.to_path_buf())
        .collect();
    let in_workspace = |folder: &PathBuf| {
        let names = [".claude/settings.json", ".claude/settings.local.json"];
        names.map(|name| folder.join(name))
    };
    let paths = std::iter::once(environment.claude.join("settings.json"))
        .chain(workspaces.iter().flat_map(in_workspace));
    let (mut count, mut findings) = (0, Vec::new());
    for path in paths {
        match look(&path) {
            Ok(None) => {}
            Ok(Some(wrong)) => {
                count += 1;
                findings.extend(wrong);
            }
            Err(finding) => findings.push(finding),
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, format!("{count} files, nothing wrong with them")));
    }
    findings
}

/// What is wrong with the file at `path`; `None` where there is none.
fn look(path: &Path) -> Result<Option<Vec<Finding>>, Finding> {
    let bytes = file::read_regular(path).map_err(|error| {
        Finding::fail(
            CHECK,
            format!("{} cannot be read: {error}", path.display()),
            "check its owner and mode",
        )
    })?;
    let Some(bytes) = bytes else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.trim().is_empty() {
        return Ok(Some(Vec::new()));
    }
    if let Err(error) = serde_json::from_str::<Value>(text) {
        let found = format!("{}: {error}: nothing in it counts, its rules neither", path.display());
        return Err(Finding::fail(
            CHECK,
            found,
            "correct it; Claude Code allows neither comments nor trailing commas",
        ));
    }
    Ok(Some(
        flaws(text)
            .iter()
            .map(|flaw| Finding { level: super::Level::Warn, ..Finding::of_error(CHECK, flaw.at(path)) })
            .collect(),
    ))
}
