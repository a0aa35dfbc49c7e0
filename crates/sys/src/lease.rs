//! File leases (Linux): they tell whether a file is open for writing, and when somebody wants to open it.

use std::fs::File;

/// The result of requesting a lease.
#[derive(Debug)]
pub enum Taken<'a> {
    /// Nobody has the file open for writing. A writer that opens it blocks until this is dropped.
    Lease(Lease<'a>),
    /// Somebody has the file open for writing.
    Busy,
    /// The system or the file system has no leases, or denies them to us.
    Unknown,
}

/// A lease, released on drop. Hold it only briefly, because writers wait for it.
#[derive(Debug)]
pub struct Lease<'a>(
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no leases"))] &'a File,
);

/// Requests a lease on `file`, a regular file that is open for reading.
#[must_use]
pub fn take(file: &File) -> Taken<'_> {
    #[cfg(target_os = "linux")]
    return linux::take(file);
    #[cfg(not(target_os = "linux"))]
    return {
        let _none = file;
        Taken::Unknown
    };
}

impl Lease<'_> {
    /// Whether somebody is waiting to open the file for writing.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        #[cfg(target_os = "linux")]
        return linux::is_wanted(self.0);
        #[cfg(not(target_os = "linux"))]
        return false;
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        linux::release(self.0);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Lease, Taken};
    use libc::{F_GETLEASE, F_RDLCK, F_SETLEASE, F_UNLCK, c_int};
    use rustix::io::Errno;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    /// Chooses the signal for a waiting writer; the same number on every architecture (fcntl.h).
    const F_SETSIG: c_int = 10;

    pub(super) fn take(file: &File) -> Taken<'_> {
        // The default, SIGIO, ends a process that doesn't handle it. SIGURG is ignored by default.
        if fcntl(file, F_SETSIG, libc::SIGURG).is_err() {
            return Taken::Unknown;
        }
        match fcntl(file, F_SETLEASE, F_RDLCK) {
            Ok(_) => Taken::Lease(Lease(file)),
            Err(Errno::AGAIN) => Taken::Busy,
            Err(_) => Taken::Unknown,
        }
    }

    pub(super) fn is_wanted(file: &File) -> bool {
        fcntl(file, F_GETLEASE, 0) != Ok(F_RDLCK)
    }

    pub(super) fn release(file: &File) {
        let _gone = fcntl(file, F_SETLEASE, F_UNLCK);
    }

    fn fcntl(file: &File, command: c_int, argument: c_int) -> Result<c_int, Errno> {
        // SAFETY: the descriptor is open, and these commands take an integer.
        #[expect(unsafe_code, reason = "rustix has no leases")]
        let done = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
        if done == -1 {
            Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
        } else {
            Ok(done)
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn an_open_writer_prevents_a_lease_and_a_new_writer_waits_for_its_end() {
        let _guard = crate::test_processes::none_starts();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        let writer = File::create(&path).unwrap();
        let file = File::open(&path).unwrap();
        assert!(matches!(take(&file), Taken::Busy));
        drop(writer);
        let Taken::Lease(lease) = take(&file) else { panic!("no lease") };
        assert!(!lease.is_wanted());
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| File::create(&path).unwrap().write_all(b"late").unwrap());
            while !lease.is_wanted() {
                std::thread::yield_now();
            }
            assert!(!writing.is_finished());
            drop(lease);
        });
        assert_eq!(std::fs::read(&path).unwrap(), b"late");
    }
}
