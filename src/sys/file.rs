//! Reading a file at a place, wherever it was read last; and reading what is a file and nothing else.

use std::fs::File;
use std::io;
use std::path::Path;

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
