//! murmur's own files: whether they are private and readable, and whether there is free disk space.

use super::finding::{Level, counted};
use super::{Check, Environment, Finding, Hint, config, folders};
use crate::daemon::state_files;
use jiff::{SignedDuration, Timestamp};
use murmur_core::config::file::{DEFAULT_MIN_FREE, FileError};
use murmur_core::config::heartbeat::Resolved;
use murmur_core::config::size;
use murmur_store::journal::append;
use murmur_store::journal::read::{Backward, Entries};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::clock;
use sys::file::{NotAFile, check_regular};
use sys::paths::{DataDir, PathsError};

/// Fail below this much free disk space, in MiB.
const FAIL_BELOW: u64 = 10;

/// Tolerated difference between two clocks.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);

pub(super) fn examine(environment: &Environment, read: &Result<Resolved, FileError>) -> Vec<Finding> {
    let usable = usable(&environment.dir);
    let mut findings = vec![folder(environment, &usable)];
    match usable {
        Ok(false) => {}
        Ok(true) => {
            findings.extend([config::heartbeats(environment, read), room(environment)]);
            findings.extend(journal(environment));
            findings.push(check_clock(environment, read.as_ref().ok()));
        }
        Err(_) => {
            let depend = [Check::CONFIG, Check::DISK, Check::JOURNAL, Check::CLOCK];
            findings.extend(depend.map(Check::skipped));
            if environment.user.settings.root().starts_with(environment.dir.root()) {
                findings.extend([Check::SETTINGS, Check::RULES].map(Check::skipped));
                return findings;
            }
        }
    }
    findings.extend(config::settings(environment, read.as_ref().ok()));
    findings.extend(config::rules(environment));
    findings
}

/// Whether the data folder exists; an error if it cannot be used or created.
pub(super) fn usable(dir: &DataDir) -> Result<bool, PathsError> {
    let unusable = |source| PathsError::Unusable { path: dir.root().to_path_buf(), source };
    dir.check_is_folder()?;
    match dir.root().metadata() {
        Ok(_) => dir.prepare().map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !dir.root().is_symlink() => {
            let around = dir.root().ancestors().skip(1).find(|folder| folder.exists());
            let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
            let makes = around.map_or(Ok(()), |around| rustix::fs::access(around, access));
            makes.map(|()| false).map_err(|errno| unusable(errno.into()))
        }
        Err(error) => Err(unusable(error)),
    }
}

/// What is there instead of a file, after following links; `None` for a file or nothing.
pub(super) fn instead_of_a_file(path: &Path) -> Option<&'static str> {
    Some(match NotAFile::of(&check_regular(path).err()?)? {
        NotAFile::DanglingLink => "a dangling symlink",
        NotAFile::Folder => "a folder",
        NotAFile::Pipe => "a named pipe",
        NotAFile::Socket => "a socket",
        NotAFile::Device => "a device",
    })
}

fn folder(environment: &Environment, usable: &Result<bool, PathsError>) -> Finding {
    let (check, dir) = (Check::DATA_FOLDER, &environment.dir);
    match usable {
        Ok(true) => {}
        Ok(false) => {
            return check
                .warn(format!("{} does not exist yet", dir.root().display()), Hint::START_CREATES_IT);
        }
        Err(error) => return check.failed(error),
    }
    match dir.require_ours() {
        Ok(None) => {}
        Ok(Some(open)) => return check.failed(&open).into_warning(),
        Err(error) => return check.failed(&error),
    }
    let files = [dir.config(), dir.journal(), dir.log(), dir.decisions(), dir.pid()];
    let open = files.iter().find_map(|path| {
        let found = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mode = found.mode() & 0o777;
        (mode & 0o077 != 0).then_some((path, mode))
    });
    if let Some(problem) = state_files::problems(dir).first() {
        return check.failed(problem);
    }
    match open {
        Some((path, mode)) => check.warn(
            format!("{} has mode {mode:04o}; its folder keeps others out", path.display()),
            Hint::CLOSE_FILE.about(path),
        ),
        None => folders::examine(environment)
            .unwrap_or_else(|| check.ok(format!("{} is private", dir.root().display()))),
    }
}

/// Checks the data folder's disk, or the captures' if that is another one with less space.
fn room(environment: &Environment) -> Finding {
    let (check, root) = (Check::DISK, environment.dir.root());
    let disk = |folder: &Path| folder.metadata().ok().map(|found| found.dev());
    // A missing folder will be on its parent's disk.
    let captures = environment.captures.iter().flat_map(|captures| captures.ancestors());
    let captures =
        captures.filter(|folder| folder.is_dir()).take(1).filter(|folder| disk(folder) != disk(root));
    let mut least = None;
    for folder in std::iter::once(root).chain(captures) {
        let free = match rustix::fs::statvfs(folder) {
            Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
            Err(error) => {
                return check.fail(format!("{}: {error}", folder.display()), Hint::CHECK_THE_DISK);
            }
        };
        if least.is_none_or(|(less, _)| free < less) {
            least = Some((free, folder));
        }
    }
    let (free, folder) = least.unwrap_or((0, root));
    let found = format!("{} free for {}", size::for_people(free), folder.display());
    match free >> 20 {
        0..FAIL_BELOW => check.fail(found, Hint::FREE_SPACE_NOW),
        FAIL_BELOW.. if free < DEFAULT_MIN_FREE.bytes() => check.warn(found, Hint::FREE_SPACE),
        _ => check.ok(found),
    }
}

