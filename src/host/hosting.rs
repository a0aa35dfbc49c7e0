//! Being the host of an agent: its record and its socket, from before the agent is started until it is over.

use super::id::AgentId;
use super::protocol::Card;
use super::record::{ClaimError, Ended, Record};
use crate::agent::invocation::marks;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};
use sys::anchor::{Anchor, Whereabouts};
use sys::error::Hinted;
use sys::held::{Held, Lasting};
use sys::paths::DataDir;
use sys::process::Signal;
use sys::{atomic, process, shell, socket};
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

/// The signal that has a host see whether the data folder, its record and its socket are there. The system sends it when
/// something is removed from the data folder, and the daemon when it misses something. Who does not expect it ignores it.
pub const LOOK: Signal = Signal::URG;

/// How long after that signal it looks: a folder that is being deleted is left alone until that is done.
const SETTLE: Duration = Duration::from_secs(1);
/// How often it waits that long for a data folder that goes on changing.
const MOST_SETTLING: usize = 10;

/// It, until this is dropped.
#[derive(Debug)]
pub struct Hosting {
    presence: Arc<Mutex<Presence>>,
    listeners: Option<Listeners>,
    folder: watch::Receiver<Whereabouts>,
}

/// Where to listen.
#[derive(Debug)]
pub struct Listeners {
    /// From the beginning.
    pub first: UnixListener,
    /// From when the socket was deleted and made again.
    pub next: mpsc::Receiver<UnixListener>,
}

/// What others find of it.
#[derive(Debug)]
struct Presence {
    dir: DataDir,
    record: Record,
    /// `None` once the host is over.
    held: Option<Held>,
    listen: mpsc::Sender<UnixListener>,
    /// The data folder; `None` where it cannot be opened.
    anchor: Option<Anchor>,
}

/// Why not.
#[derive(Debug, thiserror::Error)]
pub enum HostingError {
    /// The record cannot be had.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// The folder cannot be used.
    #[error("cannot use {}: {source}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others could reach the socket.
    #[error("{} is open to other users (mode {mode:04o})", .path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The socket cannot be made.
    #[error("cannot listen on {}/{}: {source}", .folder.display(), .agent.socket())]
    Listen {
        /// Where.
        folder: PathBuf,
        /// Whose.
        agent: AgentId,
        /// What the system said.
        source: io::Error,
    },
}

impl Hinted for HostingError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Claim(error) => return error.hint(),
            Self::Open { path, .. } => format!("run: chmod 700 {}", shell::path(path)),
            Self::Folder { .. } | Self::Listen { .. } => return None,
        })
    }
}

impl Hosting {
    /// Becomes the host of `card`. What a dead host of that agent left behind is ended first.
    ///
    /// # Errors
    /// [`HostingError`].
    pub fn begin(dir: &DataDir, card: Card) -> Result<Self, HostingError> {
        let folder = dir.hosts();
        require_private(&folder)?;
        let agent = card.agent_id.clone();
        let record = Record::ours(card, dir.root().to_path_buf());
        let held = record.claim(&folder, bury)?;
        let first = match socket::listen(&folder, &agent.socket()) {
            Ok(listener) => listener,
            Err(source) => {
                let _stays_as_a_dead_one = held.remove();
                return Err(HostingError::Listen { folder, agent, source });
            }
        };
        let (listen, next) = mpsc::channel(1);
        // The signal first, so that none is missed.
        let told = signal(SignalKind::from_raw(LOOK.as_raw()));
        let anchor = Anchor::new(dir.root()).ok();
        if let (Ok(_), Some(anchor)) = (&told, &anchor) {
            // Where the system does not tell, the daemon does.
            let _untold = anchor.signal_removals(LOOK);
        }
        let presence = Presence { dir: dir.clone(), record, held: Some(held), listen, anchor };
        let presence = Arc::new(Mutex::new(presence));
        let (tell, folder) = watch::channel(Whereabouts::There);
        if let Ok(told) = told {
            tokio::spawn(look_when_told(told, Arc::downgrade(&presence), tell));
        }
        Ok(Self { presence, listeners: Some(Listeners { first, next }), folder })
    }

