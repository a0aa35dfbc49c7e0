//! Reads and writes text files for an agent, after a decision on the real path.

use murmur_agent::client_call::{ClientError, ClientErrorKind};
use shell_guard::links;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use sys::error::Failure;
use sys::file::is_full;
use sys::no_links;

/// The largest file that is read or written, in bytes.
const MAX_SIZE: u64 = 8 << 20;

/// The path without links, which may be of a file that doesn't exist. Later, it is opened without following links.
pub(super) fn real_path(path: &Path) -> Result<PathBuf, ClientError> {
    let real = links::resolve(path, &|path| std::fs::read_link(path).ok());
    let real = real.ok_or_else(|| invalid(format!("{} has too many links", path.display())))?;
    if real.starts_with("/proc") {
        // There, files depend on who opens them.
        return Err(invalid(format!(
            "{} is in /proc, which murmur does not open for agents",
            path.display()
        )));
    }
    Ok(real)
}

/// The text of the file `path` from `line` on, at most `limit` lines.
pub(super) fn read(path: &Path, line: Option<u64>, limit: Option<u64>) -> Result<String, ClientError> {
    let failed = |error: io::Error| {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ClientErrorKind::NotFound,
            _ => ClientErrorKind::Failed,
        };
        ClientError { kind, message: format!("cannot read {}: {}", path.display(), Failure::of(&error)) }
    };
    let file = no_links::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_SIZE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(too_large(&path.display().to_string()));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        invalid(format!("{} is not text: byte {at} is not UTF-8", path.display()))
    })?;
    if line.is_none() && limit.is_none() {
        return Ok(text);
    }
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let before = count(line.unwrap_or(1)).saturating_sub(1);
    let lines = text.split_inclusive('\n').skip(before).take(limit.map_or(usize::MAX, count));
    Ok(lines.collect())
}

/// Replaces the contents of the file `path` by `text`. Creates it if it doesn't exist.
pub(super) fn write(path: &Path, text: &str) -> Result<(), ClientError> {
    if text.len() as u64 > MAX_SIZE {
        return Err(too_large("the content"));
    }
    let written = || {
        let mut file = no_links::open_to_write(path)?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())
    };
    written().map_err(|error: io::Error| {
        let cause = Failure::of(&error);
        let message = match error.kind() {
            io::ErrorKind::NotFound => format!("cannot write {}: its folder does not exist", path.display()),
            _ if is_full(&error) => format!("cannot write all of {}: {cause}", path.display()),
            _ => format!("cannot write {}: {cause}", path.display()),
        };
        ClientError { kind: ClientErrorKind::Failed, message }
    })
}

fn too_large(what: &str) -> ClientError {
    invalid(format!("{what} is larger than {} MiB, the most that murmur reads or writes", MAX_SIZE >> 20))
}

fn invalid(message: String) -> ClientError {
    ClientError { kind: ClientErrorKind::Invalid, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn lines_are_counted_from_one_and_limited() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().canonicalize().unwrap().join("file");
        fs::write(&path, "one\ntwo\nthree").unwrap();
        let read = |line, limit| read(&path, line, limit).unwrap();
        assert_eq!(read(None, None), "one\ntwo\nthree");
        assert_eq!(read(Some(2), None), "two\nthree");
        assert_eq!(read(Some(2), Some(1)), "two\n");
        assert_eq!(read(None, Some(1)), "one\n");
        assert_eq!([read(Some(0), Some(1)), read(Some(4), None), read(None, Some(0))], ["one\n", "", ""]);
    }

    #[test]
    fn what_is_no_text_or_too_large_is_an_error_that_says_so() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let why = |name: &str| {
            let error = read(&top.join(name), None, None).unwrap_err();
            (error.kind, error.message.replace(&format!("{}/", top.display()), ""))
        };
        fs::write(top.join("binary"), b"ab\xff").unwrap();
        fs::File::create(top.join("large")).unwrap().set_len(MAX_SIZE + 1).unwrap();
        symlink("binary", top.join("link")).unwrap();
        let (invalid, failed) = (ClientErrorKind::Invalid, ClientErrorKind::Failed);
        assert_eq!(why("binary"), (invalid, "binary is not text: byte 2 is not UTF-8".to_owned()));
        assert_eq!(
            why("large"),
            (invalid, "large is larger than 8 MiB, the most that murmur reads or writes".to_owned())
        );
        assert_eq!(why("link"), (failed, "cannot read link: a link has appeared on its path".to_owned()));
        assert_eq!(why("none").0, ClientErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_replaced_or_created_but_no_folder() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        fs::write(top.join("file"), "a long text").unwrap();
        for name in ["file", "new"] {
            write(&top.join(name), "short").unwrap();
            assert_eq!(fs::read_to_string(top.join(name)).unwrap(), "short");
        }
        let large = "x".repeat(1 + (8 << 20));
        assert_eq!(write(&top.join("file"), &large).unwrap_err().kind, ClientErrorKind::Invalid);
        assert_eq!(fs::read_to_string(top.join("file")).unwrap(), "short");
        let error = write(&top.join("none/file"), "x").unwrap_err();
        assert!(error.message.ends_with("none/file: its folder does not exist"), "{error}");
    }

    #[test]
    fn links_are_resolved_as_the_guard_does_and_proc_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        fs::create_dir(top.join("a")).unwrap();
        symlink(top.join("a"), top.join("link")).unwrap();
        symlink("loop", top.join("loop")).unwrap();
        let real = |path: &str| real_path(&top.join(path));
        assert_eq!(real("link/new"), Ok(top.join("a/new")));
        assert_eq!(real("link/../b"), Ok(top.join("b")));
        assert!(real("loop").unwrap_err().message.ends_with("has too many links"));
        assert!(real_path(Path::new("/proc/self/environ")).is_err());
    }
}
