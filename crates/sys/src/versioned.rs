//! Small JSON files with a version, such as `{"version":1,…}`, which several processes replace under a lock.

use crate::unreadable::unreadable;
use crate::{atomic, file};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// The version that this program writes, and the only one it reads.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Contents<T> {
    version: u32,
    #[serde(flatten)]
    value: T,
}

/// Why a file is not usable.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It has other contents or another version.
    #[error("it has another format or version")]
    Foreign,
}

/// Reads the file; `None` if it doesn't exist.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ReadError> {
    let Some(bytes) = file::read_regular(path)? else { return Ok(None) };
    parse(&bytes).map(Some).ok_or(ReadError::Foreign)
}

/// Reads the file to change it; a missing one, and one with other contents or another version, is empty.
pub fn read_known<T: DeserializeOwned + Default>(path: &Path) -> io::Result<T> {
    match read(path) {
        Ok(value) => Ok(value.unwrap_or_default()),
        Err(ReadError::Foreign) => Ok(T::default()),
        Err(ReadError::Io(error)) => Err(unreadable(path, error)),
    }
}

/// Parses a file's contents.
#[must_use]
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let contents = serde_json::from_slice::<Contents<T>>(bytes).ok()?;
    (contents.version == VERSION).then_some(contents.value)
}

/// Replaces the file. Hold its lock since it was read.
pub fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(&Contents { version: VERSION, value })?;
    bytes.push(b'\n');
    atomic::write(path, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Counts {
        counts: BTreeMap<String, u64>,
    }

    #[test]
    fn what_is_written_is_read_and_everything_else_is_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts.json");
        assert_eq!(read::<Counts>(&path).unwrap(), None);
        let counts = Counts { counts: BTreeMap::from([("a".to_owned(), u64::MAX)]) };
        write(&path, &counts).unwrap();
        assert_eq!(read(&path).unwrap(), Some(counts));
        for foreign in ["", "{}", "{\"version\":2,\"counts\":{}}", "{\"version\":1}", "[]"] {
            std::fs::write(&path, foreign).unwrap();
            assert!(matches!(read::<Counts>(&path), Err(ReadError::Foreign)), "{foreign}");
        }
        assert!(matches!(read::<Counts>(folder.path()), Err(ReadError::Io(_))));
    }
}
