//! `last-beat-<slug>.json`: the whole conversation of a heartbeat's last verbose beat (spec 0, Verbose Beat Mode).

use super::entry::Entry;
use crate::sys::atomic;
use std::io;
use std::path::Path;

/// Replaces the file at `path` by `entry`, turns and all.
///
/// # Errors
/// What the system says of writing.
pub fn save(path: &Path, entry: &Entry) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(entry)?;
    text.push(b'\n');
    atomic::write(path, &text)
}
