//! Positioned reads, and reads that accept only regular files.

#[cfg(unix)]
use std::fs::OpenOptions;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;

/// Reads from offset `at` and returns the number of bytes read, 0 at the end.
pub fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, bytes, at);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, bytes, at);
}

/// A file with `bytes` that has no name and ends with its descriptor, at its beginning. On Linux it is in memory, so
/// that it can be made where no folder is writable.
pub fn unnamed(bytes: &[u8]) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    let mut file: File = rustix::fs::memfd_create("unnamed", rustix::fs::MemfdFlags::CLOEXEC)?.into();
    #[cfg(not(target_os = "linux"))]
    let mut file = tempfile::tempfile()?;
    io::Write::write_all(&mut file, bytes)?;
    io::Seek::rewind(&mut file)?;
    Ok(file)
}

/// Appends at most `most` bytes from offset `at` to `bytes` and returns their number, 0 at the end.
pub fn append_from(file: &File, bytes: &mut Vec<u8>, at: u64, most: usize) -> io::Result<usize> {
    let kept = bytes.len();
    bytes.resize(kept + most, 0);
    let read = loop {
        match read_at(file, &mut bytes[kept..], at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    bytes.truncate(kept + read.as_ref().copied().unwrap_or(0));
    read
}

/// Returns the first `most` bytes of a regular file that has about `size` bytes. Usually one call reads it.
pub fn read_most(file: &File, size: u64, most: u64) -> io::Result<Vec<u8>> {
    let (mut bytes, mut portion) = (Vec::new(), size.saturating_add(1));
    loop {
        let at = bytes.len() as u64;
        let wanted = usize::try_from(portion.min(most.saturating_sub(at))).unwrap_or(usize::MAX);
        // A read that is cut short has reached the end.
        if append_from(file, &mut bytes, at, wanted)? < wanted || wanted == 0 {
            return Ok(bytes);
        }
        portion = 64 << 10;
    }
}

/// Fills `bytes` from offset `at`.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if the file is too short.
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match read_at(file, bytes, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                bytes = &mut bytes[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What tells one version of a file from another: it changes with every write and replacement.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

#[cfg(unix)]
impl Stamp {
    /// The stamp of the file at `path`; `None` if it is missing.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        path.metadata().ok().as_ref().map(Self::new)
    }

    /// The stamp of a file with this metadata.
    #[must_use]
    pub fn new(found: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let changed = (found.ctime(), found.ctime_nsec());
        Self { device: found.dev(), inode: found.ino(), size: found.size(), changed }
    }

    /// Whether the file changed longer than `age` ago, according to the clock.
    #[must_use]
    pub fn is_older_than(&self, age: std::time::Duration) -> bool {
        let age = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
        self.changed.0.saturating_add(age) < super::clock::now().as_second()
    }
}

/// Returns the contents of the file at `path`, or `None` if nothing exists there. A dangling symlink is an error.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for anything but a regular file, because reading a pipe could block.
pub fn read_regular(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match look(path) {
        Ok(Some(found)) if found.is_file() => read_most(&File::open(path)?, found.len(), u64::MAX).map(Some),
        Ok(Some(_)) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
        Ok(None) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The metadata of what `path` leads to, or `None` if nothing exists there. A dangling symlink is an error.
fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => path.metadata().map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// The kind of a path that is not a regular file.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAFile {
    /// A link whose target does not exist.
    #[error("it is a dangling symlink, not a file")]
    DanglingLink,
    /// A folder.
    #[error("it is a folder, not a file")]
    Folder,
    /// A FIFO.
    #[error("it is a named pipe, not a file")]
    Pipe,
    /// A socket.
    #[error("it is a socket, not a file")]
    Socket,
    /// A device.
    #[error("it is a device, not a file")]
    Device,
}

#[cfg(unix)]
impl NotAFile {
    /// Returns the kind if [`open_regular`] failed with `error` because of it.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }

    pub(crate) fn check(found: &Metadata) -> io::Result<()> {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        let instead = match () {
            () if kind.is_file() => return Ok(()),
            () if kind.is_dir() => Self::Folder,
            () if kind.is_fifo() => Self::Pipe,
            () if kind.is_socket() => Self::Socket,
            () => Self::Device,
        };
        Err(instead.into())
    }
}

#[cfg(unix)]
impl From<NotAFile> for io::Error {
    fn from(instead: NotAFile) -> Self {
        Self::new(io::ErrorKind::InvalidInput, instead)
    }
}

/// Opens the file at `path` with `options`. Never blocks, and accepts only regular files and symlinks to them.
///
/// # Errors
/// [`NotAFile`] for anything else. Nothing is created through a dangling symlink.
#[cfg(unix)]
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // Check before opening: opening a device can have side effects.
    check_regular(path)?;
    let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
    NotAFile::check(&file.metadata()?)?;
    Ok(file)
}

/// Checks that `path` is a regular file, a symlink to one, or doesn't exist.
///
/// # Errors
/// [`NotAFile`] for anything else.
#[cfg(unix)]
pub fn check_regular(path: &Path) -> io::Result<()> {
    match look(path) {
        Ok(found) => found.map_or(Ok(()), |found| NotAFile::check(&found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(NotAFile::DanglingLink.into()),
        Err(error) => Err(error),
    }
}

/// The path of an existing file or folder without links. The number of calls doesn't depend on its depth.
#[cfg(unix)]
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Mode, OFlags};
        use std::os::fd::AsRawFd;
        let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let real = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        // If it has just been deleted, the kernel adds a note; and it may be outside our root.
        if let Ok(real) = real
            && real.is_absolute()
            && !real.as_os_str().as_encoded_bytes().ends_with(b" (deleted)")
        {
            return Ok(real);
        }
    }
    path.canonicalize()
}

/// Whether `error` means that nothing more can be written: the disk is full or read-only, or a quota or file size
/// limit is reached.
#[must_use]
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge
            | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// The hint for an error that [`is_full`] matches.
#[must_use]
pub fn room_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::FileTooLarge => "raise the limit on file sizes (ulimit -f) where murmur is started",
        io::ErrorKind::QuotaExceeded => "make room within your quota",
        io::ErrorKind::ReadOnlyFilesystem => "mount that file system read-write",
        _ => "make room on that disk",
    }
}

