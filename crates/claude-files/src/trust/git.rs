//! The git repository around a folder, as Claude Code sees it: its root, and for a linked worktree also the root of the
//! main worktree. Claude Code reads files in both (measured on 2.1.330).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Returns the nearest folder at or above `folder` with a `.git`; skips the folders in `without`, which have none.
pub(super) fn root<'a>(folder: &'a Path, without: &HashSet<PathBuf>) -> Option<&'a Path> {
    let mut folders = folder.ancestors().filter(|folder| !without.contains(*folder));
    folders.find(|folder| folder.join(".git").symlink_metadata().is_ok())
}

/// Returns the root of the main worktree if `root` is a linked one.
pub(super) fn main_root(root: &Path) -> Option<PathBuf> {
    let first = |path: PathBuf| {
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.lines().next()?.trim().to_owned())
    };
    let link = root.join(".git");
    if !link.metadata().is_ok_and(|found| found.is_file()) {
        return None;
    }
    let folder = root.join(first(link)?.strip_prefix("gitdir:")?.trim());
    let common = folder.join(first(folder.join("commondir"))?).canonicalize().ok()?;
    let main = common.parent()?.to_path_buf();
    (common.file_name()? == ".git" && main != root).then_some(main)
}
