//! A child process that is reaped late: until then, its PID and its process group can't be reused.

use super::process::Exit;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions};

/// How the child `pid` ended, if it has. It is not reaped.
#[must_use]
pub fn ended(pid: u32) -> Option<Exit> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = rustix::process::waitid(WaitId::Pid(to_pid(pid)?), options).ok()??;
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Some(Exit::Code(code)),
        (None, Some(signal)) => Some(Exit::Signal(signal)),
        (None, None) => None,
    }
}

/// Reaps the child `pid`, if it has ended.
pub fn reap(pid: u32) {
    if let Some(pid) = to_pid(pid) {
        let _status = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}
