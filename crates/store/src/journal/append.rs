//! Appends to the journal: one write per line, under the file's lock, so that concurrent writers never interleave.

use super::entry::JournalEntry;
use rustix::fs::Access;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use sys::atomic;
use sys::error::Failure;
use sys::file::check_regular;
use sys::unreadable::{unreadable, unwritable};

/// Appends `entry` to the journal at `path`, like [`append_line`].
pub fn append(path: &Path, entry: &JournalEntry) -> io::Result<()> {
    append_line(path, &entry.line()?)
}

/// Appends `line`, which ends in a newline, to the journal at `path`, and creates the file if needed.
///
/// Repairs a torn last line first, and rotates a large journal. If the line doesn't fit on the disk, the journal stays
/// as it was.
pub fn append_line(path: &Path, line: &str) -> io::Result<()> {
    append_line_within(path, line, rotate::LIMIT)
}

/// Appends `line` like [`append_line`], and rotates a journal of at least `limit` bytes.
pub fn append_line_within(path: &Path, line: &str, limit: u64) -> io::Result<()> {
    rotate::append(path, line.as_bytes(), limit, atomic::open_append, repair_torn)
}

/// Checks that the journal at `path` is a regular file or missing, so that neither reading nor writing it can block.
pub fn check(path: &Path) -> io::Result<()> {
    check_regular(path).map_err(|error| unreadable(path, error))
}

/// Repairs a torn last line of the journal at `path`, if there is one; changes nothing else.
pub fn repair(path: &Path) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    repair_torn(&mut rotate::open_locked(path, atomic::open_append)?)
}

/// Checks, without changing anything, whether a line could be appended to the journal at `path`.
pub fn probe(path: &Path) -> io::Result<()> {
    check_regular(path)?;
    let folder = path.parent().unwrap_or(path);
    let length = match File::options().append(true).open(path) {
        Ok(file) => file.metadata()?.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?;
            0
        }
        Err(error) => return Err(error),
    };
    if rustix::fs::statvfs(folder)?.f_bavail == 0 {
        return Err(Errno::NOSPC.into());
    }
    match getrlimit(Resource::Fsize).current {
        Some(most) if most <= length => Err(Errno::FBIG.into()),
        _ => Ok(()),
    }
}

/// Why no line could be appended to the journal at `path`, and what to do; `None` if one could be.
#[must_use]
pub fn problem(path: &Path) -> Option<Failure> {
    // Its folder is made when it is needed.
    let error = probe(path).err().filter(|error| error.kind() != io::ErrorKind::NotFound)?;
    Some(unwritable(path, &error))
}

fn repair_torn(file: &mut File) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    if last != *b"\n" {
        let start = start_of_last_line(file, length)?;
        let mut torn = vec![0; usize::try_from(length - start).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut torn, start)?;
        // Complete a line that lacks only its newline. For any other, the beat is still in `beats/` and gets a new
        // line.
        if serde_json::from_slice::<JournalEntry>(&torn).is_ok() {
            file.write_all(b"\n")?;
        } else {
            file.set_len(start)?;
        }
    }
    Ok(())
}

/// Where the last line of the first `length` bytes starts; `length` itself if they end in a newline.
pub(super) fn start_of_last_line(file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut block = vec![0; 64 << 10];
    while end > 0 {
        let size = usize::try_from(end).unwrap_or(usize::MAX).min(block.len());
        let start = end - size as u64;
        file.read_exact_at(&mut block[..size], start)?;
        if let Some(newline) = memchr::memrchr(b'\n', &block[..size]) {
            return Ok(start + newline as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{"ts":"2026-02-03T10:00:00Z","workspace":"/w","outcome":"ok","durationMs":8200}"#;

    fn after(torn: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heartbeats.jsonl");
        std::fs::write(&path, format!("not ours\n{torn}")).unwrap();
        repair(&path).unwrap();
        std::fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn a_torn_last_line_is_cut_and_nothing_else_is_touched() {
        for cut in 1..WHOLE.len() {
            assert_eq!(after(&WHOLE[..cut]), "not ours\n");
        }
        assert_eq!(after(""), "not ours\n");
    }

    #[test]
    fn a_last_line_that_lacks_only_its_newline_is_kept() {
        assert_eq!(after(WHOLE), format!("not ours\n{WHOLE}\n"));
    }

    #[test]
    fn several_writers_never_mix_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heartbeats.jsonl");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..50 {
                        append_line(path, &format!("{}\n", writer.to_string().repeat(9000))).unwrap();
                    }
                });
            }
        });
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 400);
        assert!(
            text.lines()
                .all(|line| line.len() == 9000 && line.bytes().all(|byte| byte == line.as_bytes()[0]))
        );
    }

    #[test]
    fn a_probe_says_why_nothing_can_be_appended_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heartbeats.jsonl");
        probe(&path).unwrap();
        assert!(!path.exists());
        std::fs::write(&path, "torn").unwrap();
        probe(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"torn");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(probe(&path).is_err());
        assert_eq!(probe(&folder.path().join("no/journal")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_device_is_not_written_to() {
        assert_eq!(
            append_line(Path::new("/dev/full"), "x\n").unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }
}
