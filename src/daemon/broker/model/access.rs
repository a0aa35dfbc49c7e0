//! Finds the model and the API key, from config.toml, a key file, or the environment.

use super::wire::{self, WireError};
use murmur_core::config::secret_file::{self, SecretFileError};
use murmur_core::config::settings::{LlmAuth, Provider, Secret, Settings, SettingsError};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use sys::error::Hinted;

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
    #[error(transparent)]
    File(#[from] SecretFileError),
    #[error("the key for {0} must be a single printable line")]
    Garbled(&'static str),
    #[error("{}: [providers.{name}] base-url", .settings.display())]
    Url { name: &'static str, settings: PathBuf, source: WireError },
}

impl Hinted for AccessError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Settings(error) => return error.hint(),
            Self::Url { source, .. } => return source.hint(),
            Self::NoModel(settings) => format!("add [llm_auth] to {}", settings.display()),
            Self::NoKey { name, settings, variable, .. } => format!(
                "add api-key-file to [providers.{name}] in {}, or start the daemon with {variable}",
                settings.display()
            ),
            Self::File(error) => return error.hint(),
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
        let mut found = Settings::read(settings)?;
        let Some(LlmAuth { provider, model }) = found.llm else {
            return Err(AccessError::NoModel(settings.to_owned()));
        };
        let name = provider.name();
        let access = found.providers.remove(&provider).unwrap_or_default();
        let url = wire::url(provider, access.base_url.as_deref()).map_err(|source| AccessError::Url {
            name,
            settings: settings.to_owned(),
            source,
        })?;
        let key = match (access.api_key, access.api_key_file) {
            (Some(key), _) => key,
            // A relative path is relative to config.toml.
            (None, Some(path)) => secret_file::read(&settings.parent().unwrap_or(Path::new("/")).join(path))?,
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

#[cfg(test)]
mod tests;
