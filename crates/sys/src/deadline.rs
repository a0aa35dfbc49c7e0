//! Time limits for this process and for its waits.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether the timer belongs to [`lock_within`] and not to [`exit_after`].
static INTERRUPTS: AtomicBool = AtomicBool::new(false);

extern "C" fn ring(_signal: libc::c_int) {
    if !INTERRUPTS.load(Ordering::Relaxed) {
        // SAFETY: `_exit` is async-signal-safe (signal-safety(7)), and nothing of this process runs after it.
        #[expect(unsafe_code, reason = "only this ends a stuck process with a chosen exit code")]
        unsafe {
            libc::_exit(0);
        }
    }
}

/// Ends this process with exit code 0 after `limit`, even if it is stuck. For a process that must not make its
/// caller fail.
pub fn exit_after(limit: Duration) {
    // SAFETY: the handler is async-signal-safe and lives as long as the process. SA_RESTART is unset, so that the
    // signal interrupts a wait for a lock.
    #[expect(unsafe_code, reason = "rustix installs no handlers")]
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = ring as *const () as usize;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        // The parent may have blocked the signal.
        let mut rings: libc::sigset_t = MaybeUninit::zeroed().assume_init();
        libc::sigemptyset(&raw mut rings);
        libc::sigaddset(&raw mut rings, libc::SIGALRM);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const rings, std::ptr::null_mut());
    }
    set(timer(limit, Duration::ZERO));
}

/// Locks `file`, waiting at most `timeout` for another holder. Returns whether it got the lock.
///
/// Call this from one thread only, in a process that has called [`exit_after`].
pub fn lock_within(file: &File, timeout: Duration) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => return Ok(true),
        Err(Errno::WOULDBLOCK) if !timeout.is_zero() => {}
        Err(Errno::WOULDBLOCK) => return Ok(false),
        Err(errno) => return Err(errno.into()),
    }
    INTERRUPTS.store(true, Ordering::Relaxed);
    // Repeats, because the first signal may arrive before the wait has begun.
    let last = set(timer(timeout, timeout));
    let taken = rustix::fs::flock(file, FlockOperation::LockExclusive);
    set(last);
    INTERRUPTS.store(false, Ordering::Relaxed);
    match taken {
        Ok(()) => Ok(true),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn timer(first: Duration, then: Duration) -> libc::itimerval {
    let value = |length: Duration| libc::timeval {
        tv_sec: length.as_secs().try_into().unwrap_or(i32::MAX.into()),
        tv_usec: length.subsec_micros() as _,
    };
    libc::itimerval { it_value: value(first), it_interval: value(then) }
}

/// Sets the timer and returns its previous value.
fn set(timer: libc::itimerval) -> libc::itimerval {
    let mut before = self::timer(Duration::ZERO, Duration::ZERO);
    // SAFETY: both pointers are to values that outlive the call.
    #[expect(unsafe_code, reason = "rustix has no interval timer for all Unix systems")]
    unsafe {
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, &raw mut before);
    }
    before
}

/// Reads `from` to its end, at most `most` bytes.
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] if the end isn't reached within `limit`.
pub fn read_within(from: impl AsFd, limit: Duration, most: usize) -> io::Result<Vec<u8>> {
    let begun = Instant::now();
    let (mut bytes, mut room) = (Vec::new(), [0; 16 << 10]);
    while bytes.len() < most {
        let left = limit.checked_sub(begun.elapsed()).ok_or(io::ErrorKind::TimedOut)?;
        let left = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(&from, PollFlags::IN)], left.as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        let wanted = room.len().min(most - bytes.len());
        match rustix::io::read(&from, &mut room[..wanted]) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&room[..read]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn reads_to_the_end_or_times_out() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(&[b'x'; 3000]).unwrap();
        let late = read_within(&reader, Duration::from_millis(1), 5000).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        writer.write_all(&[b'x'; 3000]).unwrap();
        assert_eq!(read_within(&reader, Duration::from_secs(60), 1000).unwrap().len(), 1000);
        drop(writer);
        assert_eq!(read_within(&reader, Duration::from_secs(60), 5000).unwrap().len(), 2000);
        assert_eq!(read_within(&reader, Duration::from_secs(60), 5000).unwrap(), b"");
    }
}
