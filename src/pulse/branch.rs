//! The branch of the repository that a folder is in, read from its files: a hook has no time to start git.

use super::brief;
use std::path::{Path, PathBuf};
use sys::file;

/// What stands for a branch that nobody can tell.
pub const UNKNOWN: &str = "unknown";

/// The most that is read of a file, in bytes: a branch's name and a path have room in it.
const MOST: u64 = 4 << 10;

/// The most characters of a name.
const NAME: usize = 200;

/// How many of a commit's letters are shown.
const COMMIT: usize = 12;

/// The branch of the repository that `folder` is in, of a worktree's or submodule's own; `detached at <commit>` where it is
/// on none, and [`UNKNOWN`] where there is no repository or it cannot be read.
#[must_use]
pub fn of(folder: &Path) -> String {
    // Where the folders above are is only known of an absolute path, and of one without links in it.
    let real = folder.is_absolute().then(|| folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()));
    let mut above = real.iter().flat_map(|folder| folder.ancestors());
    above.find_map(head).and_then(|head| named(&head)).unwrap_or_else(|| UNKNOWN.to_owned())
}

/// What the HEAD of the repository at `folder` says; empty if that cannot be read, `None` if there is no repository here.
fn head(folder: &Path) -> Option<String> {
    let dot_git = folder.join(".git");
    let found = dot_git.metadata().ok()?;
    if found.is_dir() {
        // One without a HEAD is no repository, and hides none above it.
        return text(&dot_git.join("HEAD"));
    }
    let git_folder = text(&dot_git).and_then(|text| pointed_to(folder, &text));
    Some(git_folder.and_then(|git_folder| text(&git_folder.join("HEAD"))).unwrap_or_default())
}

/// What `gitdir: PATH` leads to, seen from `folder`.
fn pointed_to(folder: &Path, text: &str) -> Option<PathBuf> {
    let path = text.strip_prefix("gitdir:")?.trim();
    (!path.is_empty()).then(|| folder.join(path))
}

fn text(path: &Path) -> Option<String> {
    let bytes = file::read_first(path, MOST).ok()??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The branch, or the commit, that `head` names.
fn named(head: &str) -> Option<String> {
    let head = head.trim();
    if let Some(reference) = head.strip_prefix("ref:") {
        let reference = reference.trim();
        let name = reference.strip_prefix("refs/heads/").or_else(|| reference.strip_prefix("refs/"));
        let name = brief::line(name.unwrap_or(reference), NAME);
        // A repository whose references are in tables says so by a name that no branch can have.
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
    fn a_branch_is_told_by_the_nearest_repository() {
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
            ("plain/long", &"x".repeat(NAME)),
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
