//! A host's registration: its record and socket, from before the agent starts until it has ended.

use super::protocol::AgentInfo;
use super::reap::reap_agent;
use super::record::{AgentEnd, ClaimError, Record};
use super::unrecorded::Unrecorded;
use derun::id::SessionId as CaptureId;
use murmur_core::id::AgentId;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};
use sys::anchor::{Anchor, FolderState};
use sys::error::Hinted;
use sys::paths::DataDir;
use sys::process::Signal;
use sys::process_lock::{Durability, ProcessLock};
use sys::{atomic, shell, socket};
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

/// Makes a host check that the data folder, its record and its socket still exist. The kernel sends it when something
/// is removed from the data folder, and the daemon when something is missing. Processes ignore it by default.
pub const CHECK_FILES: Signal = Signal::URG;

/// How long to wait after the signal: a folder that is being deleted is left alone until the deletion is done.
const SETTLE: Duration = Duration::from_secs(1);
/// How often to wait that long while the data folder keeps changing.
const MAX_SETTLING: usize = 10;

/// A registered host; dropping it ends the registration.
#[derive(Debug)]
pub struct Registration {
    presence: Arc<Mutex<Presence>>,
    listeners: Option<Listeners>,
    folder: watch::Receiver<FolderState>,
}

/// Sockets to listen on.
#[derive(Debug)]
pub struct Listeners {
    /// The first one.
    pub first: UnixListener,
    /// New ones, created after the socket was deleted.
    pub next: mpsc::Receiver<UnixListener>,
}

/// The files by which others find the host.
#[derive(Debug)]
struct Presence {
    dir: DataDir,
    record: Record,
    /// `None` once the host has ended.
    held: Option<ProcessLock>,
    listen: mpsc::Sender<UnixListener>,
    /// The data folder; `None` if it cannot be opened.
    anchor: Option<Anchor>,
}

/// Why a host cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum RegistrationError {
    /// The record cannot be claimed.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// The folder cannot be used.
    #[error("cannot use {}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// Other users could reach the socket.
    #[error("{} is open to other users (mode {mode:04o})", .path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The socket cannot be created.
    #[error("cannot listen on {}/{}", .folder.display(), .agent.socket())]
    Listen {
        /// The folder.
        folder: PathBuf,
        /// The agent.
        agent: AgentId,
        /// The underlying error.
        source: io::Error,
    },
}

impl Hinted for RegistrationError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Claim(error) => return error.hint(),
            Self::Open { path, .. } => format!("run: chmod 700 {}", shell::path(path)),
            Self::Folder { .. } | Self::Listen { .. } => return None,
        })
    }
}

impl Registration {
    /// Becomes the host of `info`, after killing anything that a dead host of that agent left running. `task` is what
    /// the agent works on; empty if its task is set elsewhere.
    pub fn begin(dir: &DataDir, info: AgentInfo, task: String) -> Result<Self, RegistrationError> {
        let folder = dir.hosts();
        require_private(&folder)?;
        let agent = info.agent_id.clone();
        let record = Record { task, ..Record::ours(info, dir.root().to_path_buf()) };
        let held = record.claim(&folder, reap_agent)?;
        let first = match socket::listen(&folder, &agent.socket()) {
            Ok(listener) => listener,
            Err(source) => {
                let _stays_as_a_dead_one = held.remove();
                return Err(RegistrationError::Listen { folder, agent, source });
            }
        };
        let (listen, next) = mpsc::channel(1);
        // Install the handler first, so that no signal is missed.
        let signals = signal(SignalKind::from_raw(CHECK_FILES.as_raw()));
        let anchor = Anchor::new(dir.root()).ok();
        if let (Ok(_), Some(anchor)) = (&signals, &anchor) {
            // Without kernel support, the daemon sends the signal.
            let _no_signal = anchor.signal_removals(CHECK_FILES);
        }
        let presence = Presence { dir: dir.clone(), record, held: Some(held), listen, anchor };
        let presence = Arc::new(Mutex::new(presence));
        let (report, folder) = watch::channel(FolderState::InPlace);
        if let Ok(signals) = signals {
            tokio::spawn(check_on_signal(signals, Arc::downgrade(&presence), report));
        }
        Ok(Self { presence, listeners: Some(Listeners { first, next }), folder })
    }

