//! Which heartbeats run without their repository's Claude files.

use crate::daemon::status::HeartbeatStatus;
use murmur_claude_files::trust::Workspaces;
use std::path::Path;
use sys::parallel;
use sys::paths::DataDir;

/// Marks heartbeats whose repositories are not trusted.
pub(super) fn mark(heartbeats: &mut [HeartbeatStatus], dir: &DataDir, home: &Path) {
    parallel::in_parts(heartbeats, |part| {
        let mut trust = Workspaces::of(dir, home);
        for heartbeat in part {
            let failure = trust.untrusted(heartbeat.workspace.as_ref(), &heartbeat.backend);
            heartbeat.repository_untrusted = failure.is_some();
        }
    });
}
