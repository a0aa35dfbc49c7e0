//! Appends to a live file, and rotates it.

use crate::compress::compress;
use crate::part;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use sys::{atomic, clock};

/// Appends `line`, whole or not at all, to the private file at `path`, which must not be a link. Rotates it at
/// [`LIMIT`](crate::LIMIT). A torn last line is ended first, so that it stays a line of its own.
pub fn append_line(path: &Path, line: &[u8]) -> io::Result<()> {
    append(path, line, crate::LIMIT, atomic::open_append_no_link, end_torn)
}

fn end_torn(file: &mut File) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    if last == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}

/// Appends `lines`, whole or not at all, to the live file at `path`. A file of at least `limit` bytes is rotated first.
///
/// `open` opens or creates the file for appending. `repair` is called with the locked file, and leaves it with whole
/// lines.
///
/// # Errors
/// The lines could not be written; the file has no part of them. A failed rotation is not an error: the next call
/// retries it.
pub fn append(
    path: &Path,
    lines: &[u8],
    limit: u64,
    open: impl Fn(&Path) -> io::Result<File>,
    repair: impl Fn(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let open_repaired = || {
        let (mut file, length) = open_and_lock(path, &open)?;
        repair(&mut file)?;
        io::Result::Ok((file, length))
    };
    let (mut file, length) = open_repaired()?;
    let is_rotated = length >= limit && rotate_if_full(path, &file, limit).unwrap_or(false);
    if is_rotated {
        drop(file);
        (file, _) = open_repaired()?;
    }
    let written = write(&mut file, lines);
    drop(file);
    if is_rotated {
        let _with_the_next_rotation = compress(path);
    }
    written
}

fn write(file: &mut File, lines: &[u8]) -> io::Result<()> {
    match file.write(lines) {
        Ok(written) if written == lines.len() => Ok(()),
        Ok(written) => {
            let length = file.metadata()?.len();
            file.set_len(length.saturating_sub(written as u64))?;
            Err(io::ErrorKind::StorageFull.into())
        }
        Err(error) => Err(error),
    }
}

/// Opens the live file at `path` with `open` and locks it, so that no other process appends to it or rotates it.
pub fn open_locked(path: &Path, open: impl Fn(&Path) -> io::Result<File>) -> io::Result<File> {
    open_and_lock(path, open).map(|(file, _)| file)
}

/// The same; also returns the file's length.
fn open_and_lock(path: &Path, open: impl Fn(&Path) -> io::Result<File>) -> io::Result<(File, u64)> {
    loop {
        let file = open(path)?;
        file.lock()?;
        if let Some(length) = length_if_named(path, &file)? {
            return Ok((file, length));
        }
    }
}

/// Whether `path` leads to `file`, and not to another one or none.
pub(crate) fn is_named(path: &Path, file: &File) -> io::Result<bool> {
    length_if_named(path, file).map(|length| length.is_some())
}

/// The length of `file`, if `path` leads to it.
fn length_if_named(path: &Path, file: &File) -> io::Result<Option<u64>> {
    let found = match path.metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let held = file.metadata()?;
    let is_named = (found.dev(), found.ino()) == (held.dev(), held.ino());
    Ok(is_named.then_some(held.len()))
}

/// Makes the live file at `path` a part if it has at least `limit` bytes. `locked` is from [`open_locked`]. Returns
/// whether it was renamed; the next [`open_locked`] creates a new file.
pub fn rotate_if_full(path: &Path, locked: &File, limit: u64) -> io::Result<bool> {
    if locked.metadata()?.len() < limit || path.is_symlink() {
        return Ok(false);
    }
    let folder = part::folder(path);
    atomic::create_private_subfolder(&folder)?;
    let number = part::list(path)?.last().map_or(1, |part| part.number() + 1);
    let date = clock::now().strftime("%Y-%m-%d").to_string();
    std::fs::rename(path, folder.join(part::name(path, &date, number)))?;
    Ok(true)
}
