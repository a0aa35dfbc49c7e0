//! Finds the branch of the repository that a folder is in, from its files: a hook has no time to start git.

use super::brief;
use std::path::{Path, PathBuf};
use sys::file;

/// Shown for an unknown branch.
pub const UNKNOWN: &str = "unknown";

/// How much of a file is read, in bytes: enough for a branch name and a path.
const MAX_READ: u64 = 4 << 10;

/// The most characters of a name.
const NAME: usize = 200;

/// How many digits of a commit are shown.
const COMMIT: usize = 12;

/// The branch of the repository, worktree or submodule that `folder` is in; `detached at <commit>` without a branch,
/// and [`UNKNOWN`] without a readable repository.
#[must_use]
pub fn of(folder: &Path) -> String {
    // Ancestors are only meaningful for an absolute path without symlinks.
    let real = folder.is_absolute().then(|| folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()));
    let mut above = real.iter().flat_map(|folder| folder.ancestors());
    above.find_map(head).and_then(|head| named(&head)).unwrap_or_else(|| UNKNOWN.to_owned())
}

/// The HEAD of the repository at `folder`; empty if unreadable, `None` if there is no repository here.
fn head(folder: &Path) -> Option<String> {
    let dot_git = folder.join(".git");
    let found = dot_git.metadata().ok()?;
    if found.is_dir() {
        // Without a HEAD it is not a repository, and does not hide one above.
        return text(&dot_git.join("HEAD"));
    }
    let git_folder = text(&dot_git).and_then(|text| pointed_to(folder, &text));
    Some(git_folder.and_then(|git_folder| text(&git_folder.join("HEAD"))).unwrap_or_default())
}

/// Resolves `gitdir: PATH` in `folder`.
fn pointed_to(folder: &Path, text: &str) -> Option<PathBuf> {
    let path = text.strip_prefix("gitdir:")?.trim();
    (!path.is_empty()).then(|| folder.join(path))
}

fn text(path: &Path) -> Option<String> {
    let bytes = file::read_first(path, MAX_READ).ok()??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The branch, or the commit, that `head` names.
fn named(head: &str) -> Option<String> {
    let head = head.trim();
    if let Some(reference) = head.strip_prefix("ref:") {
        let reference = reference.trim();
        let name = reference.strip_prefix("refs/heads/").or_else(|| reference.strip_prefix("refs/"));
        let name = brief::line(name.unwrap_or(reference), NAME);
        // Repositories with reftables have this placeholder.
        return (!name.is_empty() && name != ".invalid").then_some(name);
    }
    let is_commit = head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| format!("detached at {}", &head[..COMMIT]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_branch_is_that_of_the_nearest_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for (path, text) in [
            ("plain/.git/HEAD", "ref: refs/heads/feature/pan-30\n"),
            ("plain/deep/er/file", ""),
            ("detached/.git/HEAD", commit),
            ("empty/.git/HEAD", ""),
            ("tables/.git/HEAD", "ref: refs/heads/.invalid\n"),
            ("garbage/.git/HEAD", "\0\u{1}"),
            ("plain/worktree/.git", "gitdir: ../.git/worktrees/w\n"),
            ("plain/.git/worktrees/w/HEAD", "ref: refs/heads/w\n"),
            ("plain/gone/.git", "gitdir: /nowhere/at/all\n"),
            ("plain/nothing/.git", "gitdir:\n"),
            ("plain/none/.git/config", ""),
            ("plain/long/.git/HEAD", &format!("ref: refs/heads/{}", "x".repeat(5000))),
            ("plain/rebased/.git/HEAD", "ref: refs/bisect/a\u{1b}[1mb"),
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        fs::create_dir_all(root.join("pipe/.git")).unwrap();
        sys::fifo::make(&root.join("pipe/.git/HEAD")).unwrap();
        for (place, branch) in [
            ("plain", "feature/pan-30"),
            ("plain/deep/er", "feature/pan-30"),
            ("plain/is/not/there", "feature/pan-30"),
            ("plain/worktree/deep", "w"),
            ("plain/none", "feature/pan-30"),
            ("plain/gone", UNKNOWN),
            ("plain/nothing/deep", UNKNOWN),
            ("plain/long", &format!("{}…", "x".repeat(NAME - 1))),
            ("plain/rebased", "bisect/a [1mb"),
            ("detached", "detached at 0123456789ab"),
            ("empty", UNKNOWN),
            ("tables", UNKNOWN),
            ("garbage", UNKNOWN),
            ("pipe", UNKNOWN),
        ] {
            assert_eq!(of(&root.join(place)), branch, "{place}");
        }
        assert_eq!(of(Path::new("relative")), UNKNOWN);
        assert_eq!(of(Path::new("")), UNKNOWN);
    }
}
