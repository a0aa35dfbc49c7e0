//! Private folders.

use std::io;
use std::path::Path;

/// Creates `path` and its missing parents. Permissions are inherited: in the user's profile, which contains the
/// state root, only the user, the system and its administrators have access.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).create(path)
}
