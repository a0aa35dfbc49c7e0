//! Processes: how they end, and killing all their descendants.
//!
//! A process that calls [`adopt_orphans`] becomes the parent of every orphaned descendant, so the kernel itself
//! can tell when no child is left.

use rustix::io::Errno;
pub use rustix::process::Signal;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// Makes this process a child subreaper, so that orphaned descendants become its children (Linux; does nothing
/// elsewhere).
pub fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// The variables by which git tells the programs that it starts, such as hooks, which repository they are in.
const GIT_PLACE: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_PREFIX",
];

/// Lets `command` find the repository of its own folder, even if a git hook started this process.
pub fn without_git_place(command: &mut tokio::process::Command) {
    for name in GIT_PLACE {
        command.env_remove(name);
    }
}

/// The user that this process acts as.
#[must_use]
pub fn own_user() -> u32 {
    static USER: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| rustix::process::geteuid().as_raw());
    *USER
}

/// Starts a new session without a terminal, with this process as its leader.
pub fn lead_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Our process group. `None` if its leader is outside our PID namespace.
#[must_use]
pub fn group() -> Option<Pid> {
    // SAFETY: the call takes no arguments and cannot fail.
    #[expect(unsafe_code, reason = "rustix assumes that the group has a PID")]
    let group = unsafe { libc::getpgrp() };
    Pid::from_raw(group)
}

/// Whether this process leads its session.
#[must_use]
pub fn leads_session() -> bool {
    // SAFETY: the call takes no pointer.
    #[expect(unsafe_code, reason = "rustix assumes that the session has a PID")]
    let session = unsafe { libc::getsid(0) };
    Pid::from_raw(session) == Some(rustix::process::getpid())
}

/// Sets the name that `ps` and `pgrep` show for this process (Linux, 15 bytes).
pub fn call_ourselves(name: &std::ffi::CStr) {
    #[cfg(target_os = "linux")]
    let _cosmetic = rustix::thread::set_name(name);
    #[cfg(not(target_os = "linux"))]
    let _unused = name;
}

/// Redirects stdout to `/dev/null`, so that its reader sees the end of the pipe.
pub fn close_stdout() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(null)?;
    Ok(())
}

/// Has the system kill this process after `limit`, even if it is stuck.
pub fn end_after(limit: Duration) {
    let seconds = libc::c_uint::try_from(limit.as_secs().max(1)).unwrap_or(libc::c_uint::MAX);
    // SAFETY: `alarm` takes no pointer, and nothing here handles SIGALRM, which then ends the process.
    #[expect(unsafe_code, reason = "rustix has no alarm")]
    unsafe {
        libc::alarm(seconds);
    }
}

/// Makes `command`'s process the leader of a new process group and kills it when this process dies, however that
/// happens (parent-death signal, Linux).
pub fn bind_to_us(command: &mut tokio::process::Command) {
    command.process_group(0);
    #[cfg(target_os = "linux")]
    {
        let us = rustix::process::getpid();
        let bind = move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent died before the signal was set, so the child must exit now.
            if rustix::process::getppid() == Some(us) { Ok(()) } else { Err(Errno::SRCH.into()) }
        };
        // SAFETY: between fork and exec the closure makes two system calls and only reads its own copy of a PID.
        // It neither allocates nor locks.
        #[expect(unsafe_code, reason = "a parent-death signal can only be set between fork and exec")]
        unsafe {
            command.pre_exec(bind);
        }
    }
}

/// Sends `signal` to the process `pid`. Does nothing if it has ended.
pub fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _gone = rustix::process::kill_process(pid, signal);
    }
}

/// Sends `signal` to the process `pid` if `is_it` confirms its identity. The process is held by a pidfd meanwhile,
/// so the signal cannot hit another one that reuses the PID.
pub fn signal_if(pid: u32, signal: Signal, is_it: impl FnOnce() -> bool) {
    #[cfg(target_os = "linux")]
    if let Some(process) = hold(pid)
        && is_it()
    {
        let _gone = rustix::process::pidfd_send_signal(process, signal);
    }
    #[cfg(not(target_os = "linux"))]
    if is_it() {
        self::signal(pid, signal);
    }
}

/// Sends `signal` to the process group of `leader`.
pub fn signal_group(leader: u32, signal: Signal) {
    if let Some(leader) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _gone = rustix::process::kill_process_group(leader, signal);
    }
}

/// How a process ended: its exit code, or the signal that killed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }
}

/// Kills all descendants of this process repeatedly until none are left, and reaps them. Must not be called while
/// a child has to survive.
///
/// # Errors
/// The number of processes left after `timeout`, for example because they belong to another user.
pub async fn end_all_children(timeout: Duration) -> Result<(), usize> {
    if !any_child() {
        return Ok(());
    }
    let deadline = tokio::time::Instant::now() + timeout;
    let mut died = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child()).ok();
    loop {
        let left = descendants(std::process::id());
        for pid in &left {
            signal(*pid, Signal::KILL);
        }
        if !any_child() {
            return Ok(());
        }
        let next = async {
            match &mut died {
                Some(died) => {
                    died.recv().await;
                }
                None => std::future::pending().await,
            }
        };
        // A child may fork between the listing and the kill, and several deaths may cause one SIGCHLD, so check
        // periodically as well.
        let look_again = tokio::time::timeout(Duration::from_millis(20), next);
        if tokio::time::timeout_at(deadline, look_again).await.is_err() {
            return Err(left.len());
        }
    }
}

