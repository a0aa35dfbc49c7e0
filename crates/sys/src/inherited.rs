//! The state that this process was started with. Rust's runtime changes it (it ignores SIGPIPE and opens `/dev/null`
//! for closed standard streams), and murmur handles SIGXFSZ. Commands that must run as if murmur weren't there get
//! the original state back.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The standard streams that were closed: bit n for descriptor n.
static CLOSED: AtomicU8 = AtomicU8::new(0);
/// Whether SIGPIPE was ignored.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Whether SIGXFSZ was ignored.
static FILE_SIZE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Runs before Rust's runtime.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[expect(unsafe_code, reason = "only the linker can register code that runs before the runtime")]
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
    // Referenced here, so that the linker keeps it.
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

/// Whether stdout and stderr are the same open file, as after `2>&1`.
#[must_use]
pub fn is_output_shared() -> bool {
    if was_closed(1) || was_closed(2) {
        return false;
    }
    #[cfg(target_os = "linux")]
    {
        let us = std::process::id();
        // SAFETY: the call compares two of our own descriptors and takes no pointer.
        #[expect(unsafe_code, reason = "rustix has no kcmp")]
        let compared = unsafe { libc::syscall(libc::SYS_kcmp, us, us, 0, 1, 2) };
        if compared >= 0 {
            return compared == 0;
        }
    }
    // Fallback where kcmp is not permitted: assume that two descriptors of one regular file are separate and that
    // anything else is shared.
    let [one, other] = [rustix::stdio::stdout(), rustix::stdio::stderr()].map(rustix::fs::fstat);
    let (Ok(one), Ok(other)) = (one, other) else { return false };
    let is_file = rustix::fs::FileType::from_raw_mode(one.st_mode) == rustix::fs::FileType::RegularFile;
    !is_file && (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Closes all inherited descriptors except the standard streams: a long-running process must not keep its parent's
/// locks and pipes open. Call this first, before anything is opened.
pub fn keep_standard_streams_only() {
    #[cfg(target_os = "linux")]
    // SAFETY: this process has opened nothing yet, so it owns no descriptor.
    #[expect(unsafe_code, reason = "the descriptors were inherited and have no owner here")]
    unsafe {
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32);
    }
}
