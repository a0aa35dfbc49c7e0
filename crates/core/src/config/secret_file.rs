//! Files that hold one secret, such as a key or a token.

use super::settings::Secret;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::file::open_regular;
use sys::shell;

/// The longest secret, in bytes.
const MAX_SECRET: u64 = 4096;

/// Why a file's secret is not usable.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// The file is not readable.
    #[error("cannot read key file {}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It is not a regular file, or too long.
    #[error("key file {} is not a regular file of at most {MAX_SECRET} bytes", .0.display())]
    NotAFile(PathBuf),
    /// Other users can access it.
    #[error("key file {} is accessible to other users (mode {mode:04o})", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

impl Hinted for SecretFileError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unreadable { .. } => "correct its path in config.toml, or create the file".to_owned(),
            Self::NotAFile(..) => "use a file that contains only the key".to_owned(),
            Self::Open { path, .. } => format!("run: chmod 600 {}", shell::path(path)),
        })
    }
}

/// Reads the secret from the file at `path`, which must be private.
pub fn read(path: &Path) -> Result<Secret, SecretFileError> {
    let unreadable = |source| SecretFileError::Unreadable { path: path.to_owned(), source };
    let file = open_regular(path, OpenOptions::new().read(true)).map_err(|error| {
        match path.metadata().is_ok_and(|found| !found.is_file()) {
            true => SecretFileError::NotAFile(path.to_owned()),
            false => unreadable(error),
        }
    })?;
    let found = file.metadata().map_err(unreadable)?;
    if found.len() > MAX_SECRET {
        return Err(SecretFileError::NotAFile(path.to_owned()));
    }
    let mode = found.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SecretFileError::Open { path: path.to_owned(), mode });
    }
    let mut key = String::new();
    file.take(MAX_SECRET).read_to_string(&mut key).map_err(unreadable)?;
    Ok(Secret::new(key))
}
