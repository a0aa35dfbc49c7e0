//! Paths and globs in a workspace.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::{Component, Path, PathBuf};
use sys::error::Failure;
use sys::failure;

/// Compiled paths and globs. One that matches a folder matches everything in it.
#[derive(Debug, Clone)]
pub struct Patterns {
    globs: GlobSet,
    /// The folders or files to begin at, relative to the workspace: the parts before any `*`.
    roots: Vec<PathBuf>,
}

impl Patterns {
    /// Compiles `patterns`, which are relative to the workspace.
    pub fn new(patterns: &[Box<str>]) -> Result<Self, Failure> {
        let (mut globs, mut roots) = (GlobSetBuilder::new(), Vec::new());
        for pattern in patterns {
            let plain = plain(pattern)?;
            let text = plain.to_string_lossy();
            let glob = GlobBuilder::new(&text).literal_separator(true).backslash_escape(true).build();
            let glob = glob.map_err(|_| {
                failure!("{pattern:?} is not a glob"; "close each [ and {{, as in \"src/**/*.{{rs,toml}}\"")
            })?;
            globs.add(glob);
            roots.push(root(&plain));
        }
        let globs = globs.build().map_err(|error| failure!("cannot use these globs").because(&error))?;
        roots.sort();
        roots.dedup();
        let nested: Vec<PathBuf> = roots.clone();
        roots.retain(|root| !nested.iter().any(|other| other != root && root.starts_with(other)));
        Ok(Self { globs, roots })
    }

    /// Where to begin to look, relative to the workspace. None is within another.
    #[must_use]
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Whether `relative` itself matches, apart from the folders that it is in.
    #[must_use]
    pub fn is_match(&self, relative: &Path) -> bool {
        self.globs.is_match(relative)
    }
}

/// The pattern without `.` and doubled slashes, if it stays in the workspace.
fn plain(pattern: &str) -> Result<PathBuf, Failure> {
    let wrong = |what: &str| failure!("{pattern:?} {what}"; "write a path or glob in the workspace, such as \"src/**/*.rs\"");
    if pattern.trim().is_empty() || pattern.chars().any(char::is_control) {
        return Err(wrong("is not a path"));
    }
    let mut plain = PathBuf::new();
    for component in Path::new(pattern).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => plain.push(part),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(wrong("leaves the workspace"));
            }
        }
    }
    // The workspace itself.
    Ok(if plain.as_os_str().is_empty() { PathBuf::from("**") } else { plain })
}

/// The components before the first that is a glob.
fn root(plain: &Path) -> PathBuf {
    let is_plain =
        |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{', '\\']);
    plain.components().take_while(is_plain).collect()
}
