//! The git repository around a folder, as far as Claude Code looks at it: its root, and of a linked worktree that of the
//! main one. Measured on 2.1.330: both have files that count.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The nearest folder at or above `folder` with a `.git`, which those of `without` are known not to have.
pub(super) fn root<'a>(folder: &'a Path, without: &HashSet<PathBuf>) -> Option<&'a Path> {
    let mut folders = folder.ancestors().filter(|folder| !without.contains(*folder));
    folders.find(|folder| folder.join(".git").symlink_metadata().is_ok())
}

/// The root of the main worktree, where `root` is that of a linked one.
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
