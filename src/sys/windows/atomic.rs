//! Folders of the user's own.

use std::io;
use std::path::Path;

/// Makes `path` and what is missing above it. Who may enter is inherited: in the user's profile, where the state root
/// is, that is the user, the system and its administrators.
///
/// # Errors
/// What the system says, for example that a file stands in the way.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).create(path)
}
