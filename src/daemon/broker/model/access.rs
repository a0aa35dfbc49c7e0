//! Finds the model and the API key, from config.toml, a key file, or the environment.

use super::wire::{self, WireError};
use murmur_core::config::settings::{LlmAuth, Provider, Secret, Settings, SettingsError};
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

/// Everything needed to ask a model. Displayed as `provider/model`.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) provider: Provider,
    pub(super) model: String,
    /// The API endpoint.
    pub(super) url: String,
    pub(super) key: Secret,
}

/// Why no model can be asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum AccessError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("no model is configured")]
    NoModel(PathBuf),
    #[error("there is no key for {name}")]
    NoKey { name: &'static str, variable: &'static str, settings: PathBuf },
    #[error("cannot read key file {}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("key file {} is not a regular file of at most {LONGEST} bytes", .0.display())]
    NotAFile(PathBuf),
    #[error("key file {} is accessible to other users (mode {mode:04o})", .path.display())]
    Open { path: PathBuf, mode: u32 },
    #[error("the key for {0} must be a single printable line")]
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
            Self::Unreadable { .. } => "correct api-key-file, or create the file".to_owned(),
            Self::NotAFile(..) => "use a file that contains only the key".to_owned(),
            Self::Open { path, .. } => format!("run: chmod 600 {}", shell::path(path)),
            Self::Garbled(..) => "enter the key again".to_owned(),
        })
    }
}

impl fmt::Display for Access {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.provider.name(), self.model)
    }
}

impl Access {
    /// Reads the file `settings`; `keys` are for providers without a key there.
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
            // A relative path is relative to config.toml.
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

/// Reads the key from the file at `path`, which must be private.
fn read(path: &Path) -> Result<Secret, AccessError> {
    let unreadable = |source| AccessError::Unreadable { path: path.to_owned(), source };
    // Do not block on a FIFO.
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
