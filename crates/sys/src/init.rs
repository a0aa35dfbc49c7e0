//! Running as process 1, as in a container: the kernel reparents every orphan to it, and signals don't end it by
//! default.
//!
//! Process 1 does nothing but that. murmur itself runs in a child and reaps only its own children.

use super::process::{self, Signal};
use super::signals::{self, PASSED_ON};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};
use std::collections::HashSet;
use std::io;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// Time for the remaining processes to end after murmur: hosts, whose agents take up to 5 s.
const GRACE: Duration = Duration::from_secs(7);

/// The exit code if the worker's is unknown.
const UNKNOWN: i32 = 1;

/// If this process is process 1, forks a worker and returns `None` in it. Process 1 itself forwards signals to the
/// worker, reaps orphans, ends the remaining processes after the worker has ended, and returns the worker's exit
/// code, or 128 plus the signal that killed it.
///
/// Otherwise returns `None` and does nothing. Call this while there is only one thread.
pub fn stay_behind() -> io::Result<Option<i32>> {
    if rustix::process::getpid() != Pid::INIT {
        return Ok(None);
    }
    let awaited: Vec<i32> = PASSED_ON.into_iter().chain([libc::SIGCHLD]).collect();
    let before = signals::block(&awaited);
    // If the parent ignored SIGCHLD, we would not be told about dead children.
    let ignored_children = signals::is_ignored(libc::SIGCHLD);
    signals::default(libc::SIGCHLD);
    let put_back = || {
        if ignored_children {
            signals::ignore(libc::SIGCHLD);
        }
        signals::set_mask(&before);
    };
    // SAFETY: there is one thread, so the child is a complete copy of this process.
    #[expect(unsafe_code, reason = "there is no safe fork")]
    let forked = unsafe { libc::fork() };
    match Pid::from_raw(forked) {
        _ if forked < 0 => {
            let error = io::Error::last_os_error();
            put_back();
            Err(error)
        }
        None => {
            put_back();
            Ok(None)
        }
        Some(worker) => {
            process::call_ourselves(c"murmur-init");
            let code = attend(worker, &awaited);
            end_the_rest(&awaited);
            Ok(Some(code))
        }
    }
}

/// Runs until `worker` has ended. Signals are blocked between waits, so none is missed.
fn attend(worker: Pid, awaited: &[i32]) -> i32 {
    let mut code = None;
    loop {
        let rest = loop {
            match reap() {
                Dead::Child(pid, ended) if pid == worker => code = Some(ended),
                Dead::Child(..) => {}
                rest @ (Dead::NoneYet | Dead::NoChildren) => break rest,
            }
        };
        if let Some(code) = code {
            return code;
        }
        // The worker was already reaped; waiting would never end.
        if matches!(rest, Dead::NoChildren) {
            return UNKNOWN;
        }
        if let Some(signal) = next(awaited, None) {
            process::signal(worker.as_raw_nonzero().get().unsigned_abs(), signal);
        }
    }
}

/// Terminates the remaining children and waits for them. The kernel kills the others after us.
fn end_the_rest(awaited: &[i32]) {
    let deadline = Instant::now() + GRACE;
    let mut terminated = HashSet::new();
    loop {
        while matches!(reap(), Dead::Child(..)) {}
        let left = process::children();
        if left.is_empty() {
            return;
        }
        for child in left.into_iter().filter(|child| terminated.insert(*child)) {
            process::signal(child, Signal::TERM);
        }
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return;
        }
        // A further termination signal changes nothing.
        let _signal = next(awaited, Some(rest));
    }
}

/// The result of reaping one child.
enum Dead {
    /// A child and its exit code.
    Child(Pid, i32),
    /// No child has died since.
    NoneYet,
    /// There are no children.
    NoChildren,
}

fn reap() -> Dead {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                return Dead::Child(pid, status.exit_status().or(signal).unwrap_or(UNKNOWN));
            }
            Ok(None) => return Dead::NoneYet,
            Err(Errno::INTR) => {}
            Err(_) => return Dead::NoChildren,
        }
    }
}

/// Waits up to `limit` for one of the signals `awaited`, and returns it if it has to be forwarded. A terminal
/// sends its signals to the whole group, including the child, except SIGHUP, which goes to the session leader.
fn next(awaited: &[i32], limit: Option<Duration>) -> Option<Signal> {
    let set = signals::set_of(awaited);
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let limit = limit.and_then(|limit| {
        Some(libc::timespec {
            tv_sec: limit.as_secs().try_into().ok()?,
            tv_nsec: limit.subsec_nanos().into(),
        })
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the set is initialized, `info` has room for the result, and the limit is null or outlives the call.
    #[expect(unsafe_code, reason = "rustix has no signal sets")]
    let (received, info) = unsafe {
        let received = libc::sigtimedwait(&raw const set, info.as_mut_ptr(), limit);
        (received, info.assume_init())
    };
    let is_the_kernels = info.si_code > 0;
    if received == libc::SIGCHLD || is_the_kernels && received != libc::SIGHUP {
        return None;
    }
    Signal::from_named_raw(received)
}
