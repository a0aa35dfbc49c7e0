//! Temporary folders, with a fallback location for systems without a writable one, such as a container with a
//! read-only root.

use std::io;
use std::path::Path;
use tempfile::{Builder, TempDir};

/// Creates an empty folder with mode 0700 and a name that starts with `prefix`. It is in the system's folder for
/// temporary files or, if that is not possible, in `otherwise`. It is deleted on drop.
pub fn folder(prefix: &str, otherwise: &Path) -> io::Result<TempDir> {
    folder_in(&std::env::temp_dir(), prefix, otherwise)
}

fn folder_in(usual: &Path, prefix: &str, otherwise: &Path) -> io::Result<TempDir> {
    let make = |place: &Path| Builder::new().prefix(prefix).tempdir_in(place);
    make(usual).or_else(|_| make(otherwise))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falls_back_to_the_other_folder() {
        let [usual, otherwise] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let folder = folder_in(usual.path(), "demo-", otherwise.path()).unwrap();
        assert_eq!(folder.path().parent(), Some(usual.path()));
        let folder = folder_in(&usual.path().join("none"), "demo-", otherwise.path()).unwrap();
        assert_eq!(folder.path().parent(), Some(otherwise.path()));
        assert!(folder_in(&usual.path().join("none"), "demo-", &otherwise.path().join("none")).is_err());
    }
}
