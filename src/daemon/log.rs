//! murmur.log: the stderr of a daemon in the background, and of the processes that it starts.
//!
//! When the daemon rotates the file, its processes still have the old one as stderr. So they open the file for each
//! line. If stderr is anything else, such as a service manager's journal, lines go there.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fs::File;
use std::io::{self, Write};
use std::iter;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;
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

    /// From now on, panics of this process are reported here, rather than on stderr, which may be a rotated file.
    pub fn report_panics(&self) {
        let log = self.clone();
        std::panic::set_hook(Box::new(move |panic| {
            let thread = thread::current();
            let message = panic.to_string().lines().collect::<Vec<_>>().join(" ");
            log.line(&format!("error: thread {:?} {message}", thread.name().unwrap_or("unnamed")));
            let trace = Backtrace::capture();
            if trace.status() == BacktraceStatus::Captured {
                log.line(&format!("backtrace:\n{trace}"));
            }
        }));
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// The data folder of the process that panics.
    const PANICS: &str = "MURMUR_TEST_PANICS";

    #[test]
    fn a_panic_is_reported_in_the_current_file() {
        if let Some(root) = std::env::var_os(PANICS) {
            let log = Log::new(&DataDir::find(None, Some(&root), None).unwrap());
            log.report_panics();
            let panics = thread::Builder::new().name("sender".to_owned()).spawn(|| panic!("on\npurpose"));
            assert!(panics.unwrap().join().is_err());
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let stderr = File::options().append(true).create(true).open(dir.log()).unwrap();
        std::fs::write(dir.log(), "old\n").unwrap();
        let locked = rotate::open_locked(&dir.log(), |path| File::options().append(true).open(path)).unwrap();
        assert!(rotate::rotate_if_full(&dir.log(), &locked, 1).unwrap());
        let mut itself = Command::new(std::env::current_exe().unwrap());
        itself.args([
            "--exact",
            "daemon::log::tests::a_panic_is_reported_in_the_current_file",
            "--nocapture",
        ]);
        itself.env(PANICS, folder.path()).env("RUST_BACKTRACE", "0");
        assert!(itself.stdout(std::process::Stdio::null()).stderr(stderr).status().unwrap().success());
        let text = std::fs::read_to_string(dir.log()).unwrap();
        let (line, more) = text.split_once('\n').unwrap();
        assert!(line.contains(" error: thread \"sender\" panicked at src/daemon/log.rs:"), "{text}");
        assert!(line.ends_with(": on purpose") && more.is_empty(), "{text}");
    }
}
