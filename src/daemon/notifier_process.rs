//! The notifier's process: runs while config.toml's `notify` has something to do, restarted when that changes or it
//! ends.

use ::notify::state::{JournalPosition, State};
use murmur_core::config::settings::Settings;
use murmur_rpc::caller::Caller;
use murmur_store::journal::tail::Tail;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sys::file::Stamp;
use sys::paths::DataDir;
use sys::pause::wait_until;
use sys::{notify, process};
use tokio::process::{Child, Command};
use tokio::time::Instant;

/// How long to wait before a notifier that ended is started again.
const RESTART: Duration = Duration::from_secs(10);

/// The process, if there is one.
#[derive(Debug)]
pub struct NotifierProcess {
    dir: DataDir,
    /// config.toml.
    settings: PathBuf,
    /// The file as last read.
    stamp: Option<Stamp>,
    /// Where the journal ended when the daemon started; `None` after the first look at config.toml.
    started_at: Option<JournalPosition>,
    is_wanted: bool,
    child: Option<Child>,
    restart_at: Option<Instant>,
    pid: NotifierPid,
}

/// The notifier's process id, while it runs: of the daemon's descendants, only it may pass on a person's answers.
#[derive(Debug, Clone, Default)]
pub struct NotifierPid(Arc<Mutex<Option<u32>>>);

impl NotifierPid {
    /// Whether `caller` is the notifier.
    #[must_use]
    pub fn is(&self, caller: &Caller) -> bool {
        let pid = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pid.is_some_and(|pid| caller.is_process(pid))
    }

    fn set(&self, pid: Option<u32>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = pid;
    }
}

impl NotifierProcess {
    /// Starts nothing yet. The journal ends at `end`.
    #[must_use]
    pub fn new(dir: DataDir, settings: PathBuf, end: JournalPosition, pid: NotifierPid) -> Self {
        let (stamp, started_at) = (None, Some(end));
        Self { dir, settings, stamp, started_at, is_wanted: false, child: None, restart_at: None, pid }
    }

    /// Reads config.toml, if it changed, and starts, restarts or stops the process. A file or table that isn't readable
    /// changes nothing.
    pub fn reload(&mut self) -> io::Result<()> {
        // Notifications that are configured later don't report what happened since the daemon started.
        let started_at = self.started_at.take();
        let stamp = Stamp::of(&self.settings);
        if stamp == self.stamp {
            return Ok(());
        }
        let settings = Settings::read(&self.settings).ok();
        let Some(settings) = settings.filter(|settings| settings.wrong.notify.is_none()) else {
            return Ok(());
        };
        self.stamp = stamp;
        self.is_wanted = settings.notify.is_used();
        if self.is_wanted {
            // The notifier reports it if it can't write the file either.
            let _best_effort = self.begin_at(started_at);
        }
        self.start()
    }

    /// Makes the first notifier begin at `end`, or else at the journal's end: what happens before it is ready is news
    /// too.
    fn begin_at(&self, end: Option<JournalPosition>) -> io::Result<()> {
        let path = self.dir.notify();
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        let end = match end {
            Some(end) => end,
            None => read_up_to(&Tail::from_end(self.dir.journal())?),
        };
        State { journal: Some(end), ..State::default() }.write(&path)
    }

    /// Waits until the process has ended and should be restarted.
    pub async fn ended(&mut self) {
        if self.restart_at.is_none() {
            match &mut self.child {
                Some(child) => {
                    let pid = &self.pid;
                    // The id may be reused once the process has been waited for.
                    let _ended = child.wait().await;
                    pid.set(None);
                }
                None => std::future::pending::<()>().await,
            }
            self.child = None;
            self.restart_at = Some(Instant::now() + RESTART);
        }
        wait_until(self.restart_at).await;
    }

    /// Starts the process, if it is wanted, in place of the one that runs.
    pub fn start(&mut self) -> io::Result<()> {
        // Dropping it kills it; what it had to send is on disk.
        self.pid.set(None);
        (self.child, self.restart_at) = (None, None);
        if !self.is_wanted {
            return Ok(());
        }
        let child = spawn(self.dir.root());
        if child.is_err() {
            self.restart_at = Some(Instant::now() + RESTART);
        }
        let child = child?;
        self.pid.set(child.id());
        self.child = Some(child);
        Ok(())
    }
}

/// Up to where `tail` has read the journal.
#[must_use]
pub fn read_up_to(tail: &Tail) -> JournalPosition {
    let position = tail.position();
    JournalPosition { inode: position.inode, end: position.end, number: tail.number() }
}

fn spawn(data_dir: &Path) -> io::Result<Child> {
    // The running executable, even if its file was replaced.
    let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
    let mut command = std::process::Command::new(program);
    command.arg0("murmur").arg("--data-dir").arg(data_dir).args(["notify", "run"]);
    notify::keep_from(&mut command);
    let mut command = Command::from(command);
    command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
    process::bind_to_us(&mut command);
    command.spawn()
}