    /// Waits until the data folder is deleted or, if `or_moved`, is no longer at its path.
    pub fn folder_gone(&self, or_moved: bool) -> impl Future<Output = ()> + use<> {
        let mut folder = self.folder.clone();
        async move {
            let is_gone = |folder: &FolderState| match folder {
                FolderState::InPlace => false,
                FolderState::Moved => or_moved,
                FolderState::Deleted => true,
            };
            if folder.wait_for(is_gone).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Takes the listeners; `None` after the first call.
    pub fn listeners(&mut self) -> Option<Listeners> {
        self.listeners.take()
    }

    fn presence(&self) -> MutexGuard<'_, Presence> {
        // No code that holds the lock panics halfway.
        self.presence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the capture session that has the agent's output.
    pub fn note_capture(&self, capture: CaptureId) -> io::Result<()> {
        let Presence { record, held, .. } = &mut *self.presence();
        held.as_ref().map_or(Ok(()), |held| record.note_capture(held, capture))
    }

    /// Keeps in the record what to record when the agent ends.
    pub fn note_unrecorded(&self, unrecorded: &Unrecorded) -> io::Result<()> {
        let Presence { record, held, .. } = &mut *self.presence();
        held.as_ref().map_or(Ok(()), |held| record.note_unrecorded(held, unrecorded))
    }

    /// Records the agent's result.
    pub fn close(self, result: AgentEnd) -> io::Result<()> {
        let Some((held, _)) = self.end() else { return Ok(()) };
        let mut presence = self.presence();
        let log = presence.dir.hosts().join(presence.record.info.agent_id.log());
        // Most hosts log nothing.
        if log.metadata().is_ok_and(|found| found.len() == 0) {
            let _stays = std::fs::remove_file(log);
        }
        presence.record.close(&held, result)
    }

    /// Removes all files: the result is recorded elsewhere.
    pub fn remove(self) -> io::Result<()> {
        match self.end() {
            Some((held, true)) => held.remove(),
            // Ours was moved or deleted, so the file at this path belongs to another host.
            _ => Ok(()),
        }
    }

    /// Removes the socket, unless it belongs to another host. Returns the record, and whether it is at its path.
    fn end(&self) -> Option<(ProcessLock, bool)> {
        let mut presence = self.presence();
        let held = presence.held.take()?;
        let is_there = held.is_there();
        if is_there {
            // A socket that remains is stale, and the next reaping removes it.
            let _gone = socket::remove(&presence.dir.hosts(), &presence.record.info.agent_id.socket());
        }
        Some((held, is_there))
    }
}

/// Checks the files on each signal until the host ends, and reports the state of the data folder.
async fn check_on_signal(
    mut signals: Signals,
    presence: Weak<Mutex<Presence>>,
    report: watch::Sender<FolderState>,
) {
    while signals.recv().await.is_some() {
        let mut changed_at = folder_changed_at(&presence);
        for _ in 0..MAX_SETTLING {
            sleep(SETTLE).await;
            let before = std::mem::replace(&mut changed_at, folder_changed_at(&presence));
            if before == changed_at {
                break;
            }
        }
        let Some(presence) = presence.upgrade() else { return };
        let mut presence = presence.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = presence.folder_state();
        if folder == FolderState::InPlace {
            // On a full disk, for example, this fails; the next signal retries it.
            let _stays_lost = presence.restore();
        }
        report.send_replace(folder);
    }
}

/// When the data folder itself last changed.
fn folder_changed_at(presence: &Weak<Mutex<Presence>>) -> Option<SystemTime> {
    let presence = presence.upgrade()?;
    let presence = presence.lock().unwrap_or_else(PoisonError::into_inner);
    presence.anchor.as_ref().and_then(Anchor::changed_at)
}

impl Presence {
    /// The state of the data folder.
    fn folder_state(&self) -> FolderState {
        match &self.anchor {
            Some(anchor) => anchor.state(),
            None if self.dir.root().exists() => FolderState::InPlace,
            None => FolderState::Moved,
        }
    }

    /// Creates the record and the socket again if they were deleted or moved. The data folder is at its path.
    fn restore(&mut self) -> io::Result<()> {
        let Some(held) = &self.held else { return Ok(()) };
        let (folder, agent) = (self.dir.hosts(), &self.record.info.agent_id);
        if held.is_there() && folder.join(agent.socket()).symlink_metadata().is_ok() {
            return Ok(());
        }
        if !held.is_there() {
            atomic::create_private_subfolder(&folder)?;
            let text = serde_json::to_vec(&self.record)?;
            let Some(held) = ProcessLock::create(&folder, &agent.record(), &text, Durability::Unsynced)?
            else {
                // Another host has claimed the agent's id.
                return Ok(());
            };
            self.held = Some(held);
        }
        let listener = socket::listen(&folder, &agent.socket())?;
        let _is_ending = self.listen.try_send(listener);
        Ok(())
    }
}

/// Creates the hosts folder if necessary and makes it private; fails if other users can write to it.
fn require_private(path: &Path) -> Result<(), RegistrationError> {
    let failed = |source| RegistrationError::Folder { path: path.to_path_buf(), source };
    let found = match path.metadata() {
        Ok(found) if found.is_dir() => found,
        _ => {
            atomic::create_private_subfolder(path).map_err(failed)?;
            path.metadata().map_err(failed)?
        }
    };
    let mode = found.mode() & 0o7777;
    // Other users may already have put files into a folder that they can write to.
    if mode & 0o022 != 0 {
        return Err(RegistrationError::Open { path: path.to_path_buf(), mode });
    }
    if mode & 0o077 == 0 && found.uid() == sys::process::own_user() {
        return Ok(());
    }
    atomic::close_folder(path).map_err(failed)
}
