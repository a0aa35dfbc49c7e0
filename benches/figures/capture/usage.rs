//! The CPU time of an ended process, in nanoseconds, including threads that ended before it.

use rustix::process::{Pid, WaitId, WaitIdOptions};
use std::io;

/// Waits until the child `pid` has ended, leaves it a zombie, and returns its CPU time in milliseconds.
pub(super) fn of_ended(pid: u32) -> anyhow::Result<f64> {
    let pid = i32::try_from(pid)?;
    let child = Pid::from_raw(pid).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let waiting = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::Pid(child), waiting))?;
    let mut spent = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write to their arguments, which are valid for that.
    #[expect(unsafe_code, reason = "rustix knows no clock of another process")]
    let done = unsafe {
        let mut clock = 0;
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut spent) == 0
    };
    anyhow::ensure!(done, "no clock of process {pid}: {}", io::Error::last_os_error());
    Ok(spent.tv_sec as f64 * 1e3 + spent.tv_nsec as f64 / 1e6)
}
