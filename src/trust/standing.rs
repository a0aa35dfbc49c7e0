//! Whether a workspace's files are trusted as they are now.

use super::collect::{collect_below, is_bare};
use super::store::{Store, StoreError, Trusted};
use super::{Claude, CollectError, Found, Kind, collect};
use crate::error::{Failure, Hinted};
use crate::sys::paths::DataDir;
use crate::sys::shell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// How it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// There are no such files.
    Nothing,
    /// They are what the user said they trust.
    Trusted,
    /// They are not trusted, so they are left out.
    Untrusted(Why),
}

/// Why files are not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Nobody said so.
    Never,
    /// They are others since.
    Changed(Vec<Change>),
    /// Unknown.
    Unknown(Failure),
}

/// What became of a file since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It was not there.
    Added(String),
    /// It is not there any more.
    Removed(String),
    /// Something else is in it.
    Edited(String),
}

impl Change {
    /// The word for it, and the file.
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
        let (word, name) = self.parts();
        write!(out, "{name} ({word})")
    }
}

impl Standing {
    /// How `workspace`, an absolute path, is now.
    #[must_use]
    pub fn look(store: &Result<Store, StoreError>, claude: &Claude, workspace: &Path) -> Self {
        let Ok(workspace) = workspace.canonicalize() else { return Self::Nothing };
        Self::of(store, &workspace, collect(&workspace, claude).as_deref())
    }

    /// The same of the files that were found in it.
    #[must_use]
    pub fn of(
        store: &Result<Store, StoreError>,
        workspace: &Path,
        found: Result<&[Found], &CollectError>,
    ) -> Self {
        let found = match found {
            Ok([]) => return Self::Nothing,
            Ok(found) => found,
            Err(error) => return Self::Untrusted(Why::Unknown(error.failure())),
        };
        match store.as_ref().map(|store| store.get(workspace)) {
            Ok(Some(trusted)) => match compare(trusted, found) {
                changes if changes.is_empty() => Self::Trusted,
                changes => Self::Untrusted(Why::Changed(changes)),
            },
            Ok(None) => Self::Untrusted(Why::Never),
            Err(error) => Self::Untrusted(Why::Unknown(error.failure())),
        }
    }

    /// Whether files are left out because they are not trusted.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Untrusted(_))
    }

    /// What is said of it, with what to do; nothing where nothing is left out.
    #[must_use]
    pub fn failure(&self, workspace: &Path) -> Option<Failure> {
        let Self::Untrusted(why) = self else { return None };
        let what = match why {
            Why::Never => String::new(),
            Why::Changed(changes) => match &changes[..] {
                [first, rest @ ..] if !rest.is_empty() => format!(": {first} and {} more", rest.len()),
                changes => changes.iter().map(|change| format!(": {change}")).collect(),
            },
            Why::Unknown(failure) => format!(": {failure}"),
        };
        let hint = format!("see and accept what they do: murmur trust {}", shell::path(workspace));
        Some(crate::failure!("repository settings not trusted{what}"; "{hint}"))
    }
}

/// What is said of workspaces, each looked at once.
#[derive(Debug)]
pub struct Workspaces {
    store: Result<Store, StoreError>,
    claude: Claude,
    seen: HashMap<PathBuf, Option<Failure>>,
    /// Folders in which and above which workspaces are, and where they are without links.
    parents: HashMap<PathBuf, Option<PathBuf>>,
    /// Folders above workspaces, and whether they and all above them have nothing that counts.
    upward: HashMap<PathBuf, bool>,
    /// Those that have nothing themselves.
    bare: HashSet<PathBuf>,
}

impl Workspaces {
    /// For the user whose home folder and data folder these are.
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

    /// That the files of `workspace` are not trusted, with what to do; `None` where nothing is left out.
    pub fn untrusted(&mut self, workspace: &Path) -> Option<Failure> {
        if let Some(known) = self.seen.get(workspace) {
            return known.clone();
        }
        let said = self.standing(workspace).failure(workspace);
        self.seen.insert(workspace.to_path_buf(), said.clone());
        said
    }

    fn standing(&mut self, workspace: &Path) -> Standing {
        let Some(workspace) = self.without_links(workspace) else { return Standing::Nothing };
        let above = workspace.parent().is_none_or(|above| self.is_bare_upward(above));
        if above && is_bare(&workspace) {
            return Standing::Nothing;
        }
        let found = collect_below(&workspace, &self.claude, &self.bare);
        Standing::of(&self.store, &workspace, found.as_deref())
    }

    /// Whether nothing that counts is in `folder` and in those above it, each looked at once.
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

    /// The path of a folder without links; that of many folders in one folder costs a look at each.
    fn without_links(&mut self, folder: &Path) -> Option<PathBuf> {
        let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
            return folder.canonicalize().ok();
        };
        if !folder.symlink_metadata().ok()?.is_dir() {
            return folder.canonicalize().ok();
        }
        let parents = self.parents.entry(parent.to_path_buf());
        let parent = parents.or_insert_with(|| parent.canonicalize().ok()).as_ref()?;
        Some(parent.join(name))
    }
}

/// The hashes of the files that count.
pub(super) fn hashes(found: &[Found]) -> BTreeMap<String, String> {
    let counting = found.iter().filter(|file| file.kind != Kind::Instructions);
    counting.map(|file| (file.name.clone(), file.hash.clone())).collect()
}

/// What is not as it was when it was trusted. Instructions, which agents write themselves, may be.
#[must_use]
pub fn compare(trusted: &Trusted, found: &[Found]) -> Vec<Change> {
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
    /// These files, from `at` on (RFC 3339).
    #[must_use]
    pub fn now(found: &[Found], at: String) -> Self {
        Self { trusted_at: at, files: hashes(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_path_without_links_is_what_the_system_says() {
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
