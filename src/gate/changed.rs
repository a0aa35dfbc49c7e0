//! `{changed: [paths or globs]}`: whether files in the workspace were added, modified or removed.
//!
//! Compares sizes and times, not contents. Follows no links, and looks into no `.git`.

use super::apart::{self, Cancel};
use super::seen::GateMemory;
use super::{GateAnswer, GateContext, Problem};
use murmur_core::config::gate::Patterns;
use murmur_core::config::interval::Interval;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::error::Failure;
use sys::failure;

/// The most files to compare.
const MOST_FILES: usize = 50_000;

/// The most changes to name to the agent.
const MOST_NAMED: usize = 200;

/// Files by their path in the workspace, each with what tells two versions apart.
type Files = BTreeMap<String, String>;

pub(super) async fn ask(
    paths: &[Box<str>],
    name: &str,
    context: &GateContext<'_>,
    limit: Interval,
    seen: &GateMemory,
    now: &mut GateMemory,
) -> Result<GateAnswer, Problem> {
    let (patterns, workspace) = (Patterns::new(paths)?, context.workspace.to_path_buf());
    let files = apart::run(context, limit, move |cancel| look(&workspace, &patterns, cancel)).await??;
    let before = seen.files.get(name);
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

/// One line for each difference.
fn changes(before: &Files, now: &Files) -> String {
    let modified = now.iter().filter_map(|(path, stamp)| match before.get(path) {
        None => Some(("added", path)),
        Some(known) => (known != stamp).then_some(("modified", path)),
    });
    let removed = before.keys().filter(|path| !now.contains_key(*path)).map(|path| ("removed", path));
    let all: Vec<_> = modified.chain(removed).collect();
    let mut lines: Vec<String> = all
        .iter()
        .take(MOST_NAMED)
        .map(|(what, path)| format!("{what} {}", sys::error::one_line(path)))
        .collect();
    if all.len() > MOST_NAMED {
        lines.push(format!("and {} more", all.len() - MOST_NAMED));
    }
    lines.join("\n")
}

/// All files that match.
fn look(workspace: &Path, patterns: &Patterns, cancel: &Cancel) -> Result<Files, Failure> {
    let mut walk = Walk { workspace, patterns, cancel, files: Files::new() };
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
                    self.files.insert(relative.to_string_lossy().into_owned(), stamp(&found));
                }
                if self.files.len() > MOST_FILES {
                    return Err(failure!("matches more than {MOST_FILES} files"; "name fewer"));
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

/// What tells two versions of a file apart.
fn stamp(found: &Metadata) -> String {
    format!("{:o} {} {}.{:09}", found.mode(), found.size(), found.mtime(), found.mtime_nsec())
}
