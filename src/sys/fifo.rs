//! Named pipes, by which one process lets another go on.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Makes a FIFO at `path`, mode 0600.
///
/// # Errors
/// What the system says, for example that something is there already.
pub fn make(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is a C string that outlives the call.
    #[expect(unsafe_code, reason = "there is no safe way to make one on every system")]
    let made = unsafe { libc::mkfifo(path.as_ptr(), 0o600) };
    if made == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
