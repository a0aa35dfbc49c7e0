//! `{changed: [paths or globs]}`: whether files in the workspace were added, modified or removed.
//!
//! A file whose size or time differs is compared by a hash of its contents, unless it is large. Follows no links, and
//! looks into no `.git`.

use super::blocking::{self, Cancel};
use super::seen::{Files, GateMemory};
use super::{GateAnswer, GateContext, Problem};
use murmur_core::config::gate::Patterns;
use murmur_core::config::interval::Interval;
use sha2::{Digest, Sha256};
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::error::Failure;
use sys::{failure, file};

/// The most files to compare.
const MAX_FILES: usize = 50_000;

/// The most changes to name to the agent.
const MAX_NAMED: usize = 200;

/// The largest file whose contents are compared, in bytes.
const MAX_HASHED: u64 = 8 << 20;

/// How many bytes of contents are read at most.
const MAX_READ: u64 = 128 << 20;

/// How many bytes of a hash are kept.
const HASH: usize = 16;

pub(super) async fn ask(
    paths: &[Box<str>],
    name: &str,
    context: &GateContext<'_>,
    limit: Interval,
    seen: &GateMemory,
    now: &mut GateMemory,
) -> Result<GateAnswer, Problem> {
    let before = seen.files.get(name);
    let files = see(paths, context, limit, before).await?;
    let text = before.map(|before| changes(before, &files));
    let is_empty = files.is_empty();
    now.files.insert(name.to_owned(), files);
    Ok(match text {
        Some(text) if text.is_empty() && is_empty => {
            GateAnswer::Skip(format!("no file matches {}", paths.join(", ")))
        }
        Some(text) if text.is_empty() => GateAnswer::Skip(format!("nothing changed in {}", paths.join(", "))),
        text => GateAnswer::Pass(text.unwrap_or_default()),
    })
}

/// All files that match, with the hashes of those in `known` that have not been touched since.
pub(super) async fn see(
    paths: &[Box<str>],
    context: &GateContext<'_>,
    limit: Interval,
    known: Option<&Files>,
) -> Result<Files, Problem> {
    let (patterns, workspace) = (Patterns::new(paths)?, context.workspace.to_path_buf());
    let known = known.cloned().unwrap_or_default();
    Ok(blocking::run(context, limit, move |cancel| look(&workspace, &patterns, known, cancel)).await??)
}

/// One line for each difference.
pub(super) fn changes(before: &Files, now: &Files) -> String {
    let all = differences(before, now);
    let mut lines: Vec<String> = all
        .iter()
        .take(MAX_NAMED)
        .map(|(what, path)| format!("{what} {}", sys::error::one_line(path)))
        .collect();
    if all.len() > MAX_NAMED {
        lines.push(format!("and {} more", all.len() - MAX_NAMED));
    }
    lines.join("\n")
}

/// The files that differ, and how.
pub(super) fn differences<'a>(before: &'a Files, now: &'a Files) -> Vec<(&'static str, &'a String)> {
    let modified = now.iter().filter_map(|(path, stamp)| match before.get(path) {
        None => Some(("added", path)),
        Some(known) => (!is_same(known, stamp)).then_some(("modified", path)),
    });
    let removed = before.keys().filter(|path| !now.contains_key(*path)).map(|path| ("removed", path));
    modified.chain(removed).collect()
}

fn look(workspace: &Path, patterns: &Patterns, known: Files, cancel: &Cancel) -> Result<Files, Failure> {
    let mut walk = Walk { workspace, patterns, cancel, known, left: MAX_READ, files: Files::new() };
    for root in patterns.roots() {
        let is_within = root.ancestors().any(|folder| patterns.is_match(folder));
        walk.visit(root.clone(), is_within)?;
    }
    Ok(walk.files)
}

struct Walk<'a> {
    workspace: &'a Path,
    patterns: &'a Patterns,
    cancel: &'a Cancel,
    known: Files,
    /// How many more bytes may be read.
    left: u64,
    files: Files,
}

