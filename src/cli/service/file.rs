//! The service file: its path and content, and how it is replaced and restored.

use super::manager::IS_LAUNCHD;
use crate::service::{LABEL, UNIT};
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use sys::error::Failure;
use sys::{atomic, file};

/// The path where the manager looks for it, given the user's home folder.
pub(super) fn path(home: &Path) -> PathBuf {
    if IS_LAUNCHD {
        return home.join(format!("Library/LaunchAgents/{LABEL}.plist"));
    }
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    config.unwrap_or_else(|| home.join(".config")).join("systemd/user").join(UNIT)
}

/// The content of the file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    file::read_regular(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Rejects a symlink to a file that another program manages.
pub(super) fn require_ours(path: &Path) -> anyhow::Result<()> {
    match of_others(path) {
        Some(link) => bail!(link),
        None => Ok(()),
    }
}

/// The error if it is a symlink to a file that another program manages.
pub(super) fn of_others(path: &Path) -> Option<Failure> {
    let target = file::leads_out(path)?;
    let what = format!("{} is a link to {}", path.display(), target.display());
    Some(Failure::new(what).hint("change it with the program that created it, for example Home Manager"))
}

/// Writes `text`, keeping the previous content `found` as a backup.
pub(super) fn replace(path: &Path, found: Option<&[u8]>, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    if let Some(found) = found {
        write(&backup(path), found)?;
    }
    write(path, text.as_bytes()).inspect_err(|_| {
        if found.is_some() {
            let _stays = std::fs::remove_file(backup(path));
        }
    })
}

/// Restores the content `found` at `path`.
pub(super) fn take_back(path: &Path, found: Option<&[u8]>) -> anyhow::Result<()> {
    match found {
        Some(found) => {
            write(path, found)?;
            let _stays = std::fs::remove_file(backup(path));
            Ok(())
        }
        None => remove(path),
    }
}

/// Removes the file.
pub(super) fn remove(path: &Path) -> anyhow::Result<()> {
    std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
}

/// The path of the backup, with a name that managers ignore.
pub(super) fn backup(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".murmur-backup");
    name.into()
}

fn write(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    atomic::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
