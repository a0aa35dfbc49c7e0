//! Creates and opens sessions. All are in `<state root>/sessions/`: folders (`<id>`), drafts (`<id>.draft`) and packs
//! (`<id>.zst`).
//!
//! The state root is `$DERUN_STATE_ROOT`, else `$XDG_STATE_HOME/derun`, else `~/.local/state/derun`, and on Windows
//! `%LOCALAPPDATA%\derun\state` (spec 4).

use super::id::{IdError, SessionId};
use super::record::{LAYOUT, Meta, SCHEMA_VERSION, TransportMode, file};
use super::session::Session;
use super::writer::Writer;
use jiff::Timestamp;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::atomic;
use sys::error::Hinted;
use sys::folder::{self, Folder};
use sys::identity::Identity;
use sys::lock::{self, Lock};

/// How long a session is kept by default (spec 4, Retention).
pub const DEFAULT_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// How often to retry creating a session's folder if a sweep removes it meanwhile.
const TRIES: u32 = 10;

/// How messages refer to a session's folder.
pub(super) const FOLDER: &str = "its folder";

/// Errors of the store and its sessions.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No variable names a state root.
    #[cfg_attr(unix, error("no state folder: none of DERUN_STATE_ROOT, XDG_STATE_HOME and HOME is set"))]
    #[cfg_attr(windows, error("no state folder: neither DERUN_STATE_ROOT nor LOCALAPPDATA is set"))]
    NoStateRoot,
    /// The state root cannot be created or read.
    #[error("cannot use the state folder {}", .path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The session does not exist.
    #[error("session not found: {0}")]
    NotFound(String),
    /// The id is invalid.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The session already exists.
    #[error("session id already exists: {0}")]
    Exists(SessionId),
    /// A file of the session cannot be used.
    #[error("session {id}: {file}")]
    File {
        /// The session.
        id: String,
        /// The file.
        file: &'static str,
        /// The underlying error.
        source: io::Error,
    },
    /// The cursor is past the end.
    #[error("cursor is past the end: {cursor} of {end} bytes")]
    PastTheEnd {
        /// The cursor.
        cursor: u64,
        /// The size of the output.
        end: u64,
    },
}

impl Hinted for StoreError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoStateRoot => "set one".to_owned(),
            Self::Id(error) => return error.hint(),
            Self::Unusable { .. } => "choose another with DERUN_STATE_ROOT".to_owned(),
            Self::Exists(..) => "choose another, or leave --session-id out".to_owned(),
            Self::NotFound(_) | Self::File { .. } | Self::PastTheEnd { .. } => return None,
        })
    }
}

/// The properties of a new session.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its id; generated if `None`.
    pub id: Option<SessionId>,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The working directory.
    pub working_directory: String,
    /// How long to keep it after its end, in whole seconds.
    pub retention: Duration,
    /// How its output is captured.
    pub transport: TransportMode,
    /// Whether stdin and stdout are a terminal.
    pub tty_attached: bool,
    /// How much of its output to keep at most, in bytes; `None` keeps everything.
    pub max_bytes: Option<u64>,
    /// What it has in common with other sessions, whose newest one is kept longer. It begins as a draft then.
    pub group: Option<String>,
}

/// The store.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    sessions: Folder,
}

impl Store {
    /// The state root from these variables, in this order; an empty variable counts as unset.
    #[cfg(unix)]
    pub fn find(
        derun_state_root: Option<&OsStr>,
        xdg_state_home: Option<&OsStr>,
        home: Option<&OsStr>,
    ) -> Result<PathBuf, StoreError> {
        let set = |value: Option<&OsStr>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        // The XDG specification says to ignore relative paths.
        let state = set(xdg_state_home).filter(|path| path.is_absolute()).map(|state| state.join("derun"));
        set(derun_state_root)
            .or(state)
            .or_else(|| set(home).map(|home| home.join(".local/state/derun")))
            .ok_or(StoreError::NoStateRoot)
    }

    /// The state root from these variables, in this order; an empty variable counts as unset.
    #[cfg(windows)]
    pub fn find(
        derun_state_root: Option<&OsStr>,
        local_app_data: Option<&OsStr>,
    ) -> Result<PathBuf, StoreError> {
        let set = |value: Option<&OsStr>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        set(derun_state_root)
            .or_else(|| set(local_app_data).map(|data| data.join("derun").join("state")))
            .ok_or(StoreError::NoStateRoot)
    }

