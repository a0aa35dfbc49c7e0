//! murmur's paths for this user. The environment is read only here, and passed on as arguments.

use derun::cli::stdout::warn;
use jiff::tz::TimeZone;
use murmur_agent::rule_files;
use murmur_core::config::settings::{Provider, Secret};
use murmur_store::pulse::owner;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::failure;
use sys::file::real_path;
use sys::paths::{DataDir, PathsError, SettingsDir, User};

/// The user's environment.
#[derive(Debug)]
pub(super) struct UserEnv {
    data_dir: Option<PathBuf>,
    /// Whether the warning about an open data folder was printed.
    has_warned: Cell<bool>,
}

impl UserEnv {
    pub(super) fn new(data_dir: Option<PathBuf>) -> Self {
        Self { data_dir, has_warned: Cell::new(false) }
    }

    /// The data folder for reading, which need not exist. Warns once if others can write to it.
    pub(super) fn read_data_dir(&self) -> Result<DataDir, PathsError> {
        let dir = self.data_dir()?;
        dir.check_is_folder()?;
        if let Err(writable @ PathsError::Writable { .. }) = dir.require_ours()
            && !self.has_warned.replace(true)
        {
            let _closed = warn(writable.line());
        }
        Ok(dir)
    }

    /// Like [`Self::read_data_dir`], without the warning.
    pub(super) fn data_dir(&self) -> Result<DataDir, PathsError> {
        let (murmur_dir, home) = (std::env::var_os("MURMUR_DIR"), std::env::var_os("HOME"));
        DataDir::find(self.data_dir.as_deref(), murmur_dir.as_deref(), home.as_deref())
    }

    /// The data folder, created if missing, without checking its permissions.
    pub(super) fn prepared_data_dir(&self) -> Result<DataDir, PathsError> {
        let dir = self.data_dir()?;
        dir.prepare()?;
        Ok(dir)
    }

    /// The data folder for writing, created if missing. Fails if others can write to it, and warns if they can read
    /// it.
    pub(super) fn own_data_dir(&self) -> Result<DataDir, PathsError> {
        let (dir, open) = self.own_data_dir_and_warning()?;
        self.warn_of(open.as_ref());
        Ok(dir)
    }

    /// Like [`Self::own_data_dir`], for commands that start agents: first warns if all of their calls would be
    /// denied.
    pub(super) fn agents_data_dir(&self) -> Result<DataDir, PathsError> {
        let (dir, open) = self.own_data_dir_and_warning()?;
        for problem in rule_files::problems(&dir, &self.settings_dir()?) {
            let _closed = warn(problem.line());
        }
        self.warn_of(open.as_ref());
        Ok(dir)
    }

    /// Like [`Self::own_data_dir`], but returns the warning for [`Self::warn_of`].
    pub(super) fn own_data_dir_and_warning(&self) -> Result<(DataDir, Option<PathsError>), PathsError> {
        let dir = self.prepared_data_dir()?;
        let open = dir.require_ours()?;
        Ok((dir, open))
    }

    /// Warns once that others can read the data folder.
    pub(super) fn warn_of(&self, open: Option<&PathsError>) {
        if let Some(open) = open
            && !self.has_warned.replace(true)
        {
            let _closed = warn(open.line());
        }
    }

    /// The folder of settings for all agents, which need not exist.
    pub(super) fn settings_dir(&self) -> Result<SettingsDir, PathsError> {
        let [murmur_dir, xdg, home] = ["MURMUR_DIR", "XDG_CONFIG_HOME", "HOME"].map(std::env::var_os);
        SettingsDir::find(self.data_dir.as_deref(), murmur_dir.as_deref(), xdg.as_deref(), home.as_deref())
    }

    /// The user's settings.
    pub(super) fn user(&self) -> Result<User, PathsError> {
        Ok(User { home: self.home(), settings: self.settings_dir()? })
    }

    /// The user's home folder.
    pub(super) fn home(&self) -> PathBuf {
        std::env::var_os("HOME").filter(|home| !home.is_empty()).map_or_else(|| "/".into(), PathBuf::from)
    }

    /// Claude Code's own folder, if the environment sets it.
    pub(super) fn claude_folder(&self) -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set("CLAUDE_CONFIG_DIR").or_else(|| set("HOME").map(|home| home.join(".claude")))
    }

    /// The id of the agent that runs this process, as in pulses.
    pub(super) fn agent(&self) -> Option<String> {
        owner::own(None)
    }

    /// API keys of model providers that the environment sets.
    pub(super) fn keys(&self) -> BTreeMap<Provider, Secret> {
        let key = |provider: Provider| {
            let key = std::env::var_os(provider.key_variable()).filter(|key| !key.is_empty())?;
            Some((provider, Secret::new(key.to_string_lossy().into_owned())))
        };
        Provider::ALL.into_iter().filter_map(key).collect()
    }

    /// The project of the agent that runs this process, by name and folder.
    pub(super) fn project(&self) -> Option<(String, Option<PathBuf>)> {
        let project = std::env::var("MURMUR_PROJECT").ok().filter(|project| !project.is_empty())?;
        let folder = std::env::var_os("MURMUR_WORKSPACE").filter(|folder| !folder.is_empty());
        Some((project, folder.map(PathBuf::from)))
    }

    /// The `PATH` of this process.
    pub(super) fn path(&self) -> OsString {
        std::env::var_os("PATH").unwrap_or_default()
    }

    /// The user's editor, as a shell command.
    pub(super) fn editor(&self) -> String {
        let set = |name: &str| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
        set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned())
    }

    /// The user's login shell.
    pub(super) fn shell(&self) -> PathBuf {
        std::env::var_os("SHELL")
            .filter(|shell| !shell.is_empty())
            .map_or_else(|| "/bin/sh".into(), PathBuf::from)
    }

    /// The default time zone of cron expressions.
    pub(super) fn time_zone(&self) -> TimeZone {
        sys::clock::local_zone()
    }

    /// `path` as workspaces are registered: absolute and without symlinks.
    pub(super) fn workspace(&self, path: &Path) -> anyhow::Result<PathBuf> {
        match real_path(path) {
            Ok(real) if real.is_dir() => Ok(real),
            Ok(real) => anyhow::bail!(
                failure!("workspace {} is not a folder", real.display(); "name the folder that holds HEARTBEAT.md")
            ),
            Err(error) => {
                anyhow::bail!(
                    failure!("cannot open workspace {}", path.display(); "check the path").because(&error)
                )
            }
        }
    }
}
