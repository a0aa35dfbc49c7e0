//! Flags that forbid changes to a file whatever its mode is (`chattr`).

use std::path::Path;

/// Returns the `chattr` command that lets `path` be changed, if a flag on it or on its folder forbids that.
#[cfg(target_os = "linux")]
pub(super) fn unlocked(path: &Path) -> Option<String> {
    path.ancestors().take(2).find_map(|place| {
        let command = command(flags(place)?)?;
        Some(format!("run as root: chattr {command} {}", crate::shell::path(place)))
    })
}

/// The argument of `chattr` that clears what `flags` forbids.
#[cfg(target_os = "linux")]
fn command(flags: rustix::fs::IFlags) -> Option<&'static str> {
    use rustix::fs::IFlags;
    let (is_fixed, only_grows) = (flags.contains(IFlags::IMMUTABLE), flags.contains(IFlags::APPEND));
    match (is_fixed, only_grows) {
        (true, true) => Some("-ia"),
        (true, false) => Some("-i"),
        (false, true) => Some("-a"),
        (false, false) => None,
    }
}

/// The flags of what is at `path`, if the file system has any.
#[cfg(target_os = "linux")]
fn flags(path: &Path) -> Option<rustix::fs::IFlags> {
    use rustix::fs::{CWD, Mode, OFlags, ioctl_getflags, openat};
    let is_plain = path.metadata().is_ok_and(|found| found.is_file() || found.is_dir());
    let options = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if !is_plain {
        return None;
    }
    let file = openat(CWD, path, options, Mode::empty()).ok()?;
    ioctl_getflags(&file).ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn unlocked(_path: &Path) -> Option<String> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::fs::IFlags;

    #[test]
    fn only_flags_that_forbid_changes_are_cleared() {
        let of = |flags| command(flags);
        assert_eq!(of(IFlags::IMMUTABLE), Some("-i"));
        assert_eq!(of(IFlags::APPEND | IFlags::NODUMP), Some("-a"));
        assert_eq!(of(IFlags::APPEND | IFlags::IMMUTABLE), Some("-ia"));
        assert_eq!(of(IFlags::NODUMP), None);
    }
}
