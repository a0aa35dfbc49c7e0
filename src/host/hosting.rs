//! Being the host of an agent: its record and its socket, from before the agent is started until it is over.

use super::id::AgentId;
use super::protocol::Card;
use super::record::{ClaimError, Ended, Record};
use crate::agent::invocation::marks;
use crate::sys::held::Held;
use crate::sys::paths::DataDir;
use crate::sys::{atomic, process, socket};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tokio::net::UnixListener;

/// It, until this is dropped.
#[derive(Debug)]
pub struct Hosting {
    folder: PathBuf,
    record: Record,
    held: Held,
    listener: Option<UnixListener>,
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
    #[error("{} is open to other users (mode {mode:04o}); run: chmod 700 {}", .path.display(), .path.display())]
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
        match socket::listen(&folder, &agent.socket()) {
            Ok(listener) => Ok(Self { folder, record, held, listener: Some(listener) }),
            Err(source) => {
                let _stays_as_a_dead_one = held.remove();
                Err(HostingError::Listen { folder, agent, source })
            }
        }
    }

    /// Where to listen; once.
    pub fn listener(&mut self) -> Option<UnixListener> {
        self.listener.take()
    }

    /// Writes down where the agent's output is kept.
    ///
    /// # Errors
    /// What the system says.
    pub fn note_capture(&mut self, capture: String) -> io::Result<()> {
        self.record.note_capture(&self.held, capture)
    }

    /// Writes down what came of the agent, for whoever looks later.
    ///
    /// # Errors
    /// What the system says.
    pub fn close(mut self, result: Ended) -> io::Result<()> {
        self.remove_socket();
        let log = self.folder.join(self.record.card.agent_id.log());
        // Most hosts have nothing to say.
        if log.metadata().is_ok_and(|found| found.len() == 0) {
            let _stays = std::fs::remove_file(log);
        }
        self.record.close(&self.held, result)
    }

    /// Leaves nothing behind: what came of the agent stands elsewhere.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(self) -> io::Result<()> {
        self.remove_socket();
        self.held.remove()
    }

    fn remove_socket(&self) {
        // One that stays is nobody's, and cleared away by the next who looks.
        let _gone = socket::remove(&self.folder, &self.record.card.agent_id.socket());
    }
}

/// Ends what is left of the agent of `record`, whose host is dead.
pub fn bury(record: &Record) {
    process::kill_marked(&marks(record.card.agent_id.as_str(), Some(&record.data_dir)));
}

/// The folder of hosts, made where it does not exist and closed where others can look in, which nobody else can enter.
fn require_private(path: &Path) -> Result<(), HostingError> {
    let failed = |source| HostingError::Folder { path: path.to_path_buf(), source };
    atomic::create_private_folder(path).map_err(failed)?;
    let mode = path.metadata().map_err(failed)?.mode() & 0o7777;
    // What others could write to may have something of theirs in it.
    if mode & 0o022 != 0 {
        return Err(HostingError::Open { path: path.to_path_buf(), mode });
    }
    atomic::close_folder(path).map_err(failed)
}
