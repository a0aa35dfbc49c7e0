//! Leases (Linux): knowing that nobody has a file open for writing, and being told when somebody wants to.

use std::fs::File;

/// What became of asking for a lease.
#[derive(Debug)]
pub enum Taken<'a> {
    /// Nobody has the file open for writing. Who wants to waits until this is dropped.
    Lease(Lease<'a>),
    /// Somebody has the file open for writing.
    Busy,
    /// The system, or the file system, has no leases, or not for us.
    Unknown,
}

/// A lease, until it is dropped. To be held for a moment only, and by no process that is stopped meanwhile.
#[derive(Debug)]
pub struct Lease<'a>(
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are none"))] &'a File,
);

/// Takes the lease on `file`, a regular file that is open for reading.
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
    /// Whether somebody waits to open the file for writing.
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

    /// Which signal says that somebody waits; the same number everywhere (fcntl.h).
    const F_SETSIG: c_int = 10;

    pub(super) fn take(file: &File) -> Taken<'_> {
        // The usual signal ends a process that does not expect it; this one is ignored by all.
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
        // SAFETY: the descriptor is open, and these commands take a number and no pointer.
        #[expect(unsafe_code, reason = "rustix knows no leases")]
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
    fn a_file_that_is_open_for_writing_has_no_lease_and_a_writer_waits_for_one() {
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
