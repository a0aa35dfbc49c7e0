//! Rotates murmur.log, and compresses what was rotated.

use crate::daemon::instance;
use crate::daemon::log::is_stderr;
use std::io;
use std::path::Path;
use sys::atomic;
use sys::paths::DataDir;

/// Does both for the files of `dir`. Returns the first file for which it failed, and why.
pub(super) fn rotate(dir: &DataDir, limit: u64) -> Result<(), (std::path::PathBuf, io::Error)> {
    let log = dir.log();
    rotate_log(dir, &log, limit).map_err(|error| (log.clone(), error))?;
    dir.rotated().into_iter().try_for_each(|path| rotate::compress(&path).map_err(|error| (path, error)))
}

/// Rotates the log, which is a background daemon's stderr: it writes to the new file from then on. Programs that still
/// have the old file open write to the newest part, which readers include.
fn rotate_log(dir: &DataDir, path: &Path, limit: u64) -> io::Result<()> {
    // Most of the time, there is nothing to do.
    if path.symlink_metadata().map_or(0, |found| found.len()) < limit {
        return Ok(());
    }
    let file = rotate::open_locked(path, atomic::open_append)?;
    let is_stderr = is_stderr(&file)?;
    // Another process's daemon would go on writing to the old file.
    if !is_stderr && instance::is_running(dir)? {
        return Ok(());
    }
    if rotate::rotate_if_full(path, &file, limit)? && is_stderr {
        rustix::stdio::dup2_stderr(atomic::open_append(path)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_a_running_daemon_is_left_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        std::fs::write(dir.log(), "one\n").unwrap();
        let daemon = instance::become_daemon(&dir).unwrap().unwrap();
        rotate(&dir, 4).unwrap();
        assert!(dir.log().exists());
        drop(daemon);
        rotate(&dir, 4).unwrap();
        assert!(!dir.log().exists());
    }

    #[test]
    fn a_large_log_is_rotated() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        std::fs::write(dir.log(), "one\n").unwrap();
        rotate(&dir, 5).unwrap();
        assert_eq!(std::fs::read_to_string(dir.log()).unwrap(), "one\n");
        for _ in 0..2 {
            rotate(&dir, 4).unwrap();
            assert!(!dir.log().exists());
            std::fs::write(dir.log(), "next\n").unwrap();
        }
        let history = rotate::History::open(&dir.log()).unwrap();
        assert_eq!(history.parts.iter().map(rotate::Part::is_compressed).collect::<Vec<_>>(), [true, false]);
        let text: Vec<u8> = history.into_bytes().flat_map(Result::unwrap).collect();
        assert_eq!(text, b"one\nnext\nnext\n");
    }
}
