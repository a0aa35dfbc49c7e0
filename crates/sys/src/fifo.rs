//! Named pipes, used to synchronize processes.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Creates a FIFO at `path` with mode 0600.
pub fn make(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is a C string that outlives the call.
    #[expect(unsafe_code, reason = "there is no safe, portable call for this")]
    let made = unsafe { libc::mkfifo(path.as_ptr(), 0o600) };
    if made == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
