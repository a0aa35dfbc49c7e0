//! Reading a file at a place, wherever it was read last; and reading what is a file and nothing else.

use std::fs::File;
#[cfg(unix)]
use std::fs::{Metadata, OpenOptions};
use std::io;
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;

/// Reads from the byte `at` on; returns how many bytes were read, 0 at the end.
///
/// # Errors
/// What the system says.
pub fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, bytes, at);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, bytes, at);
}

/// Fills `bytes` from the byte `at` on.
///
/// # Errors
/// What the system says, for example that there are fewer.
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

/// What is in the file at `path`; none where nothing is there, not even a link that leads nowhere.
///
/// # Errors
/// What the system says, or that it is no file: a pipe would be waited for.
pub fn read_regular(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match path.metadata() {
        Ok(found) if found.is_file() => std::fs::read(path).map(Some),
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Something that stands where a file should be.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAFile {
    /// A link whose target does not exist.
    #[error("it is a link to nothing, not a file")]
    DanglingLink,
    /// A directory.
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
    /// What `error` says about this, if [`open_regular`] returned it for that reason.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }

    fn check(found: &Metadata) -> io::Result<()> {
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

/// Opens the file at `path` with `options`. Never waits, and opens nothing but a regular file, or a link to one.
///
/// # Errors
/// What the system says, or [`NotAFile`]. Nothing is created behind a dangling link.
#[cfg(unix)]
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // Before it is opened: opening a device can have an effect.
    check_regular(path)?;
    let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
    NotAFile::check(&file.metadata()?)?;
    Ok(file)
}

/// Checks that a regular file, a link to one, or nothing at all is at `path`.
///
/// # Errors
/// What the system says, or [`NotAFile`].
#[cfg(unix)]
pub fn check_regular(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(found) => NotAFile::check(&found),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            Err(NotAFile::DanglingLink.into())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether `error` says that nothing more can be written there: the disk, a quota or a limit on files' sizes is reached, or
/// the disk is read-only.
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

/// What to do where nothing more can be written ([`is_full`]), as an imperative.
#[must_use]
pub fn room_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::FileTooLarge => "raise the limit on file sizes (ulimit -f) where murmur is started",
        io::ErrorKind::QuotaExceeded => "make room within your quota",
        io::ErrorKind::ReadOnlyFilesystem => "mount that file system read-write",
        _ => "make room on that disk",
    }
}

/// Where the link at `path` leads, if that is out of its folder; none where it is no link.
#[cfg(unix)]
#[must_use]
pub fn leads_out(path: &Path) -> Option<PathBuf> {
    let target = std::fs::read_link(path).ok()?;
    let folder = path.parent()?;
    // One that leads nowhere is taken by what it says.
    let end = path.canonicalize().unwrap_or_else(|_| folder.join(&target));
    let real = |folder: &Path| folder.canonicalize().ok();
    (end.parent().and_then(real) != real(folder)).then_some(target)
}

/// What is in the file at `path`, if that is at most `most` bytes; none where nothing is there. Opening it waits for nobody,
/// whatever it is.
///
/// # Errors
/// What the system says, or that it is no file, or longer.
#[cfg(unix)]
pub fn read_short(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    match read_first(path, most.saturating_add(1))? {
        Some(bytes) if bytes.len() as u64 > most => Err(io::ErrorKind::FileTooLarge.into()),
        found => Ok(found),
    }
}

/// The first `most` bytes of the file at `path`; none where nothing is there. Opening it waits for nobody, whatever it is.
///
/// # Errors
/// What the system says, or that it is no file.
#[cfg(unix)]
pub fn read_first(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    let file = match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    // Room enough for most files, so that they are read at once.
    let mut bytes = Vec::with_capacity(512);
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_out_of_its_folder_or_stays() {
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
    fn a_short_file_is_read_whole_and_a_longer_one_or_a_pipe_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let read = || read_short(&path, 4).map_err(|error| error.kind());
        assert_eq!(read(), Ok(None));
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read(), Ok(Some(b"four".to_vec())));
        // As long as a file may be, and nothing on the disk.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read(), Err(io::ErrorKind::FileTooLarge));
        std::fs::remove_file(&path).unwrap();
        crate::sys::fifo::make(&path).unwrap();
        assert_eq!(read(), Err(io::ErrorKind::InvalidInput));
    }
}
