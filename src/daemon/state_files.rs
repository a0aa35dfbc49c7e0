//! The state files of the data folder that murmur can't read. murmur continues without them, so the status reports
//! them.

use super::{approved, last_runs, pauses};
use murmur_claude_files::trust::Store;
use murmur_gate::seen;
use murmur_store::{failures, limits};
use notify::state::State;
use serde::de::DeserializeOwned;
use std::path::Path;
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::paths::DataDir;
use sys::versioned::{self, ReadError};

/// What is wrong with each of them, and the next step.
#[must_use]
pub fn problems(dir: &DataDir) -> Vec<Failure> {
    [
        pauses::problem(dir),
        limits::read(dir).err(),
        failures::read(dir).err(),
        approved::problem(dir),
        Store::read(dir).err().map(|error| error.failure()),
        last_runs::problem(dir),
        State::read(&dir.notify()).err(),
    ]
    .into_iter()
    .flatten()
    .chain(seen::problems(dir))
    .collect()
}

/// What is wrong with the file at `path`, whose contents are a `T`, and what follows from that.
pub(super) fn problem<T: DeserializeOwned>(path: &Path, then: &str, hint: &str) -> Option<Failure> {
    match versioned::read::<T>(path).err()? {
        ReadError::Io(error) => Some(failure!("cannot read {}", path.display()).because(&error)),
        ReadError::Foreign => {
            Some(failure!("{} has an unknown format or version, so {then}", path.display(); "{hint}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::atomic;

    #[test]
    fn every_broken_file_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        assert!(problems(&dir).is_empty());
        let files = [
            dir.paused(),
            dir.limits(),
            dir.failures(),
            dir.approved(),
            dir.trust(),
            dir.last_runs(),
            dir.notify(),
            dir.gates(folder.path(), None),
        ];
        for broken in [&b"{\"version\":1,"[..], b"{\"version\":99}"] {
            files.iter().for_each(|file| atomic::write(file, broken).unwrap());
            let found = problems(&dir);
            assert_eq!(found.len(), files.len(), "{found:?}");
            for (failure, file) in found.iter().zip(&files) {
                assert!(failure.to_string().contains(&file.display().to_string()), "{failure}");
                assert!(failure.to_do().is_some(), "{failure}");
            }
        }
    }
}
