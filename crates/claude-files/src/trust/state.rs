//! Whether a workspace's files are trusted in their current state.

use super::collect::{collect_below, is_bare};
use super::store::{Store, StoreError, Trusted};
use super::{Claude, ClaudeFile, CollectError, FileKind, collect};
use murmur_core::config::backend::Backend;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use sys::error::{Failure, Hinted};
use sys::paths::DataDir;
use sys::shell;

/// The state of a workspace's trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustState {
    /// The repository has no Claude files.
    Nothing,
    /// The files are unchanged since the user trusted them.
    Trusted,
    /// The files are not trusted, so agents start without them.
    Untrusted(WhyUntrusted),
}

/// Why files are not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyUntrusted {
    /// The user never trusted them.
    Never,
    /// They have changed since.
    Changed(Vec<Change>),
    /// It could not be determined.
    Unknown(Failure),
}

/// How a file has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added(String),
    /// It was removed.
    Removed(String),
    /// Its contents changed.
    Edited(String),
}

impl Change {
    /// A label for the change, and the file.
    #[must_use]
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Added(name) => ("new", name),
            Self::Removed(name) => ("removed", name),
            Self::Edited(name) => ("changed", name),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, name) = self.parts();
        write!(out, "{name} ({label})")
    }
}

impl TrustState {
    /// Checks `workspace`, an absolute path.
    #[must_use]
    pub fn check(store: &Result<Store, StoreError>, claude: &Claude, workspace: &Path) -> Self {
        let Ok(workspace) = workspace.canonicalize() else { return Self::Nothing };
        Self::of(store, &workspace, collect(&workspace, claude).as_deref())
    }

    /// Checks the collected files of `workspace`.
    #[must_use]
    pub fn of(
        store: &Result<Store, StoreError>,
        workspace: &Path,
        found: Result<&[ClaudeFile], &CollectError>,
    ) -> Self {
        let found = match found {
            Ok([]) => return Self::Nothing,
            Ok(found) => found,
            Err(error) => return Self::Untrusted(WhyUntrusted::Unknown(error.failure())),
        };
        match store.as_ref().map(|store| store.get(workspace)) {
            Ok(Some(trusted)) => match compare(trusted, found) {
                changes if changes.is_empty() => Self::Trusted,
                changes => Self::Untrusted(WhyUntrusted::Changed(changes)),
            },
            Ok(None) => Self::Untrusted(WhyUntrusted::Never),
            Err(error) => Self::Untrusted(WhyUntrusted::Unknown(error.failure())),
        }
    }

    /// Whether agents start without the files because they are not trusted.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Untrusted(_))
    }

    /// Whether the repository has files that agents must not get.
    #[must_use]
    pub fn hides_files(&self) -> bool {
        matches!(self, Self::Untrusted(_))
    }

    /// The warning for people about an agent of `backend`, with a hint; `None` unless it starts without files that it
    /// would follow.
    #[must_use]
    pub fn failure(&self, workspace: &Path, backend: &Backend) -> Option<Failure> {
        let Self::Untrusted(why) = self else { return None };
        if !backend.reads_claude_files() {
            return None;
        }
        let what = match why {
            WhyUntrusted::Never => String::new(),
            WhyUntrusted::Changed(changes) => match &changes[..] {
                [first, rest @ ..] if !rest.is_empty() => format!(": {first} and {} more", rest.len()),
                changes => changes.iter().map(|change| format!(": {change}")).collect(),
            },
            WhyUntrusted::Unknown(failure) => format!(": {failure}"),
        };
        let hint = format!("review and trust them: murmur trust {}", shell::path(workspace));
        Some(sys::failure!("repository settings not trusted{what}"; "{hint}"))
    }
}

/// The trust of many workspaces, each checked once.
#[derive(Debug)]
pub struct Workspaces {
    store: Result<Store, StoreError>,
    claude: Claude,
    seen: HashMap<PathBuf, TrustState>,
    /// The parent folders of workspaces, with their paths without links.
    parents: HashMap<PathBuf, Option<PathBuf>>,
    /// Folders above workspaces, and whether they and all their parents have no relevant files.
    upward: HashMap<PathBuf, bool>,
    /// Folders that have no relevant files themselves.
    bare: HashSet<PathBuf>,
}