/// The hint for a user-edited file that is not readable.
#[must_use]
pub fn read_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => "put a file in its place",
        _ => "check its owner and mode",
    }
}

/// Returns the target of the symlink at `path` if it is outside the symlink's folder. `None` if `path` is no
/// symlink.
#[cfg(unix)]
#[must_use]
pub fn leads_out(path: &Path) -> Option<PathBuf> {
    let target = std::fs::read_link(path).ok()?;
    let folder = path.parent()?;
    // For a dangling symlink, use the target as written.
    let end = path.canonicalize().unwrap_or_else(|_| folder.join(&target));
    let real = |folder: &Path| folder.canonicalize().ok();
    (end.parent().and_then(real) != real(folder)).then_some(target)
}

/// Returns the contents of the file at `path`, or `None` if it doesn't exist. Never blocks.
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`] if it has more than `most` bytes, [`io::ErrorKind::InvalidInput`] if it is not
/// a regular file.
#[cfg(unix)]
pub fn read_short(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    match read_first(path, most.saturating_add(1))? {
        Some(bytes) if bytes.len() as u64 > most => Err(io::ErrorKind::FileTooLarge.into()),
        found => Ok(found),
    }
}

/// Returns the first `most` bytes of the file at `path`, or `None` if it doesn't exist. Never blocks.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if it is not a regular file.
#[cfg(unix)]
pub fn read_first(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    open_existing(path)?.map(|(file, found)| read_most(&file, found.len(), most)).transpose()
}

/// Opens the file at `path`, unless it doesn't exist. Never blocks.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if it is not a regular file.
#[cfg(unix)]
pub fn open_existing(path: &Path) -> io::Result<Option<(File, Metadata)>> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok(Some((file, found)))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn detects_symlinks_that_leave_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("in")).unwrap();
        for file in ["in/file", "out"] {
            std::fs::write(path(file), "").unwrap();
        }
        std::os::unix::fs::symlink(path("in"), path("other-name")).unwrap();
        let links = [
            ("file", false),
            ("gone", false),
            ("../in/file", false),
            ("../other-name/file", false),
            ("../out", true),
            ("../gone", true),
            ("/no/such/folder/file", true),
        ];
        for (target, leads) in links {
            let link = path("in/link");
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert_eq!(leads_out(&link), leads.then(|| target.into()), "{target}");
            std::fs::remove_file(&link).unwrap();
        }
        assert_eq!(leads_out(&path("in/file")), None);
        assert_eq!(leads_out(&path("in/gone")), None);
    }

    #[test]
    fn the_real_path_is_the_canonical_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("a/b (deleted)")).unwrap();
        std::fs::write(path("a/file"), "").unwrap();
        for (target, link) in [("a", "link"), ("loop", "loop"), ("nowhere", "dangling")] {
            std::os::unix::fs::symlink(path(target), path(link)).unwrap();
        }
        for name in ["", "a/..", "link/file", "link/b (deleted)/", "a/file/", "gone", "loop", "dangling"] {
            let kind = |error: io::Error| error.kind();
            let expected = path(name).canonicalize().map_err(kind);
            assert_eq!(real_path(&path(name)).map_err(kind), expected, "{name}");
        }
    }

    #[test]
    fn reads_files_of_every_size_to_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for size in [0, 1, 64 << 10, 200_000] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            let file = File::open(&path).unwrap();
            for reported in [0, size as u64, 300_000] {
                assert_eq!(read_most(&file, reported, u64::MAX).unwrap(), bytes);
                assert_eq!(read_most(&file, reported, 3).unwrap(), bytes[..size.min(3)]);
            }
        }
    }

    #[test]
    fn reads_a_short_file_and_refuses_a_long_one_or_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let read = || read_short(&path, 4).map_err(|error| error.kind());
        assert_eq!(read(), Ok(None));
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read(), Ok(Some(b"four".to_vec())));
        // A sparse file that takes no disk space.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read(), Err(io::ErrorKind::FileTooLarge));
        std::fs::remove_file(&path).unwrap();
        crate::fifo::make(&path).unwrap();
        assert_eq!(read(), Err(io::ErrorKind::InvalidInput));
    }
}
