//! The single instance: whoever holds the lock on `murmur.pid` is the daemon, whatever PID the file contains.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::anchor::{Anchor, FolderState};
use sys::file::open_regular;
use sys::identity;
use sys::lock::{self, Lock};
use sys::paths::DataDir;
use sys::pause::pause;
use sys::unreadable::unreadable;

/// The daemon's lock, held until dropped, and the folder that it is in.
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    lock: Lock,
    folder: Anchor,
}

impl Instance {
    /// The data folder as it was when the lock was taken: another folder may be at its path by now.
    #[must_use]
    pub fn folder(&self) -> &Anchor {
        &self.folder
    }

    /// The lock's open file.
    #[must_use]
    pub fn lock_file(&self) -> &File {
        self.lock.file()
    }
}

/// How many times to check whether a leftover lock is free.
const ATTEMPTS: u32 = 200;
const INTERVAL: Duration = Duration::from_millis(5);

/// Whether the lock is held, but by no live process. A daemon that is killed while it starts a beat leaves its lock to
/// the child, which releases it a moment later, on exec.
fn is_left_behind(dir: &DataDir) -> io::Result<bool> {
    Ok(!pid(dir)?.is_some_and(identity::is_alive))
}

/// Becomes the daemon; returns `None` if another one runs.
pub fn become_daemon(dir: &DataDir) -> io::Result<Option<Instance>> {
    let path = dir.pid();
    let mut attempts = 1..=ATTEMPTS;
    loop {
        let folder = Anchor::new(dir.root())?;
        let Some(lock) = lock::try_lock(&path)? else {
            if is_left_behind(dir)? && attempts.next().is_some() {
                pause(INTERVAL);
                continue;
            }
            return Ok(None);
        };
        // The last daemon may have removed the file between our open and our lock, or the folder may have been
        // replaced.
        if !is_at(lock.file(), &path) || folder.state() != FolderState::InPlace {
            continue;
        }
        // Only informative, so a full disk is not an error: programs ask the socket.
        let _written = lock.file().set_len(0).and_then(|()| writeln!(lock.file(), "{}", std::process::id()));
        return Ok(Some(Instance { path, lock, folder }));
    }
}

/// Whether a daemon runs.
pub fn is_running(dir: &DataDir) -> io::Result<bool> {
    open(dir)?.map_or(Ok(false), |file| lock::is_held(&file))
}

/// The daemon's process id, from the kernel's list of locks rather than the file's contents.
pub fn pid(dir: &DataDir) -> io::Result<Option<u32>> {
    open(dir)?.map_or(Ok(None), |file| lock::holder(&file))
}

/// Whether `pid` is alive, not just killed, and holds the lock. On file systems where the kernel does not report the
/// holder (overlay, btrfs), any holder counts.
pub fn is_held_by(dir: &DataDir, pid: u32) -> io::Result<bool> {
    let Some(file) = open(dir)? else { return Ok(false) };
    let holds = match lock::holder(&file)? {
        Some(holder) => holder == pid,
        None => lock::is_held(&file)?,
    };
    Ok(holds && identity::is_alive(pid) && !identity::is_exiting(pid))
}

fn open(dir: &DataDir) -> io::Result<Option<File>> {
    match open_regular(&dir.pid(), File::options().read(true)) {
        Ok(file) => Ok(Some(file)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(unreadable(&dir.pid(), error)),
    }
}

/// The exit of the current daemon, not of a later one.
#[derive(Debug)]
pub struct DaemonExit(Option<File>);

/// Returns the exit of the current daemon. If none runs, waiting for it returns at once.
pub fn end(dir: &DataDir) -> io::Result<DaemonExit> {
    open(dir).map(DaemonExit)
}

impl DaemonExit {
    /// Waits for it.
    pub fn wait(self) -> io::Result<()> {
        self.0.map_or(Ok(()), |file| file.lock_shared())
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(held), Ok(found)) = (file.metadata(), path.metadata()) else { return false };
    (held.dev(), held.ino()) == (found.dev(), found.ino())
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Removed while the lock is held, so it is our own file.
        if is_at(self.lock.file(), &self.path) {
            let _gone = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_daemon_does_not_start() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        assert!(!is_running(&dir).unwrap());
        let first = become_daemon(&dir).unwrap().unwrap();
        assert!(become_daemon(&dir).unwrap().is_none());
        assert!(is_running(&dir).unwrap());
        assert_eq!(pid(&dir).unwrap(), Some(std::process::id()));
        drop(first);
        assert!(!dir.pid().exists());
        end(&dir).unwrap().wait().unwrap();
    }

    #[test]
    fn a_lock_inherited_from_a_dead_process_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        // A shell takes the lock, passes it to a child that lives until its stdin closes, and is killed. Background
        // jobs have a different stdin.
        let script = "exec 8<&0 9>>murmur.pid; flock -n 9 || exit 1; cat <&8 & kill -9 $$";
        let mut shell = std::process::Command::new("sh")
            .args(["-c", script])
            .current_dir(folder.path())
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let holds_on = shell.stdin.take();
        assert_eq!(shell.wait().unwrap().code(), None);
        assert!(is_running(&dir).unwrap() && is_left_behind(&dir).unwrap());
        std::thread::scope(|scope| {
            let becoming = scope.spawn(|| become_daemon(&dir).unwrap().is_some());
            drop(holds_on);
            assert!(becoming.join().unwrap());
        });
    }

    #[test]
    fn a_stale_pid_file_and_a_shared_lock_do_not_count_as_a_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        std::fs::write(dir.pid(), "1\n").unwrap();
        let looking = File::open(dir.pid()).unwrap();
        looking.lock_shared().unwrap();
        assert!(!is_running(&dir).unwrap());
        assert_eq!(pid(&dir).unwrap(), None);
        std::thread::scope(|scope| {
            let becoming = scope.spawn(|| become_daemon(&dir).unwrap().is_some());
            looking.unlock().unwrap();
            assert!(becoming.join().unwrap());
        });
    }
}