impl Workspaces {
    /// For the user with this home folder and data folder.
    #[must_use]
    pub fn of(dir: &DataDir, home: &Path) -> Self {
        Self {
            store: Store::read(dir),
            claude: Claude::find(home),
            seen: HashMap::new(),
            parents: HashMap::new(),
            upward: HashMap::new(),
            bare: HashSet::new(),
        }
    }

    /// The warning that an agent of `backend` starts without the files of `workspace`, if it does.
    pub fn untrusted(&mut self, workspace: &Path, backend: &Backend) -> Option<Failure> {
        if !backend.reads_claude_files() {
            return None;
        }
        if !self.seen.contains_key(workspace) {
            let state = self.state_of(workspace);
            self.seen.insert(workspace.to_path_buf(), state);
        }
        self.seen[workspace].failure(workspace, backend)
    }

    fn state_of(&mut self, workspace: &Path) -> TrustState {
        // Most have none of the files: checking that first takes the fewest calls.
        let is_bare = workspace.file_name().is_some() && is_bare(workspace);
        let real = if is_bare { self.real(workspace) } else { self.without_links(workspace) };
        let Some(workspace) = real else { return TrustState::Nothing };
        if is_bare && workspace.parent().is_none_or(|above| self.is_bare_upward(above)) {
            return TrustState::Nothing;
        }
        let found = collect_below(&workspace, &self.claude, &self.bare);
        TrustState::of(&self.store, &workspace, found.as_deref())
    }

    /// Whether `folder` and all its parents have no relevant files. Checks each once.
    fn is_bare_upward(&mut self, folder: &Path) -> bool {
        if let Some(known) = self.upward.get(folder) {
            return *known;
        }
        let own = is_bare(folder);
        if own {
            self.bare.insert(folder.to_path_buf());
        }
        let above = folder.parent().is_none_or(|above| self.is_bare_upward(above));
        self.upward.insert(folder.to_path_buf(), own && above);
        own && above
    }

    /// The folder's path without links. Resolves each parent once.
    fn without_links(&mut self, folder: &Path) -> Option<PathBuf> {
        if folder.parent().is_none() || folder.file_name().is_none() {
            return folder.canonicalize().ok();
        }
        let is_folder = folder.symlink_metadata().ok()?.is_dir();
        if is_folder { self.real(folder) } else { folder.canonicalize().ok() }
    }

    /// The same for a folder that isn't a link itself.
    fn real(&mut self, folder: &Path) -> Option<PathBuf> {
        let (parent, name) = (folder.parent()?, folder.file_name()?);
        let parents = self.parents.entry(parent.to_path_buf());
        let parent = parents.or_insert_with(|| parent.canonicalize().ok()).as_ref()?;
        Some(parent.join(name))
    }
}

/// The hashes of the files that need trust.
pub(super) fn hashes(found: &[ClaudeFile]) -> BTreeMap<String, String> {
    let relevant = found.iter().filter(|file| file.kind != FileKind::Instructions);
    relevant.map(|file| (file.name.clone(), file.hash.clone())).collect()
}

/// Returns what has changed since the files were trusted. Instructions, which agents write themselves, may change.
#[must_use]
pub fn compare(trusted: &Trusted, found: &[ClaudeFile]) -> Vec<Change> {
    let now = hashes(found);
    let removed = trusted.files.keys().filter(|name| !now.contains_key(*name));
    let mut changes: Vec<Change> = removed.map(|name| Change::Removed(name.clone())).collect();
    for (name, hash) in &now {
        match trusted.files.get(name) {
            None => changes.push(Change::Added(name.clone())),
            Some(before) if before != hash => changes.push(Change::Edited(name.clone())),
            Some(_) => {}
        }
    }
    changes
}

impl Trusted {
    /// Trusts these files, since `at` (RFC 3339).
    #[must_use]
    pub fn now(found: &[ClaudeFile], at: String) -> Self {
        Self { trusted_at: at, files: hashes(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_path_without_links_is_the_canonical_one() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        std::fs::create_dir_all(at("real/site")).unwrap();
        symlink(at("real"), at("linked")).unwrap();
        symlink(at("real/site"), at("real/other")).unwrap();
        let dir = DataDir::find(Some(top.path()), None, None).unwrap();
        let mut workspaces = Workspaces::of(&dir, top.path());
        for path in ["real/site", "linked/site", "linked/other", "real/..", "real/gone", "gone/site"] {
            assert_eq!(workspaces.without_links(&at(path)), at(path).canonicalize().ok(), "{path}");
        }
        assert_eq!(workspaces.without_links(Path::new("/")), Some("/".into()));
    }
}