    /// Opens the store at `root`, creating it with mode 0700 if necessary.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let unusable = |source| StoreError::Unusable { path: root.to_path_buf(), source };
        let sessions = root.join("sessions");
        let opened = Folder::open(&sessions).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                atomic::create_private_folder(&sessions)?;
                Folder::open(&sessions)
            }
            _ => Err(error),
        });
        Ok(Self { root: root.to_path_buf(), sessions: opened.map_err(unusable)? })
    }

    /// Opens the store at `root`; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError::Unusable`], also if nobody can tell whether there is one.
    pub fn open_existing(root: &Path) -> Result<Option<Self>, StoreError> {
        match root.join("sessions").try_exists() {
            Ok(false) => Ok(None),
            // Opening it reports any error.
            Ok(true) | Err(_) => Self::open(root).map(Some),
        }
    }

    /// The state root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn sessions(&self) -> &Folder {
        &self.sessions
    }

    /// Creates a session and its writer. `meta.json` exists when this returns.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if the id is taken, [`StoreError::File`] if the disk is full or failing.
    pub fn create(&self, new: NewSession, now: Timestamp) -> Result<Writer, StoreError> {
        self.create_for(None, new, now)
    }

    /// The same, for a command that already runs as the process `pid`.
    ///
    /// # Errors
    /// Same as [`Self::create`].
    pub fn create_for(
        &self,
        pid: Option<u32>,
        new: NewSession,
        now: Timestamp,
    ) -> Result<Writer, StoreError> {
        let given = new.id.is_some();
        let id = match new.id {
            Some(id) => id,
            None => SessionId::new(now).map_err(|source| self.unusable(source))?,
        };
        let failed = |file| {
            let id = id.to_string();
            move |source| StoreError::File { id, file, source }
        };
        let meta = Meta {
            schema_version: SCHEMA_VERSION.to_owned(),
            layout: LAYOUT,
            session_id: id.clone(),
            command: new.command,
            working_directory: new.working_directory,
            started_at: now,
            retention_seconds: new.retention.as_secs(),
            transport_mode: new.transport,
            tty_attached: new.tty_attached,
            pid,
            owner: Some(Identity::ours()),
            max_bytes: new.max_bytes,
            group: new.group,
        };
        let sessions = self.sessions.try_clone().map_err(|source| self.unusable(source))?;
        #[cfg(unix)]
        if !given && meta.group.is_some() {
            return Writer::begin_draft(id, sessions, meta);
        }
        let mut tries = 1..=TRIES;
        let (folder, lock) = loop {
            match self.claim(&id, given)? {
                Some(claimed) => break claimed,
                None if tries.next().is_some() => {}
                None => return Err(failed(FOLDER)(io::ErrorKind::NotFound.into())),
            }
        };
        Writer::begin(id, sessions, folder, lock, meta)
    }

    /// Creates the folder `id` and locks it, for a new session. `None` if the folder was removed meanwhile.
    fn claim(&self, id: &SessionId, given: bool) -> Result<Option<(Folder, Lock)>, StoreError> {
        let failed = |file, source| StoreError::File { id: id.to_string(), file, source };
        match self.sessions.create_folder(id.as_str()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && given => {}
            Err(error) => return Err(failed(FOLDER, error)),
        }
        let folder = match self.sessions.open_folder(id.as_str()) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(FOLDER, error)),
        };
        let is_there = || [file::META, file::FINAL].iter().any(|file| folder.look(file).is_ok());
        // Checked before creating the lock file, so that an existing session is not changed.
        if given && is_there() {
            return Err(StoreError::Exists(id.clone()));
        }
        let lock = match folder.append_file(file::LOCK) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(file::LOCK, error)),
        };
        // Check again with the lock: another process may have created the session, and ended it.
        let lock = lock::try_take(lock).map_err(|error| failed(file::LOCK, error))?;
        let Some(lock) = lock.filter(|_| !given || !is_there()) else {
            return Err(StoreError::Exists(id.clone()));
        };
        let is_still_its_lock =
            folder.is_named(file::LOCK, lock.file()).map_err(|error| failed(file::LOCK, error))?;
        Ok(is_still_its_lock.then_some((folder, lock)))
    }

    fn unusable(&self, source: io::Error) -> StoreError {
        StoreError::Unusable { path: self.root.clone(), source }
    }

    /// Opens a session for reading.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], also for an invalid id; [`StoreError::File`] if it is not readable.
    pub fn session(&self, id: &str) -> Result<Session, StoreError> {
        let checked = SessionId::parse(id).map_err(|_| StoreError::NotFound(id.to_owned()))?;
        Session::open(checked, &self.sessions)
    }

    /// All readable sessions, newest first. They are opened one at a time, since each open session uses a descriptor
    /// and there may be thousands.
    ///
    /// # Errors
    /// [`StoreError::Unusable`] if sessions cannot be listed, or descriptors run out. Anything else that is not a
    /// readable session is skipped.
    pub fn list(&self) -> Result<Vec<SessionId>, StoreError> {
        let names = self.sessions.names().map_err(|source| self.unusable(source))?;
        let mut sessions = Vec::with_capacity(names.len());
        for name in &names {
            #[cfg(unix)]
            if let Some((id, started)) = super::pack::id_of(name)
                .or_else(|| super::draft::id_of(name))
                .and_then(|id| Some((id.clone(), id.time()?)))
            {
                sessions.push((started, id));
                continue;
            }
            let Some(name) = name.to_str() else { continue };
            match self.session(name) {
                Ok(session) => sessions.push((session.meta().started_at, session.id().clone())),
                Err(StoreError::File { source, .. }) if folder::is_out_of_descriptors(&source) => {
                    return Err(self.unusable(source));
                }
                Err(_) => {}
            }
        }
        sessions.sort_unstable_by(|one, other| other.cmp(one));
        // A session that is being packed or moved has both.
        sessions.dedup_by(|one, other| one.1 == other.1);
        Ok(sessions.into_iter().map(|(_, id)| id).collect())
    }
}
