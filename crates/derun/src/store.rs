//! All sessions: `<state root>/sessions/<id>/`. Makes new ones, opens those that are there.
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

/// How long a session is kept where nobody says otherwise (spec 4, Retention).
pub const DEFAULT_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder that a sweep takes away while a session is made in it is made again this often.
const TRIES: u32 = 10;

/// What a message calls the folder of a session.
const FOLDER: &str = "its folder";

/// What is wrong with the store or one of its sessions.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No variable says where it is.
    #[cfg_attr(unix, error("no state folder: none of DERUN_STATE_ROOT, XDG_STATE_HOME and HOME is set"))]
    #[cfg_attr(windows, error("no state folder: neither DERUN_STATE_ROOT nor LOCALAPPDATA is set"))]
    Homeless,
    /// It cannot be made or read.
    #[error("cannot use the state folder {}: {source}", .path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// There is no such session.
    #[error("session not found: {0}")]
    NotFound(String),
    /// The text is no session's id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// There is such a session already.
    #[error("session id already exists: {0}")]
    Exists(SessionId),
    /// A file of it cannot be used.
    #[error("session {id}: {file}: {source}")]
    File {
        /// Which session.
        id: String,
        /// Which file.
        file: &'static str,
        /// The underlying error.
        source: io::Error,
    },
    /// The cursor is behind the last byte.
    #[error("cursor is past the end: {cursor} of {end} bytes")]
    PastTheEnd {
        /// What was asked for.
        cursor: u64,
        /// How many bytes there are.
        end: u64,
    },
}

impl Hinted for StoreError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Homeless => "set one".to_owned(),
            Self::Id(error) => return error.hint(),
            Self::Unusable { .. } => "choose another with DERUN_STATE_ROOT".to_owned(),
            Self::Exists(..) => "choose another, or leave --session-id out".to_owned(),
            Self::NotFound(_) | Self::File { .. } | Self::PastTheEnd { .. } => return None,
        })
    }
}

/// What a new session is.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its id, if it is to have a certain one.
    pub id: Option<SessionId>,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Where it is started.
    pub working_directory: String,
    /// How long it is to be kept after its end; whole seconds.
    pub retention: Duration,
    /// How its output reaches us.
    pub transport: TransportMode,
    /// Whether stdin and stdout are a terminal.
    pub tty_attached: bool,
}

/// The store.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    sessions: Folder,
}

impl Store {
    /// The state root that these variables name, in this order; an empty one counts as unset.
    ///
    /// # Errors
    /// [`StoreError::Homeless`].
    #[cfg(unix)]
    pub fn find(
        derun_state_root: Option<&OsStr>,
        xdg_state_home: Option<&OsStr>,
        home: Option<&OsStr>,
    ) -> Result<PathBuf, StoreError> {
        let set = |value: Option<&OsStr>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        // The XDG specification has relative paths ignored.
        let state = set(xdg_state_home).filter(|path| path.is_absolute()).map(|state| state.join("derun"));
        set(derun_state_root)
            .or(state)
            .or_else(|| set(home).map(|home| home.join(".local/state/derun")))
            .ok_or(StoreError::Homeless)
    }

    /// The state root that these variables name, in this order; an empty one counts as unset.
    ///
    /// # Errors
    /// [`StoreError::Homeless`].
    #[cfg(windows)]
    pub fn find(
        derun_state_root: Option<&OsStr>,
        local_app_data: Option<&OsStr>,
    ) -> Result<PathBuf, StoreError> {
        let set = |value: Option<&OsStr>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        set(derun_state_root)
            .or_else(|| set(local_app_data).map(|data| data.join("derun").join("state")))
            .ok_or(StoreError::Homeless)
    }

    /// Opens the store at `root`, and makes it, with mode 0700, where it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Unusable`].
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

