//! Being process 1, as in a container: the kernel makes every orphan its child, and lets no signal end it.
//!
//! Process 1 does nothing else. murmur goes on in a child of it, knows nothing of that, and reaps its own children only.

use super::process::{self, Signal};
use super::signals::{self, PASSED_ON};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};
use std::collections::HashSet;
use std::io;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// How long those that are left have to end when murmur has: hosts, whose agents take 5 s at most.
const GRACE: Duration = Duration::from_secs(7);

/// The exit code where nobody knows how the worker ended.
const UNKNOWN: i32 = 1;

/// Where this process is the first of its namespace: goes on in a child, in which this returns `None`. The first process
/// itself passes signals on to that child, reaps whoever dies, and has those that are left end when the child has; then
/// this returns the child's exit code, or 128 and the signal that killed it.
///
/// Everywhere else it returns `None` and does nothing. To be called before there is a second thread.
///
/// # Errors
/// That there can be no child.
pub fn stay_behind() -> io::Result<Option<i32>> {
    if rustix::process::getpid() != Pid::INIT {
        return Ok(None);
    }
    let awaited: Vec<i32> = PASSED_ON.into_iter().chain([libc::SIGCHLD]).collect();
    let before = signals::block(&awaited);
    // Of children that are ignored, as whoever started us may have it, nobody is told when they die.
    let ignored_children = signals::is_ignored(libc::SIGCHLD);
    signals::default(libc::SIGCHLD);
    let put_back = || {
        if ignored_children {
            signals::ignore(libc::SIGCHLD);
        }
        signals::set_mask(&before);
    };
    // SAFETY: there is one thread, so that the child has all that this process has.
    #[expect(unsafe_code, reason = "a child that goes on with the same memory is what fork alone makes")]
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

/// Until `worker` is over. What happens while nobody waits is held back by the kernel, so none of it is missed.
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
        // Somebody else had its end; waiting for it would be waiting for ever.
        if matches!(rest, Dead::NoChildren) {
            return UNKNOWN;
        }
        if let Some(signal) = next(awaited, None) {
            process::signal(worker.as_raw_nonzero().get().unsigned_abs(), signal);
        }
    }
}

/// Tells those that became our children to end, and waits for as long as they may take. The kernel kills whoever is
/// there after us.
fn end_the_rest(awaited: &[i32]) {
    let deadline = Instant::now() + GRACE;
    let mut told = HashSet::new();
    loop {
        while matches!(reap(), Dead::Child(..)) {}
        let left = process::children();
        if left.is_empty() {
            return;
        }
        for child in left.into_iter().filter(|child| told.insert(*child)) {
            process::signal(child, Signal::TERM);
        }
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return;
        }
        // Whoever tells us to end meanwhile is told nothing new.
        let _signal = next(awaited, Some(rest));
    }
}

/// What there is to reap.
enum Dead {
    /// A child, and what an exit code says of its end.
    Child(Pid, i32),
    /// Nobody has died since.
    NoneYet,
    /// There is nobody who could.
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

/// Waits for one of the signals `awaited`, for `limit` at most, and returns the one that is to be passed on. A terminal
/// sends its own to the whole group, the child included, but that it is gone to the leader of the session only.
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
    // SAFETY: the set is initialised, `info` has room for the answer, and the limit is null or outlives the call.
    #[expect(unsafe_code, reason = "signal sets are C's")]
    let (came, info) = unsafe {
        let came = libc::sigtimedwait(&raw const set, info.as_mut_ptr(), limit);
        (came, info.assume_init())
    };
    let is_the_kernels = info.si_code > 0;
    if came == libc::SIGCHLD || is_the_kernels && came != libc::SIGHUP {
        return None;
    }
    Signal::from_named_raw(came)
}
