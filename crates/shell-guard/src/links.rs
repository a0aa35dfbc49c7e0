//! Symbolic links on disk. Each path is resolved only once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Reads a symbolic link. Returns `None` if the path isn't a link or doesn't exist.
pub type LinkReader = fn(&Path) -> Option<PathBuf>;

/// Linux follows at most 40 links in one path.
const MAX_LINKS: u32 = 40;

/// Resolves symbolic links and caches the results.
#[derive(Debug)]
pub(super) struct Links {
    read: LinkReader,
    known: RefCell<HashMap<String, Option<String>>>,
}

impl Links {
    pub(super) fn new(read: LinkReader) -> Self {
        Self { read, known: RefCell::default() }
    }

    /// Returns the absolute `path` with all links followed, or `None` if nothing changes or the links form a loop.
    pub(super) fn resolve(&self, path: &str) -> Option<String> {
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        let found = resolve(Path::new(path), &|path| {
            // /proc and /dev describe this process, not the one that would run the command.
            let is_own = path.starts_with("/proc") || path.starts_with("/dev");
            if is_own { None } else { (self.read)(path) }
        });
        let found = found.map(|found| found.to_string_lossy().into_owned()).filter(|found| found != path);
        self.known.borrow_mut().insert(path.to_owned(), found.clone());
        found
    }
}

/// Returns the absolute `path` with links followed component by component, as the kernel does. A component that doesn't
/// exist stays as written. Returns `None` if there are too many links, as in a loop.
#[must_use]
pub fn resolve(path: &Path, links: &dyn Fn(&Path) -> Option<PathBuf>) -> Option<PathBuf> {
    let parts = |path: &Path| -> Vec<OsString> {
        let named =
            path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        named.map(|part| part.as_os_str().to_owned()).rev().collect()
    };
    let mut done = PathBuf::from("/");
    let mut to_do = parts(path);
    let mut followed = 0;
    while let Some(part) = to_do.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        done.push(part);
        let Some(target) = links(&done) else { continue };
        followed += 1;
        if followed > MAX_LINKS {
            return None;
        }
        done.pop();
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        to_do.extend(parts(&target));
    }
    Some(done)
}