impl Walk<'_> {
    /// Adds the file or folder at `relative`; `is_within` a folder that matches.
    fn visit(&mut self, relative: PathBuf, is_within: bool) -> Result<(), Failure> {
        let mut waiting = vec![(relative, is_within)];
        while let Some((relative, is_within)) = waiting.pop() {
            if self.cancel.is_set() {
                return Ok(());
            }
            let path = self.workspace.join(&relative);
            let Some(found) = if_there(path.symlink_metadata(), &path)? else { continue };
            let matches = is_within || self.patterns.is_match(&relative);
            if !found.is_dir() {
                if matches {
                    let name = relative.to_string_lossy().into_owned();
                    let stamp = self.stamp(&name, &path, &found);
                    self.files.insert(name, stamp);
                }
                if self.files.len() > MAX_FILES {
                    return Err(
                        failure!("matches more than {MAX_FILES} files"; "use a narrower path or glob in \"changed\""),
                    );
                }
                continue;
            }
            let Some(entries) = if_there(fs::read_dir(&path), &path)? else { continue };
            for entry in entries {
                let Some(entry) = if_there(entry, &path)? else { continue };
                if entry.file_name() != ".git" {
                    waiting.push((relative.join(entry.file_name()), matches));
                }
            }
        }
        Ok(())
    }

    /// Distinguishes two versions of a file: mode, size, time and, if it isn't large, a hash.
    fn stamp(&mut self, name: &str, path: &Path, found: &Metadata) -> String {
        let touched =
            format!("{:o} {} {}.{:09}", found.mode(), found.size(), found.mtime(), found.mtime_nsec());
        match self.known.remove(name) {
            Some(known) if known.strip_prefix(&touched).is_some_and(|rest| rest.starts_with(' ')) => known,
            _ => match self.hash(path, found) {
                Some(hash) => format!("{touched} {hash}"),
                None => touched,
            },
        }
    }

    /// `None` if only size and time are compared.
    fn hash(&mut self, path: &Path, found: &Metadata) -> Option<String> {
        let mut contents = Vec::new();
        if found.is_symlink() {
            contents.extend_from_slice(fs::read_link(path).ok()?.as_os_str().as_bytes());
        } else if found.is_file() && found.size() <= MAX_HASHED.min(self.left) {
            let opened = file::open_regular(path, fs::OpenOptions::new().read(true)).ok()?;
            let read = opened.take(MAX_HASHED + 1).read_to_end(&mut contents).ok()?;
            self.left = self.left.saturating_sub(u64::try_from(read).ok()?);
            if contents.len() as u64 != found.size() {
                return None;
            }
        } else {
            return None;
        }
        Some(Sha256::digest(&contents)[..HASH].iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Whether two versions of a file are the same. Without a hash, a later time means that they may differ.
fn is_same(before: &str, now: &str) -> bool {
    let parts = |stamp: &str| stamp.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (before, now) = (parts(before), parts(now));
    if before.iter().zip(&now).take(3).all(|(before, now)| before == now) {
        return true;
    }
    before.first() == now.first() && before.len() == 4 && before.get(3) == now.get(3)
}

/// `None` if it doesn't exist, or no longer.
fn if_there<T>(result: io::Result<T>, path: &Path) -> Result<Option<T>, Failure> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(failure!("cannot read {}", path.display()).because(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn only_other_contents_or_modes_count() {
        for (before, now, expected) in [
            ("100644 1 5.0 aa", "100644 1 5.0 aa", true),
            ("100644 1 5.0 aa", "100644 1 6.0 aa", true),
            ("100644 1 5.0 aa", "100644 1 6.0 bb", false),
            ("100644 1 5.0 aa", "100755 1 5.0 aa", false),
            // A large file, or one that an earlier version saw.
            ("100644 1 5.0", "100644 1 5.0", true),
            ("100644 1 5.0", "100644 1 5.0 aa", true),
            ("100644 1 5.0 aa", "100644 1 5.0", true),
            ("100644 1 5.0", "100644 1 6.0", false),
            ("100644 1 5.0", "100644 1 6.0 aa", false),
            ("100644 1 5.0 aa", "100644 1 6.0", false),
        ] {
            assert_eq!(is_same(before, now), expected, "{before} {now}");
        }
    }
}
