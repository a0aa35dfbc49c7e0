//! Folders for a while: where the system has them, or elsewhere where it has none, as in a container with a root that
//! nobody can write to.

use std::io;
use std::path::Path;
use tempfile::{Builder, TempDir};

/// Makes an empty folder, mode 0700, whose name begins with `prefix`. It lies where the system keeps such folders, and in
/// `otherwise` where that is not possible. It is removed when the value drops.
///
/// # Errors
/// What the system says of `otherwise`.
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
    fn it_lies_where_it_can() {
        let [usual, otherwise] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let folder = folder_in(usual.path(), "demo-", otherwise.path()).unwrap();
        assert_eq!(folder.path().parent(), Some(usual.path()));
        let folder = folder_in(&usual.path().join("none"), "demo-", otherwise.path()).unwrap();
        assert_eq!(folder.path().parent(), Some(otherwise.path()));
        assert!(folder_in(&usual.path().join("none"), "demo-", &otherwise.path().join("none")).is_err());
    }
}
