//! A HEARTBEAT.md on disk: whether it exists, whether it is readable, and its frontmatter.

use rustix::fs::OFlags;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::error::Hinted;
use sys::failure;
use sys::file::{Stamp, read_most, real_path};

use crate::config::cron::Crons;
use crate::config::frontmatter::{self, Frontmatter, FrontmatterError};
use crate::config::problem::Problem;
use crate::config::template;
use sys::unreadable::uncommon;

/// Maximum size of a HEARTBEAT.md, in bytes.
pub const MAX_BYTES: u64 = 1024 * 1024;

/// Clocks of file systems are coarser than this.
const MIN_AGE: Duration = Duration::from_secs(5);

/// The state of a HEARTBEAT.md.
#[derive(Debug)]
pub(super) enum HeartbeatFile {
    /// It doesn't exist.
    Missing,
    /// It has a prompt, and maybe frontmatter.
    Valid {
        /// The frontmatter.
        front: Option<Box<Frontmatter>>,
        /// Whether it is an unedited template.
        unedited: bool,
    },
    /// It is not usable.
    Invalid(Problem),
}

impl HeartbeatFile {
    /// Reads the file in this workspace; `found` is its metadata.
    pub(super) fn read(workspace: &Path, path: &Path, found: &io::Result<Metadata>, crons: &Crons) -> Self {
        match found {
            Err(error) if is_absent(error) => Self::Missing,
            Err(error) => Self::Invalid(unreadable(path, error)),
            Ok(metadata) => bytes_within(workspace, path, metadata)
                .and_then(|bytes| {
                    let (front, body) =
                        frontmatter::split(&bytes, crons).map_err(|error| wrong(path, &error))?;
                    not_empty(path, body)?;
                    let unedited = std::str::from_utf8(&bytes).is_ok_and(template::is_unedited);
                    Ok(Self::Valid { front: front.map(Box::new), unedited })
                })
                .unwrap_or_else(Self::Invalid),
        }
    }
}

/// A snapshot of a HEARTBEAT.md: its resolved path and contents.
#[derive(Debug)]
pub struct Content {
    path: PathBuf,
    /// Its identity before it was read, unless it changed so recently that a later edit may look the same.
    stamp: Option<Stamp>,
    real: Option<PathBuf>,
    bytes: Result<Vec<u8>, Problem>,
}

impl Content {
    /// Takes a snapshot of the file at `path` in `workspace`.
    #[must_use]
    pub fn of(workspace: &Path, path: &Path) -> Self {
        let found = std::fs::metadata(path);
        let stamp = found.as_ref().ok().map(Stamp::new).filter(|stamp| stamp.is_older_than(MIN_AGE));
        let bytes = match found {
            Ok(found) => bytes_within(workspace, path, &found),
            Err(error) if is_absent(&error) => Err(missing(path)),
            Err(error) => Err(unreadable(path, &error)),
        };
        Self { path: path.to_owned(), stamp, real: real_path(path).ok(), bytes }
    }

    /// The prompt: the file without the frontmatter.
    ///
    /// # Errors
    /// The file is missing, outside its workspace, not a regular file, larger than [`MAX_BYTES`], not readable, not
    /// UTF-8, or empty.
    pub fn body(&self) -> Result<&str, Problem> {
        let bytes = self.bytes.as_ref().map_err(Clone::clone)?;
        let body = frontmatter::body(bytes).map_err(|error| wrong(&self.path, &error))?;
        not_empty(&self.path, body)?;
        Ok(body)
    }

    /// Whether the file in `workspace` has changed since.
    #[must_use]
    pub fn has_changed(&self, workspace: &Path) -> bool {
        if self.stamp.is_some() && self.stamp == Stamp::of(&self.path) {
            return false;
        }
        let now = Self::of(workspace, &self.path);
        (&now.real, now.bytes.ok().as_ref()) != (&self.real, self.bytes.as_ref().ok())
    }
}

pub(super) fn missing(path: &Path) -> Problem {
    Problem::with(path, failure!("not found"; "create it, or run `murmur init` in its folder"))
}

pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let hint = uncommon(path, error).unwrap_or_else(|| "check its owner and mode".to_owned());
    Problem::with(path, failure!("not readable: {error}"; "{hint}"))
}

fn wrong(path: &Path, error: &FrontmatterError) -> Problem {
    let own = error.place().map(|place| (place, error.failure()));
    let all = own.into_iter().chain(error.more().iter().cloned());
    let problems = all.map(|(place, what)| Problem::at(path, place, what)).collect();
    Problem::first_of(problems).unwrap_or_else(|| Problem::with(path, error.failure()))
}

fn not_empty(path: &Path, body: &str) -> Result<(), Problem> {
    if body.trim().is_empty() {
        Err(Problem::with(path, failure!("it is empty"; "write instructions for the agent")))
    } else {
        Ok(())
    }
}

/// Checks that no link leads out of the workspace: a file elsewhere, such as a key, would be sent as the prompt.
fn within(workspace: &Path, path: &Path) -> Result<(), Problem> {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let mut below = path.ancestors().take_while(|above| *above != workspace && above.starts_with(workspace));
    if !below.any(is_link) {
        return Ok(());
    }
    let real = |path: &Path| path.canonicalize().map_err(|error| unreadable(path, &error));
    if real(path)?.starts_with(real(workspace)?) {
        return Ok(());
    }
    let what = failure!("it links outside the workspace"; "replace the link with a copy of the file");
    Err(Problem::with(path, what))
}

/// The contents of the file, after the checks of [`within`].
fn bytes_within(workspace: &Path, path: &Path, found: &Metadata) -> Result<Vec<u8>, Problem> {
    // Most files are directly in the workspace and no links: opening them shows that, and saves a call.
    if path.parent() == Some(workspace)
        && found.is_file()
        && let Ok(file) = open(path, OFlags::NOFOLLOW)
    {
        return read(path, &file, found);
    }
    within(workspace, path)?;
    bytes(path, found)
}

fn bytes(path: &Path, found: &Metadata) -> Result<Vec<u8>, Problem> {
    if found.is_dir() {
        return Err(Problem::with(path, failure!("it is a folder"; "put a text file in its place")));
    }
    if !found.is_file() {
        return Err(Problem::with(
            path,
            failure!("it is not a regular file"; "put a text file in its place"),
        ));
    }
    let file = open(path, OFlags::empty()).map_err(|error| unreadable(path, &error))?;
    read(path, &file, found)
}

fn read(path: &Path, file: &File, found: &Metadata) -> Result<Vec<u8>, Problem> {
    if found.len() > MAX_BYTES {
        return Err(too_large(path));
    }
    let bytes = read_most(file, found.len(), MAX_BYTES + 1).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > MAX_BYTES { Err(too_large(path)) } else { Ok(bytes) }
}

/// Never blocks, even if a pipe has replaced the file since it was checked.
fn open(path: &Path, more: OFlags) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | more).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn too_large(path: &Path) -> Problem {
    Problem::with(
        path,
        failure!("it is larger than 1 MiB (1048576 bytes)"; "shorten it, and have it refer to other files"),
    )
}
