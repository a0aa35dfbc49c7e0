//! `last-beat-<slug>.json`: the whole conversation of a heartbeat's last verbose beat (spec 0, Verbose Beat Mode).

use super::entry::JournalEntry;
use std::io;
use std::path::Path;
use sys::atomic;

/// Replaces the file at `path` with `entry`, turns included.
pub fn save(path: &Path, entry: &JournalEntry) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(entry)?;
    text.push(b'\n');
    atomic::write(path, &text)
}
