//! Collects the files of a repository that Claude Code runs or obeys, where Claude Code looks for them (measured on
//! 2.1.197 and 2.1.330): all kinds in the workspace and above it up to the root of the git repository, or of the file
//! system without one; `.mcp.json` and instructions in every folder above. The user's own `.claude` is not part of it.

use super::{Claude, git, named};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::{file, shell};

/// Limits on the collected files.
const MAX_FILES: usize = 4000;
const MAX_BYTES: u64 = 32 << 20;
const MAX_DEPTH: usize = 16;
/// Maximum size of a program that is only hashed, in bytes.
const MAX_PROGRAM: u64 = 512 << 20;

/// Entries of `.claude` that Claude Code writes itself, and neither runs nor obeys.
const DATA: [&str; 3] = ["plans", "todos", "worktrees"];
/// Entries of `.claude` that are only text for the model.
const INSTRUCTIONS: [&str; 4] = ["CLAUDE.md", "agent-memory", "agent-memory-local", "rules"];

/// What Claude Code does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Runs or obeys it.
    Configuration,
    /// Runs it if a configuration says so: a program or script of the repository.
    Named,
    /// Shows it to the model.
    Instructions,
}

/// A collected file.
#[derive(Debug)]
pub struct ClaudeFile {
    /// Its path in the workspace; absolute if it is outside.
    pub name: String,
    /// What Claude Code does with it.
    pub kind: FileKind,
    /// The hash of its contents.
    pub hash: String,
    /// Its contents; empty if it is [`FileKind::Named`].
    pub bytes: Vec<u8>,
}

impl ClaudeFile {
    /// Whether it is the file at `path`, as collected for `workspace`.
    pub(super) fn is_at(&self, path: &Path, workspace: &Path) -> bool {
        path.strip_prefix(workspace).unwrap_or(path) == Path::new(&self.name)
    }
}

/// Why the files could not be collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A file or folder is not readable.
    #[error("cannot read {}", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There are too many files, or they are too large.
    #[error("{} exceeds a limit: {MAX_FILES} files, {} MiB or {MAX_DEPTH} levels of folders", .path.display(), MAX_BYTES >> 20)]
    TooMuch {
        /// The folder or file that exceeds a limit.
        path: PathBuf,
    },
    /// A name is not UTF-8.
    #[error("{} is not UTF-8", .path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
    },
}

impl Hinted for CollectError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unreadable { path, .. } => format!("check its owner and mode: ls -l {}", shell::path(path)),
            Self::TooMuch { .. } => "move files that are not configuration out of that folder".to_owned(),
            Self::NotUtf8 { .. } => "rename it".to_owned(),
        })
    }
}

/// Collects the files in and above `workspace`, an absolute path without links, sorted by name.
///
/// # Errors
/// If a file might have been missed. Callers trust none of them.
pub fn collect(workspace: &Path, claude: &Claude) -> Result<Vec<ClaudeFile>, CollectError> {
    collect_below(workspace, claude, &HashSet::new())
}

/// Like [`collect`], given that the folders of `bare` have none of the files and are not the root of a repository.
pub(super) fn collect_below(
    workspace: &Path,
    claude: &Claude,
    bare: &HashSet<PathBuf>,
) -> Result<Vec<ClaudeFile>, CollectError> {
    let mut found = Files { workspace, left: MAX_BYTES, files: BTreeMap::new() };
    let root = git::root(workspace, bare);
    let own = OnceCell::new();
    let is_own = |folder: &Path| {
        let own = own.get_or_init(|| claude.folder.canonicalize().ok());
        own.is_some() && folder.canonicalize().ok() == *own
    };
    for (depth, folder) in workspace.ancestors().enumerate().filter(|(_, folder)| !bare.contains(*folder)) {
        let is_within = root.is_none_or(|root| folder.starts_with(root));
        found.add(&folder.join(".mcp.json"), FileKind::Configuration)?;
        for name in ["CLAUDE.md", "CLAUDE.local.md"] {
            found.add(&folder.join(name), FileKind::Instructions)?;
        }
        let settings = folder.join(".claude");
        if settings.symlink_metadata().is_ok() && !is_own(&settings) {
            found.add_claude(&settings, is_within || depth == 0)?;
        }
    }
    if let Some(main) = root.and_then(git::main_root)
        && !workspace.starts_with(&main)
        && !is_own(&main.join(".claude"))
    {
        found.add_claude(&main.join(".claude"), true)?;
    }
    for path in named::by(workspace, found.files.values()) {
        found.add_named(&path)?;
    }
    Ok(found.files.into_values().collect())
}

