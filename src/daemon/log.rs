//! murmur.log: the stderr of a daemon in the background, and of the processes that it starts.
//!
//! When the daemon rotates the file, its processes still have the old one as stderr. So they open the file for each
//! line. If stderr is anything else, such as a service manager's journal, lines go there.

use std::fs::File;
use std::io::{self, Write};
use std::iter;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use sys::paths::DataDir;
use sys::text::shown_line;
use sys::{atomic, clock};

/// Where a process of the daemon reports problems.
#[derive(Debug, Clone)]
pub struct Log {
    /// murmur.log, if it was stderr at the start.
    file: Option<PathBuf>,
}

impl Log {
    /// To be called when the process starts.
    #[must_use]
    pub fn new(dir: &DataDir) -> Self {
        let path = dir.log();
        // It may have been rotated since the process was started.
        let parts = rotate::parts(&path).unwrap_or_default();
        let is_log = |path| File::open(path).and_then(|file| is_stderr(&file)).unwrap_or(false);
        let mut files = iter::once(path.clone()).chain(parts.iter().map(rotate::Part::path));
        Self { file: files.any(is_log).then_some(path) }
    }

    /// Writes a line with a timestamp. Best effort: the log may be on a full disk.
    pub fn line(&self, text: &str) {
        let line = format!("{} {}\n", clock::rfc3339(clock::now()), shown_line(text));
        let file = self.file.as_ref().and_then(|path| atomic::open_append(path).ok());
        // In one piece, since other processes write there too.
        let _full = match file {
            Some(mut file) => file.write_all(line.as_bytes()),
            None => io::stderr().write_all(line.as_bytes()),
        };
    }
}

/// Whether `file` is stderr.
pub(super) fn is_stderr(file: &File) -> io::Result<bool> {
    let stderr = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    let (one, other) = (file.metadata()?, stderr.metadata()?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}