/// Waits until this process has no child left, adopted orphans included, and reaps them. Must not be called while
/// somebody else waits for a child. Cancel safe.
pub async fn all_children_ended() {
    let mut died = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child()).ok();
    while any_child() {
        match &mut died {
            Some(died) => _ = died.recv().await,
            None => std::future::pending().await,
        }
    }
}

/// Kills every process of ours, except this one, that has all of `marks` (`NAME=value`) in its environment,
/// repeatedly until none are left. This reaches the rest of a process tree whose root died. Does nothing except on
/// Linux.
///
/// Waits for the killed processes to end, but at most 2 s.
pub fn kill_marked(marks: &[OsString]) {
    let us = std::process::id();
    for _ in 0..200 {
        let marked = processes().filter(|pid| *pid != us && kill_if_marked(*pid, marks)).count();
        if marked == 0 {
            return;
        }
        super::pause::pause(Duration::from_millis(10));
    }
}

/// Kills the process `pid` if it has `marks`. Returns true as well during an exec, when its environment is
/// unknown. The process is held by a pidfd meanwhile, so the kill cannot hit another one that reuses the PID.
#[cfg(target_os = "linux")]
fn kill_if_marked(pid: u32, marks: &[OsString]) -> bool {
    let first = has_marks(pid, marks);
    if first != Some(true) {
        return first.is_none();
    }
    let Some(process) = hold(pid) else { return false };
    let is_it = has_marks(pid, marks);
    if is_it == Some(true) {
        let _gone = rustix::process::pidfd_send_signal(process, Signal::KILL);
    }
    is_it != Some(false)
}

#[cfg(not(target_os = "linux"))]
fn kill_if_marked(_pid: u32, _marks: &[OsString]) -> bool {
    false
}

/// Opens a pidfd for `pid`.
#[cfg(target_os = "linux")]
pub(super) fn hold(pid: u32) -> Option<std::os::fd::OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

/// Returns `None` during an exec.
#[cfg(target_os = "linux")]
fn has_marks(pid: u32, marks: &[OsString]) -> Option<bool> {
    match super::environ::of(pid) {
        Ok(environment) => {
            let has =
                |mark: &OsString| environment.split(|byte| *byte == 0).any(|found| found == mark.as_bytes());
            Some(!environment.is_empty() && marks.iter().all(has))
        }
        Err(error) => (error.kind() != io::ErrorKind::WouldBlock).then_some(false),
    }
}

/// Reaps dead children except `spared`, which has a waiter of its own, and `others`, which are reaped later. Without
/// this, adopted orphans (see [`adopt_orphans`]) stay zombies while this process lives.
pub fn reap_but(spared: Option<u32>, others: &[u32]) {
    let is_dead = |id: WaitId<'_>| {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(rustix::process::waitid(id, options), Ok(Some(_)))
    };
    let spared_pid = spared.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    // Usually `spared` itself died. Then everything ends soon and nothing else needs to be reaped.
    if spared_pid.is_some_and(|pid| is_dead(WaitId::Pid(pid))) || !is_dead(WaitId::All) {
        return;
    }
    let dead = children_that_are_dead();
    for pid in dead.into_iter().filter(|pid| Some(*pid) != spared && !others.contains(pid)) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _reaped = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

#[cfg(target_os = "linux")]
fn children_that_are_dead() -> Vec<u32> {
    let us = std::process::id().to_string();
    let is_dead = |pid: &u32| {
        super::identity::stat_fields(*pid).is_some_and(|fields| {
            fields.first().is_some_and(|state| state == "Z") && fields.get(1) == Some(&us)
        })
    };
    processes().filter(is_dead).collect()
}

#[cfg(not(target_os = "linux"))]
fn children_that_are_dead() -> Vec<u32> {
    Vec::new()
}

/// All processes on the system.
fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether this process has a child, after reaping the dead ones.
fn any_child() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// All descendants of `root`, parents before children, from `/proc`. Empty if there is no `/proc`.
#[must_use]
pub fn descendants(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in processes() {
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(children.remove(&pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// The children of this process, zombies included, from `/proc`.
#[must_use]
pub fn children() -> Vec<u32> {
    let us = std::process::id();
    processes().filter(|pid| parent(*pid) == Some(us)).collect()
}

/// The parent of `pid`: field 4 of `/proc/PID/stat`.
#[cfg(target_os = "linux")]
fn parent(pid: u32) -> Option<u32> {
    super::identity::stat_fields(pid)?.get(1)?.parse().ok()
}

/// Unknown on this system.
#[cfg(not(target_os = "linux"))]
fn parent(_pid: u32) -> Option<u32> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::test_processes::start;
    use std::process::Command;

    /// During an exec the environment is briefly not readable.
    #[test]
    fn a_process_is_found_by_its_marks_during_an_exec() {
        let mark =
            format!("MURMUR_TEST_MARK={:016x}", u64::from_be_bytes(super::super::random::bytes().unwrap()));
        let (name, value) = mark.split_once('=').unwrap();
        for _ in 0..100 {
            let mut command = Command::new("env");
            let mut child = start(command.args(["env", "env", "sleep", "60"]).env(name, value)).unwrap();
            kill_marked(&[OsString::from(&mark)]);
            assert_eq!(child.wait().unwrap().signal(), Some(9));
        }
    }
}