/// Whether a folder has none of the files and is not the root of a repository. False for a link.
pub(super) fn is_bare(folder: &Path) -> bool {
    // Looking up names needs no permission to list them.
    #[cfg(target_os = "linux")]
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let Ok(folder) = rustix::fs::open(folder, flags, Mode::empty()) else { return false };
    let is_missing = |name: &str| {
        matches!(rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
    };
    [".git", ".mcp.json", "CLAUDE.md", "CLAUDE.local.md", ".claude"].into_iter().all(is_missing)
}

struct Files<'a> {
    workspace: &'a Path,
    left: u64,
    files: BTreeMap<String, ClaudeFile>,
}

impl Files<'_> {
    /// Adds the files of a `.claude` folder: all of them, or only text for the model.
    fn add_claude(&mut self, folder: &Path, all: bool) -> Result<(), CollectError> {
        for entry in entries(folder)? {
            let name = entry.file_name();
            let name = name.and_then(|name| name.to_str()).unwrap_or_default();
            if INSTRUCTIONS.contains(&name) {
                self.walk(&entry, FileKind::Instructions, MAX_DEPTH)?;
            } else if all && !DATA.contains(&name) {
                self.walk(&entry, FileKind::Configuration, MAX_DEPTH)?;
            }
        }
        Ok(())
    }

    fn walk(&mut self, path: &Path, kind: FileKind, depth: usize) -> Result<(), CollectError> {
        if !path.is_dir() {
            return self.add(path, kind);
        }
        let Some(depth) = depth.checked_sub(1) else {
            return Err(CollectError::TooMuch { path: path.to_path_buf() });
        };
        entries(path)?.iter().try_for_each(|entry| self.walk(entry, kind, depth))
    }

    fn add(&mut self, path: &Path, kind: FileKind) -> Result<(), CollectError> {
        let too_much = || CollectError::TooMuch { path: path.to_path_buf() };
        let bytes = match file::read_short(path, self.left) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(()),
            // A parent is a file.
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(()),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => return Err(too_much()),
            Err(source) => return Err(CollectError::Unreadable { path: path.to_path_buf(), source }),
        };
        self.left -= bytes.len() as u64;
        let mut hasher = Sha256::new();
        hasher.update(&bytes);
        self.insert(path, kind, hasher, bytes)
    }

    /// Adds a program, which may be large and is only hashed.
    fn add_named(&mut self, path: &Path) -> Result<(), CollectError> {
        let unreadable = |source| CollectError::Unreadable { path: path.to_path_buf(), source };
        let mut file = file::open_regular(path, OpenOptions::new().read(true)).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.len() > MAX_PROGRAM {
            return Err(CollectError::TooMuch { path: path.to_path_buf() });
        }
        let (mut hasher, mut part) = (Sha256::new(), vec![0; 64 << 10]);
        loop {
            match file.read(&mut part).map_err(unreadable)? {
                0 => break,
                count => hasher.update(part.get(..count).unwrap_or_default()),
            }
        }
        self.insert(path, FileKind::Named, hasher, Vec::new())
    }

    fn insert(
        &mut self,
        path: &Path,
        kind: FileKind,
        hasher: Sha256,
        bytes: Vec<u8>,
    ) -> Result<(), CollectError> {
        let name = path.strip_prefix(self.workspace).unwrap_or(path);
        let name = name.to_str().ok_or_else(|| CollectError::NotUtf8 { path: path.to_path_buf() })?;
        let mut hash = "sha256:".to_owned();
        for byte in hasher.finalize() {
            let _never_fails = write!(hash, "{byte:02x}");
        }
        self.files.entry(name.to_owned()).or_insert(ClaudeFile { name: name.to_owned(), kind, hash, bytes });
        if self.files.len() > MAX_FILES {
            return Err(CollectError::TooMuch { path: path.to_path_buf() });
        }
        Ok(())
    }
}

/// The entries of a folder, sorted; none if it doesn't exist.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, CollectError> {
    let unreadable = |source| CollectError::Unreadable { path: folder.to_path_buf(), source };
    let read = match std::fs::read_dir(folder) {
        Ok(read) => read,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(unreadable(error)),
    };
    let mut paths = Vec::new();
    for entry in read {
        paths.push(entry.map_err(unreadable)?.path());
        if paths.len() > MAX_FILES {
            return Err(CollectError::TooMuch { path: folder.to_path_buf() });
        }
    }
    paths.sort_unstable();
    Ok(paths)
}