/// Checks the journal, and that all parts of rotated files are readable.
fn journal(environment: &Environment) -> Vec<Finding> {
    let dir = &environment.dir;
    let parts = dir.rotated().into_iter().flat_map(|live| rotate::parts(&live).unwrap_or_default());
    let damaged = parts.filter_map(|part| part.open().err());
    let mut findings: Vec<Finding> =
        damaged.map(|error| Check::JOURNAL.failed(&error).into_warning()).collect();
    let lines = journal_lines(environment);
    if findings.is_empty() || lines.level != Level::Ok {
        findings.insert(0, lines);
    }
    findings
}

/// Checks every line of the journal.
fn journal_lines(environment: &Environment) -> Finding {
    let (check, path) = (Check::JOURNAL, environment.dir.journal());
    let unreadable = |error: io::Error| {
        check.fail(format!("cannot read {}: {error}", path.display()), Hint::OWNER_AND_MODE)
    };
    if let Some(kind) = instead_of_a_file(&path) {
        return check.fail(format!("{} is {kind}, not a file", path.display()), Hint::NO_FILE);
    }
    let mut lines = match Backward::open_live(&path) {
        Ok(lines) => lines,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return check.ok("empty"),
        Err(error) => return check.failed(&error),
    };
    let torn = match is_torn(&path) {
        Ok(torn) => usize::from(torn),
        Err(error) => return unreadable(error),
    };
    // Lines are numbered from the beginning, and read from the end.
    let (mut behind, mut count, mut wrong, mut first) = (torn, torn, torn, 0);
    loop {
        match lines.next_line() {
            Ok(Some(line)) => {
                behind += 1;
                if !line.iter().all(u8::is_ascii_whitespace) {
                    count += 1;
                    if serde_json::from_slice::<murmur_store::journal::entry::JournalEntry>(&line).is_err() {
                        (wrong, first) = (wrong + 1, behind - 1);
                    }
                }
            }
            Ok(None) => break,
            Err(error) => return unreadable(error),
        }
    }
    if let Some(problem) = append::problem(&path) {
        return check.failed(&problem);
    }
    if wrong == 0 {
        return check.ok(counted(count, "line"));
    }
    let first = if wrong == 1 {
        format!(", line {}", behind - first)
    } else {
        format!(", the first in line {}", behind - first)
    };
    let last = if torn == 0 { "" } else { ", the last of which is incomplete" };
    let found = format!(
        "{wrong} of {} {}{first}{last}",
        counted(count, "line"),
        if wrong == 1 { "is not a journal line" } else { "are not journal lines" }
    );
    check.warn(found, Hint::LINES_SKIPPED.about(&path))
}

/// Whether the file ends within a line: lines are written atomically, so it is not being written.
fn is_torn(path: &Path) -> io::Result<bool> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// When the newest beat in the journal ended.
fn newest(path: &Path) -> Option<Timestamp> {
    if instead_of_a_file(path).is_some() {
        return None;
    }
    let mut entries = Entries::new(Backward::open(path).ok()?, None);
    entries.next_entry(|_| true).ok()??.entry.ended()
}

/// Checks that the clock was not set back, which delays schedules.
fn check_clock(environment: &Environment, config: Option<&Resolved>) -> Finding {
    let (check, now) = (Check::CLOCK, clock::now());
    let zone = environment.time_zone.iana_name().unwrap_or("unnamed");
    let written = environment.dir.journal().metadata().and_then(|found| found.modified()).ok();
    let written = written.and_then(|at| Timestamp::try_from(at).ok());
    let heartbeats = config.into_iter().flat_map(|config| &config.heartbeats);
    let ran = heartbeats.filter_map(|heartbeat| heartbeat.last_run).max();
    let later = |at: Option<Timestamp>| at.filter(|at| at.duration_since(now) > AHEAD).map(clock::rfc3339);
    let time = clock::rfc3339(now);
    if let Some(written) = later(written) {
        let found = format!("{time}, behind the journal's last write at {written}");
        return check.fail(found, Hint::SET_THE_CLOCK);
    }
    if let Some(ended) = later(newest(&environment.dir.journal())) {
        let found = format!("{time}, behind the journal's newest line of {ended}");
        return check.fail(found, Hint::SET_THE_CLOCK);
    }
    if let Some(ran) = later(ran) {
        let found = format!("{time}, behind a heartbeat's last run at {ran}");
        return check.fail(found, Hint::FORGET_THE_LAST_RUN);
    }
    check.ok(format!("{time}, time zone {zone}"))
}
