//! Appending to the journal: one write a line, under the file's lock, so that several writers never mix.

use super::entry::Entry;
use crate::sys::atomic;
use crate::sys::file::check_regular;
use crate::sys::unreadable::unreadable;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Appends `entry`'s line to the journal at `path`, as [`append_line`] does.
///
/// # Errors
/// As [`append_line`].
pub fn append(path: &Path, entry: &Entry) -> io::Result<()> {
    append_line(path, &entry.line()?)
}

/// Appends `line`, which ends in a newline, to the journal at `path`, which is made where it does not exist.
///
/// A last line that a crash left torn is repaired first. A write that does not fit leaves the journal as it was.
///
/// # Errors
/// What the system says, for example that the disk is full.
pub fn append_line(path: &Path, line: &str) -> io::Result<()> {
    let mut file = open_repaired(path)?;
    let before = file.metadata()?.len();
    match file.write(line.as_bytes()) {
        Ok(written) if written == line.len() => Ok(()),
        Ok(_) => {
            file.set_len(before)?;
            Err(io::ErrorKind::StorageFull.into())
        }
        Err(error) => Err(error),
    }
}

/// Checks that the journal at `path` is a file or is not there yet, so that neither reading nor writing it ever waits.
///
/// # Errors
/// What is there instead, or what the system says.
pub fn check(path: &Path) -> io::Result<()> {
    check_regular(path).map_err(|error| unreadable(path, error))
}

/// Repairs a last line that a crash left torn, if the journal at `path` has one, and touches nothing else.
///
/// # Errors
/// What the system says.
pub fn repair(path: &Path) -> io::Result<()> {
    if path.exists() { open_repaired(path).map(drop) } else { Ok(()) }
}

fn open_repaired(path: &Path) -> io::Result<File> {
    let mut file = atomic::open_append(path)?;
    file.lock()?;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    if last != *b"\n" {
        let start = start_of_last_line(&file, length)?;
        let mut torn = vec![0; usize::try_from(length - start).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut torn, start)?;
        // Whole but for its newline, it still counts; otherwise its beat is still in `beats/` and gets a new one.
        if serde_json::from_slice::<Entry>(&torn).is_ok() {
            file.write_all(b"\n")?;
        } else {
            file.set_len(start)?;
        }
    }
    Ok(file)
}

/// Where the last line of the first `length` bytes starts, which is `length` where they end in a newline.
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
    fn a_device_is_not_written_to() {
        assert_eq!(
            append_line(Path::new("/dev/full"), "x\n").unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }
}
