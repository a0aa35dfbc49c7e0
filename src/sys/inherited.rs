//! What this process was given when it was started, and what Rust's runtime hides: it ignores SIGPIPE and opens
//! `/dev/null` where a standard stream is closed. We handle SIGXFSZ ourselves. A command that is to run as if we were
//! not there gets the original back.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The standard streams that were closed: bit n for descriptor n.
static CLOSED: AtomicU8 = AtomicU8::new(0);
/// Whether SIGPIPE was ignored.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Whether SIGXFSZ was ignored.
static FILE_SIZE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Runs before Rust's runtime does.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[expect(unsafe_code, reason = "only the linker can have something run before the runtime")]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    for descriptor in 0..3 {
        // SAFETY: F_GETFD takes no pointer and changes nothing, whatever the number.
        #[expect(unsafe_code, reason = "a descriptor that may be closed cannot be borrowed")]
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        if flags == -1 {
            CLOSED.fetch_or(1 << descriptor, Ordering::Relaxed);
        }
    }
    PIPE_IGNORED.store(super::signals::is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    FILE_SIZE_IGNORED.store(super::signals::is_ignored(libc::SIGXFSZ), Ordering::Relaxed);
}

/// Whether the standard stream `descriptor` (0, 1 or 2) was closed.
#[must_use]
pub fn was_closed(descriptor: u8) -> bool {
    // Named here, so that no linker leaves it out.
    std::hint::black_box(&BEFORE_MAIN);
    CLOSED.load(Ordering::Relaxed) & (1 << descriptor) != 0
}

/// Whether SIGPIPE was ignored.
#[must_use]
pub fn ignored_broken_pipes() -> bool {
    PIPE_IGNORED.load(Ordering::Relaxed)
}

/// Whether SIGXFSZ was ignored.
#[must_use]
pub fn ignored_file_sizes() -> bool {
    FILE_SIZE_IGNORED.load(Ordering::Relaxed)
}

/// Whether stdout and stderr are one open file, as after `2>&1`.
#[must_use]
pub fn is_output_shared() -> bool {
    if was_closed(1) || was_closed(2) {
        return false;
    }
    #[cfg(target_os = "linux")]
    {
        let us = std::process::id();
        // SAFETY: the call compares two numbers of our own table and takes no pointer.
        #[expect(unsafe_code, reason = "there is no safe way to compare open files")]
        let compared = unsafe { libc::syscall(libc::SYS_kcmp, us, us, 0, 1, 2) };
        if compared >= 0 {
            return compared == 0;
        }
    }
    // Where that may not be asked: two files of one name have a place each to write at, all else has none.
    let [one, other] = [rustix::stdio::stdout(), rustix::stdio::stderr()].map(rustix::fs::fstat);
    let (Ok(one), Ok(other)) = (one, other) else { return false };
    let is_file = rustix::fs::FileType::from_raw_mode(one.st_mode) == rustix::fs::FileType::RegularFile;
    !is_file && (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Lets go of everything that was inherited but the standard streams: a process that goes on for hours must not hold a
/// lock or a pipe of whoever started it. To be called first of all, when nothing has been opened yet.
pub fn keep_standard_streams_only() {
    #[cfg(target_os = "linux")]
    // SAFETY: nothing has been opened by this process yet, so that no owner of a descriptor is in it.
    #[expect(unsafe_code, reason = "the owners of these descriptors are in another process")]
    unsafe {
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32);
    }
}
