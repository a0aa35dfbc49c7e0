//! Where links on the disk lead, as whoever looks at a call reads them: each path is looked up once.

use super::rules::real;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What a symbolic link points to; none where the path is no link or not there.
pub type ReadLink = fn(&Path) -> Option<PathBuf>;

/// A reader of links, with what it has found.
#[derive(Debug)]
pub(super) struct Links {
    read: ReadLink,
    known: RefCell<HashMap<String, Option<String>>>,
}

impl Links {
    /// None of them looked up yet.
    pub(super) fn new(read: ReadLink) -> Self {
        Self { read, known: RefCell::default() }
    }

    /// Where the absolute `path` leads with all links followed; none where that is where it says, or in circles.
    pub(super) fn real(&self, path: &str) -> Option<String> {
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        let found = real(Path::new(path), &|path| {
            // What is open in the process that looks is not what is open in the one that is looked at.
            let is_own = path.starts_with("/proc") || path.starts_with("/dev");
            if is_own { None } else { (self.read)(path) }
        });
        let found = found.map(|found| found.to_string_lossy().into_owned()).filter(|found| found != path);
        self.known.borrow_mut().insert(path.to_owned(), found.clone());
        found
    }
}
