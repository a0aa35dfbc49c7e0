//! The parts of a rotated file: their names, and their contents.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use sys::error::Hinted;
use sys::file::{open_regular, read_exact_at};
use zstd::zstd_safe;

/// The folder of parts, next to the live file.
const FOLDER: &str = "archive";

/// What is added to the name of a compressed part.
const ZST: &str = ".zst";

/// The largest part that is decompressed, in bytes. Anything larger is not one of ours.
const MAX: u64 = 4 << 30;

/// A part of a rotated file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    number: u64,
    /// The path without [`ZST`].
    plain: PathBuf,
    is_compressed: bool,
}

/// A part is not readable.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", .path.display())]
pub struct PartError {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl Hinted for PartError {
    fn hint(&self) -> Option<String> {
        Some("restore it from a backup or remove it; until then its lines are left out".to_owned())
    }
}

/// The contents of a part or of the live file.
#[derive(Debug)]
pub enum Content {
    /// An open file.
    File(File),
    /// A decompressed part.
    Bytes(Vec<u8>),
}

/// The folder with the parts of the live file at `path`.
pub(crate) fn folder(path: &Path) -> PathBuf {
    path.with_file_name(FOLDER)
}

/// The name of a part of the live file at `path`, uncompressed.
pub(crate) fn name(path: &Path, date: &str, number: u64) -> String {
    let (stem, extension) = split(path);
    format!("{stem}-{date}-{number:06}{extension}")
}

fn split(path: &Path) -> (String, String) {
    let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    (
        text(path.file_stem()),
        path.extension().map_or(String::new(), |ending| format!(".{}", text(Some(ending)))),
    )
}

/// The parts of the live file at `path`, oldest first.
pub fn list(path: &Path) -> io::Result<Vec<Part>> {
    let entries = match std::fs::read_dir(folder(path)) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let split = split(path);
    let mut parts = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        parts.extend(name.to_str().and_then(|name| parse(name, &split, &folder(path))));
    }
    // An uncompressed part comes before its compressed copy.
    parts.sort_unstable();
    parts.dedup_by(|next, part| next.plain == part.plain);
    Ok(parts)
}

fn parse(name: &str, (stem, extension): &(String, String), folder: &Path) -> Option<Part> {
    let (plain, is_compressed) = match name.strip_suffix(ZST) {
        Some(plain) => (plain, true),
        None => (name, false),
    };
    let dated = plain.strip_prefix(stem)?.strip_prefix('-')?.strip_suffix(extension.as_str())?;
    let (date, number) = dated.split_at_checked(10)?;
    let is_date = date.char_indices().all(|(at, letter)| match at {
        4 | 7 => letter == '-',
        _ => letter.is_ascii_digit(),
    });
    let number = number.strip_prefix('-')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse().ok().filter(|_| is_date && is_number)?;
    Some(Part { number, plain: folder.join(plain), is_compressed })
}

impl Part {
    /// Its number: later parts have higher ones.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether it was compressed when it was listed.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    pub(crate) fn plain(&self) -> &Path {
        &self.plain
    }

    pub(crate) fn compressed(&self) -> PathBuf {
        let mut path = self.plain.clone().into_os_string();
        path.push(ZST);
        path.into()
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        if self.is_compressed { self.compressed() } else { self.plain.clone() }
    }

    /// The inode, if it is not compressed: that of the live file it was.
    #[must_use]
    pub fn inode(&self) -> Option<u64> {
        self.plain.metadata().ok().map(|found| found.ino())
    }

    /// When it was last written to; its lines are not newer.
    #[must_use]
    pub fn modified(&self) -> Option<SystemTime> {
        let found = self.plain.metadata().or_else(|_| self.compressed().metadata());
        found.and_then(|found| found.modified()).ok()
    }

    /// Opens it, and decompresses it.
    pub fn open(&self) -> Result<Content, PartError> {
        // It may have been compressed since it was listed.
        if let Ok(file) = open_regular(&self.plain, File::options().read(true)) {
            return Ok(Content::File(file));
        }
        let mut bytes = Vec::new();
        self.decompress_into(&mut bytes)?;
        Ok(Content::Bytes(bytes))
    }

    /// Fills the empty `bytes` with its contents. Faster than [`Self::open`] if they are reused for several parts.
    pub fn read_into(&self, bytes: &mut Vec<u8>) -> Result<(), PartError> {
        match open_regular(&self.plain, File::options().read(true)) {
            Ok(mut file) => {
                let read = file.read_to_end(bytes).map(drop);
                read.map_err(|source| PartError { path: self.plain.clone(), source })
            }
            Err(_) => self.decompress_into(bytes),
        }
    }

    fn decompress_into(&self, bytes: &mut Vec<u8>) -> Result<(), PartError> {
        let path = self.compressed();
        let opened = open_regular(&path, File::options().read(true));
        opened.and_then(|file| decompress(file, bytes)).map_err(|source| PartError { path, source })
    }
}

/// The largest part that is decompressed at once, in bytes. It is usually a bit larger than [`crate::LIMIT`].
const AT_ONCE: u64 = 4 * crate::LIMIT;

/// Fills the empty `bytes`.
fn decompress(mut file: File, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut packed = Vec::with_capacity(usize::try_from(file.metadata()?.len()).unwrap_or_default());
    file.read_to_end(&mut packed)?;
    // Decompressing all at once is faster, but the size must be known. A file of several frames, or a damaged one,
    // needs the decoder.
    if let Ok(Some(size)) = zstd_safe::get_frame_content_size(&packed)
        && size <= AT_ONCE
    {
        bytes.reserve(usize::try_from(size).unwrap_or_default());
        if zstd::bulk::Decompressor::new()?.decompress_to_buffer(&packed, bytes).is_ok() {
            return Ok(());
        }
        bytes.clear();
    }
    // zstd's own words mean nothing to a user.
    let corrupt = |_| io::Error::new(io::ErrorKind::InvalidData, "it is damaged");
    let decoder = zstd::stream::read::Decoder::with_buffer(&packed[..])?;
    if decoder.take(MAX + 1).read_to_end(bytes).map_err(corrupt)? as u64 > MAX {
        return Err(io::Error::other("it is too large"));
    }
    Ok(())
}

impl Content {
    /// Its size in bytes.
    pub fn size(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Fills `buffer` from offset `at`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if it is too short.
    pub fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Self::File(file) => read_exact_at(file, buffer, at),
            Self::Bytes(bytes) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX);
                let found = bytes.get(start..).and_then(|rest| rest.get(..buffer.len()));
                buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    /// All its bytes.
    pub fn into_bytes(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::File(mut file) => {
                let mut bytes =
                    Vec::with_capacity(usize::try_from(file.metadata()?.len()).unwrap_or_default());
                file.read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// Reads its bytes from the beginning.
    #[must_use]
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        match self {
            Self::File(file) => Box::new(file),
            Self::Bytes(bytes) => Box::new(io::Cursor::new(bytes)),
        }
    }

    /// A file with its bytes, which vanishes when it is closed if it was decompressed.
    pub fn into_file(self) -> io::Result<File> {
        match self {
            Self::File(file) => Ok(file),
            Self::Bytes(bytes) => {
                let mut file = tempfile::tempfile()?;
                io::Write::write_all(&mut file, &bytes)?;
                Ok(file)
            }
        }
    }
}