    /// The state root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn sessions(&self) -> &Folder {
        &self.sessions
    }

    /// Makes a session, and with it the one who may write it. `meta.json` is there when this returns.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if there is one of this id, [`StoreError::File`] if the disk does not take it.
    pub fn create(&self, new: NewSession, now: Timestamp) -> Result<Writer, StoreError> {
        let given = new.id.is_some();
        let id = match new.id {
            Some(id) => id,
            None => SessionId::new(now).map_err(|source| self.unusable(source))?,
        };
        let failed = |file| {
            let id = id.to_string();
            move |source| StoreError::File { id, file, source }
        };
        let mut tries = 1..=TRIES;
        let (folder, lock) = loop {
            match self.claim(&id, given)? {
                Some(claimed) => break claimed,
                None if tries.next().is_some() => {}
                None => return Err(failed(FOLDER)(io::ErrorKind::NotFound.into())),
            }
        };
        let meta = Meta {
            schema_version: SCHEMA_VERSION.to_owned(),
            layout: LAYOUT,
            session_id: id.to_string(),
            command: new.command,
            working_directory: new.working_directory,
            started_at: now,
            retention_seconds: new.retention.as_secs(),
            transport_mode: new.transport,
            tty_attached: new.tty_attached,
            pid: 0,
            owner: Some(Identity::ours()),
        };
        let sessions = self.sessions.try_clone().map_err(|source| self.unusable(source))?;
        Writer::begin(id, sessions, folder, lock, meta)
    }

    /// The folder `id` and its lock, for a session that is not there yet. `None` if the folder was swept away
    /// meanwhile.
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
        // Asked before the lock's file is made, since nothing is changed in a session that is there.
        if is_there() {
            return Err(StoreError::Exists(id.clone()));
        }
        let lock = match folder.append_file(file::LOCK) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(file::LOCK, error)),
        };
        // And once it is ours: until then another may have made the session, and have ended it.
        let lock = lock::try_take(lock).map_err(|error| failed(file::LOCK, error))?;
        let Some(lock) = lock.filter(|_| !is_there()) else {
            return Err(StoreError::Exists(id.clone()));
        };
        let is_still_its_lock =
            folder.is_named(file::LOCK, lock.file()).map_err(|error| failed(file::LOCK, error))?;
        Ok(is_still_its_lock.then_some((folder, lock)))
    }

    fn unusable(&self, source: io::Error) -> StoreError {
        StoreError::Unusable { path: self.root.clone(), source }
    }

    /// Opens a session to read it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], also if `id` can be no session's; [`StoreError::File`] if it cannot be read.
    pub fn session(&self, id: &str) -> Result<Session, StoreError> {
        let checked = SessionId::parse(id).map_err(|_| StoreError::NotFound(id.to_owned()))?;
        match self.sessions.open_folder(checked.as_str()) {
            Ok(folder) => Session::open(checked, folder),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::NotFound(id.to_owned())),
            Err(source) => Err(StoreError::File { id: id.to_owned(), file: FOLDER, source }),
        }
    }

    /// Every session that can be read, the newest first. They are opened one at a time, since each that is open
    /// holds a descriptor and there may be thousands.
    ///
    /// # Errors
    /// [`StoreError::Unusable`] if the sessions cannot be listed or one of them cannot be opened for want of
    /// descriptors. What is no session, or is not readable, is passed over.
    pub fn list(&self) -> Result<Vec<SessionId>, StoreError> {
        let names = self.sessions.names().map_err(|source| self.unusable(source))?;
        let mut sessions = Vec::with_capacity(names.len());
        for name in names.iter().filter_map(|name| name.to_str()) {
            match self.session(name) {
                Ok(session) => sessions.push((session.meta().started_at, session.id().clone())),
                Err(StoreError::File { source, .. }) if folder::is_out_of_descriptors(&source) => {
                    return Err(self.unusable(source));
                }
                Err(_) => {}
            }
        }
        sessions.sort_unstable_by(|one, other| other.cmp(one));
        Ok(sessions.into_iter().map(|(_, id)| id).collect())
    }
}
