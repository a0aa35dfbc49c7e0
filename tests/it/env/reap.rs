//! Finds, ends and awaits processes that are not children of the test.

use super::fake_claude;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

fn open(pid: i64) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()
}

/// Waits until the process is dead, reaped or not.
pub(crate) fn wait_for_end(pid: i64) {
    if let Some(process) = open(pid) {
        wait(&process);
    }
}

fn wait(process: &OwnedFd) {
    let timeout = Timespec { tv_sec: 60, tv_nsec: 0 };
    loop {
        match rustix::event::poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(1..) => return,
            other => panic!("a process did not end: {other:?}"),
        }
    }
}

/// Whether the process is dead within so many seconds, reaped or not.
pub(crate) fn ends_within(pid: i64, seconds: i64) -> bool {
    let timeout = Timespec { tv_sec: seconds, tv_nsec: 0 };
    open(pid).is_none_or(|process| {
        rustix::event::poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)) != Ok(0)
    })
}

/// Sends the signal, if the process exists.
pub(crate) fn kill(pid: i64, signal: Signal) {
    if let Some(process) = open(pid) {
        let _gone = pidfd_send_signal(&process, signal);
    }
}

/// Whether the process is alive and a fake-claude; the PID may have been reused.
pub(crate) fn is_agent(pid: i64) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == Path::new(fake_claude()))
}

/// Kills every process whose environment has its data folder in `root`, until there is none.
pub(super) fn end_all(root: &Path) {
    loop {
        let found = ours(root);
        if found.is_empty() {
            return;
        }
        for (pid, process) in &found {
            kill(*pid, Signal::KILL);
            wait(process);
        }
    }
}

/// Every process whose environment has its data folder in `root`.
pub(super) fn all(root: &Path) -> Vec<i64> {
    ours(root).into_iter().map(|(pid, _)| pid).collect()
}

/// The processes, each with a handle that can't be reused.
fn ours(root: &Path) -> Vec<(i64, OwnedFd)> {
    let mark = format!("FAKE_CLAUDE_LOG={}/", root.display());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i64>().ok());
    let handles = pids.filter_map(|pid| Some((pid, open(pid)?)));
    handles.filter(|(pid, _)| has_variable(*pid, mark.as_bytes())).collect()
}

fn has_variable(pid: i64, mark: &[u8]) -> bool {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(|variable| variable.starts_with(mark))
}
