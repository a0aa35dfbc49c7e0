//! Whom to ask, and with which key: config.toml, the file of a key, the environment's keys.

use super::wire::{self, WireError};
use crate::config::settings::{LlmAuth, Provider, Secret, Settings, SettingsError};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::shell;

/// The longest key, in bytes.
const LONGEST: u64 = 4096;

/// All that is needed to ask. Shown as `provider/model`.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) provider: Provider,
    pub(super) model: String,
    /// Where questions go.
    pub(super) url: String,
    pub(super) key: Secret,
}

/// Why nobody can be asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum AccessError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("no model is named that could decide")]
    NoModel(PathBuf),
    #[error("there is no key for {name}")]
    NoKey { name: &'static str, variable: &'static str, settings: PathBuf },
    #[error("the file of the key, {}, cannot be read: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the file of the key, {}, is none, or has more than {LONGEST} bytes", .0.display())]
    NotAFile(PathBuf),
    #[error("the file of the key, {}, is open to other users (mode {mode:04o})", .path.display())]
    Open { path: PathBuf, mode: u32 },
    #[error("the key for {0} is no line of letters, digits and signs")]
    Garbled(&'static str),
    #[error("{}: [providers.{name}] base-url {error}", .settings.display())]
    Url { name: &'static str, settings: PathBuf, error: WireError },
}

impl Hinted for AccessError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Settings(error) => return error.hint(),
            Self::Url { error, .. } => return error.hint(),
            Self::NoModel(settings) => format!("add [llm_auth] to {}", settings.display()),
            Self::NoKey { name, settings, variable, .. } => format!(
                "add api-key-file to [providers.{name}] in {}, or start the daemon with {variable}",
                settings.display()
            ),
            Self::Unreadable { .. } => "correct api-key-file, or put the key there".to_owned(),
            Self::NotAFile(..) => "write the key alone into one".to_owned(),
            Self::Open { path, .. } => format!("run: chmod 600 {}", shell::path(path)),
            Self::Garbled(..) => "write it anew".to_owned(),
        })
    }
}

impl fmt::Display for Access {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.provider.name(), self.model)
    }
}

impl Access {
    /// What the file `settings` says; `keys` is for providers of which it has none.
    pub(super) fn find(settings: &Path, keys: &BTreeMap<Provider, Secret>) -> Result<Self, AccessError> {
        let mut said = Settings::read(settings)?;
        let Some(LlmAuth { provider, model }) = said.llm else {
            return Err(AccessError::NoModel(settings.to_owned()));
        };
        let name = provider.name();
        let access = said.providers.remove(&provider).unwrap_or_default();
        let url = wire::url(provider, access.base_url.as_deref()).map_err(|error| AccessError::Url {
            name,
            settings: settings.to_owned(),
            error,
        })?;
        let key = match (access.api_key, access.api_key_file) {
            (Some(key), _) => key,
            // What is not absolute counts from where it is said.
            (None, Some(path)) => read(&settings.parent().unwrap_or(Path::new("/")).join(path))?,
            (None, None) => keys.get(&provider).cloned().unwrap_or_default(),
        };
        let key = Secret::new(key.reveal().trim_ascii().to_owned());
        if key.reveal().is_empty() {
            let (variable, settings) = (provider.key_variable(), settings.to_owned());
            return Err(AccessError::NoKey { name, variable, settings });
        }
        if !key.reveal().bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(AccessError::Garbled(name));
        }
        Ok(Self { provider, model, url, key })
    }
}

/// The key in the file at `path`, which is the user's alone.
fn read(path: &Path) -> Result<Secret, AccessError> {
    let unreadable = |source| AccessError::Unreadable { path: path.to_owned(), source };
    // A FIFO is not waited for.
    let mut open = OpenOptions::new();
    let file = open.read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() || found.len() > LONGEST {
        return Err(AccessError::NotAFile(path.to_owned()));
    }
    let mode = found.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(AccessError::Open { path: path.to_owned(), mode });
    }
    let mut key = String::new();
    file.take(LONGEST).read_to_string(&mut key).map_err(unreadable)?;
    Ok(Secret::new(key))
}

#[cfg(test)]
mod tests;