    /// Waits until the data folder is deleted, or, where `or_moved`, is not at its path any more.
    pub fn folder_gone(&self, or_moved: bool) -> impl Future<Output = ()> + use<> {
        let mut folder = self.folder.clone();
        async move {
            let is_gone = |folder: &Whereabouts| match folder {
                Whereabouts::There => false,
                Whereabouts::Moved => or_moved,
                Whereabouts::Deleted => true,
            };
            if folder.wait_for(is_gone).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Where to listen; once.
    pub fn listeners(&mut self) -> Option<Listeners> {
        self.listeners.take()
    }

    fn presence(&self) -> MutexGuard<'_, Presence> {
        // Nothing in here panics halfway.
        self.presence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down where the agent's output is kept.
    ///
    /// # Errors
    /// What the system says.
    pub fn note_capture(&mut self, capture: String) -> io::Result<()> {
        let Presence { record, held, .. } = &mut *self.presence();
        held.as_ref().map_or(Ok(()), |held| record.note_capture(held, capture))
    }

    /// Writes down what came of the agent, for whoever looks later.
    ///
    /// # Errors
    /// What the system says.
    pub fn close(self, result: Ended) -> io::Result<()> {
        let Some(held) = self.end() else { return Ok(()) };
        let mut presence = self.presence();
        let log = presence.dir.hosts().join(presence.record.card.agent_id.log());
        // Most hosts have nothing to say.
        if log.metadata().is_ok_and(|found| found.len() == 0) {
            let _stays = std::fs::remove_file(log);
        }
        presence.record.close(&held, result)
    }

    /// Leaves nothing behind: what came of the agent stands elsewhere.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(self) -> io::Result<()> {
        let Some(held) = self.end() else { return Ok(()) };
        // One that was moved, or deleted, has no name here, and what has is another's.
        if held.is_there() { held.remove() } else { Ok(()) }
    }

    /// Removes the socket, unless it is another's.
    fn end(&self) -> Option<Held> {
        let mut presence = self.presence();
        let held = presence.held.take()?;
        if held.is_there() {
            // One that stays is nobody's, and cleared away by the next who looks.
            let _gone = socket::remove(&presence.dir.hosts(), &presence.record.card.agent_id.socket());
        }
        Some(held)
    }
}

/// Looks whenever the process is told to, until the host is over, and says what became of the data folder.
async fn look_when_told(
    mut told: Signals,
    presence: Weak<Mutex<Presence>>,
    tell: watch::Sender<Whereabouts>,
) {
    while told.recv().await.is_some() {
        let mut changed_at = folder_changed_at(&presence);
        for _ in 0..MOST_SETTLING {
            sleep(SETTLE).await;
            let before = std::mem::replace(&mut changed_at, folder_changed_at(&presence));
            if before == changed_at {
                break;
            }
        }
        let Some(presence) = presence.upgrade() else { return };
        let mut presence = presence.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = presence.look_at_folder();
        if folder == Whereabouts::There {
            // On a full disk, say, it stays as it was; the next signal makes the host try again.
            let _stays_lost = presence.restore();
        }
        tell.send_replace(folder);
    }
}

/// When the data folder itself was changed last.
fn folder_changed_at(presence: &Weak<Mutex<Presence>>) -> Option<SystemTime> {
    let presence = presence.upgrade()?;
    let presence = presence.lock().unwrap_or_else(PoisonError::into_inner);
    presence.anchor.as_ref().and_then(Anchor::changed_at)
}

impl Presence {
    /// What became of the data folder.
    fn look_at_folder(&self) -> Whereabouts {
        match &self.anchor {
            Some(anchor) => anchor.look(),
            None if self.dir.root().exists() => Whereabouts::There,
            None => Whereabouts::Moved,
        }
    }

    /// Makes the record and the socket again where they were deleted or moved. The data folder is at its path.
    fn restore(&mut self) -> io::Result<()> {
        let Some(held) = &self.held else { return Ok(()) };
        let (folder, agent) = (self.dir.hosts(), &self.record.card.agent_id);
        if held.is_there() && folder.join(agent.socket()).symlink_metadata().is_ok() {
            return Ok(());
        }
        if !held.is_there() {
            atomic::create_private_subfolder(&folder)?;
            let text = serde_json::to_vec(&self.record)?;
            let Some(held) = Held::create(&folder, &agent.record(), &text, Lasting::No)? else {
                // Another host has the agent's id by now.
                return Ok(());
            };
            self.held = Some(held);
        }
        let listener = socket::listen(&folder, &agent.socket())?;
        let _is_ending = self.listen.try_send(listener);
        Ok(())
    }
}

/// Ends what is left of the agent of `record`, whose host is dead.
pub fn bury(record: &Record) {
    process::kill_marked(&marks(record.card.agent_id.as_str(), Some(&record.data_dir)));
}

/// The folder of hosts, made where it does not exist and closed where others can look in, which nobody else can enter.
fn require_private(path: &Path) -> Result<(), HostingError> {
    let failed = |source| HostingError::Folder { path: path.to_path_buf(), source };
    atomic::create_private_subfolder(path).map_err(failed)?;
    let mode = path.metadata().map_err(failed)?.mode() & 0o7777;
    // What others could write to may have something of theirs in it.
    if mode & 0o022 != 0 {
        return Err(HostingError::Open { path: path.to_path_buf(), mode });
    }
    atomic::close_folder(path).map_err(failed)
}
