//! Whether a repository's Claude files are ignored because they are not trusted.

use super::{Check, Environment, Finding};
use murmur_claude_files::trust::Workspaces;
use murmur_core::config::heartbeat::Resolved;
use murmur_core::config::settings::Settings;
use std::collections::BTreeMap;
use std::path::Path;
use sys::error::one_line;

/// Reports workspaces with untrusted Claude files.
pub(super) fn examine(environment: &Environment, settings: &Settings, config: &Resolved) -> Option<Finding> {
    let mut trust = Workspaces::of(&environment.dir, &environment.user.home);
    let heartbeats = config.heartbeats.iter();
    let found: BTreeMap<&Path, _> = heartbeats
        .filter_map(|heartbeat| {
            let failure = trust.untrusted(&heartbeat.workspace, heartbeat.backend(settings))?;
            Some((&*heartbeat.workspace, failure))
        })
        .collect();
    let mut untrusted = found.into_iter().map(|(workspace, failure)| {
        let finding = Check::CLAUDE_SETTINGS.failed(&failure).into_warning();
        finding.after(&format!("{}: ", workspace.display()))
    });
    let mut first = untrusted.next()?;
    let rest = untrusted.count();
    if rest > 0 {
        first.found = format!("{} (and {rest} more)", first.found);
    }
    first.found = one_line(&first.found);
    Some(first)
}
