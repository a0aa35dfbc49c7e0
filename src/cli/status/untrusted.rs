//! Which heartbeats run without their repository's Claude files.

use crate::daemon::status::HeartbeatStatus;
use murmur_claude_files::trust::Workspaces;
use std::num::NonZeroUsize;
use std::path::Path;
use sys::paths::DataDir;

/// How many heartbeats to check on one core before another is worth a thread.
const ALONE: usize = 256;

/// Marks heartbeats whose repositories are not trusted.
pub(super) fn mark(heartbeats: &mut [HeartbeatStatus], dir: &DataDir, home: &Path) {
    let mark = |part: &mut [HeartbeatStatus]| {
        let mut trust = Workspaces::of(dir, home);
        for heartbeat in part {
            let failure = trust.untrusted(heartbeat.workspace.as_ref(), &heartbeat.backend);
            heartbeat.repository_untrusted = failure.is_some();
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut parts = heartbeats.chunks_mut(heartbeats.len().div_ceil(cores).max(ALONE));
    let own = parts.next();
    std::thread::scope(|scope| {
        parts.for_each(|part| _ = scope.spawn(move || mark(part)));
        own.into_iter().for_each(mark);
    });
}
