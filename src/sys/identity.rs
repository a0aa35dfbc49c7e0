//! Which process that is: a PID alone may be another's by now.

#[cfg(windows)]
mod windows;

use serde::{Deserialize, Serialize};
#[cfg(windows)]
use windows::began;

/// One process, told apart from any other that has or had its PID on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its PID.
    pub pid: u32,
    /// When it began, in clock ticks since the machine did (Linux) or in steps of 100 ns since 1601 (Windows); 0 where
    /// the system does not tell.
    pub started: u64,
    /// Which run of the machine that was; empty where the system does not tell.
    pub boot: String,
}

impl Identity {
    /// This process.
    #[must_use]
    pub fn ours() -> Self {
        let pid = std::process::id();
        Self { pid, started: began(pid).unwrap_or_default(), boot: boot() }
    }

    /// Whether this very process is still there; one that is dead and not yet reaped is not.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        began(self.pid).is_some_and(|began| began == self.started) && self.boot == boot()
    }

    /// Sends `signal` to this very process, and to no other that has its number by now; whether it was there.
    #[cfg(unix)]
    pub fn signal(&self, signal: super::process::Signal) -> bool {
        #[cfg(target_os = "linux")]
        {
            let Some(process) = super::process::hold(self.pid) else { return false };
            // Asked after the process was opened: from here on it cannot be another.
            self.is_alive() && rustix::process::pidfd_send_signal(process, signal).is_ok()
        }
        #[cfg(not(target_os = "linux"))]
        {
            let is_it = self.is_alive();
            if is_it {
                super::process::signal(self.pid, signal);
            }
            is_it
        }
    }

    /// Something that tells when this process ends; `None` if it has, or where the system cannot tell.
    #[must_use]
    pub fn watch(&self) -> Option<Ending> {
        #[cfg(target_os = "linux")]
        {
            let process = super::process::hold(self.pid)?;
            // Asked after the process was opened: from here on it cannot be another.
            let is_it = self.is_alive();
            is_it.then(|| super::descriptor::readable(process).ok().map(Ending)).flatten()
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}

/// Something that tells when the process `pid` ends, whichever it is: whoever asks looks afterwards which it was. `None` if
/// there is none, or where the system cannot tell.
#[cfg(unix)]
#[must_use]
pub fn watch(pid: u32) -> Option<Ending> {
    #[cfg(target_os = "linux")]
    {
        let process = super::process::hold(pid)?;
        super::descriptor::readable(process).ok().map(Ending)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _unknown = pid;
        None
    }
}

/// See [`Identity::watch`].
#[derive(Debug)]
pub struct Ending(
    #[cfg(target_os = "linux")] tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>,
    #[cfg(not(target_os = "linux"))] std::convert::Infallible,
);

impl Ending {
    /// Waits for the end.
    ///
    /// # Errors
    /// What the system says.
    pub async fn ended(&self) -> std::io::Result<()> {
        #[cfg(target_os = "linux")]
        return self.0.readable().await.map(|_| ());
        #[cfg(not(target_os = "linux"))]
        match self.0 {}
    }
}

/// Whether there is a living process with this PID, whichever it is; one that is dead and not yet reaped is not.
#[must_use]
pub fn is_alive(pid: u32) -> bool {
    began(pid).is_some()
}

/// Whether `pid` has been killed, or ends by itself, and does no more although the system has not taken it apart yet: it
/// still has its files and their locks then. Always false on other systems than Linux, which don't tell.
#[cfg(unix)]
#[must_use]
pub fn is_doomed(pid: u32) -> bool {
    #[cfg(target_os = "linux")]
    {
        /// `PF_EXITING` of the kernel's `sched.h`.
        const EXITING: u32 = 0x4;
        // In this order: who has taken the signal is ending.
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let is_killed = status.lines().any(|line| {
            let pending = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"));
            pending
                .is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask >> 8 & 1 == 1))
        });
        let flags = || stat_fields(pid)?.get(6)?.parse::<u32>().ok();
        is_killed || flags().is_some_and(|flags| flags & EXITING != 0)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _unknown = pid;
        false
    }
}

/// Whether the living process `pid` is one that was there at `at`, and not another that has its number since. To within
/// 5 s (Linux; elsewhere any living process with that number counts). A clock that is set forward makes every process
/// younger: one that has said nothing since counts as another.
#[cfg(unix)]
#[must_use]
pub fn was_alive_at(pid: u32, at: jiff::Timestamp) -> bool {
    #[cfg(target_os = "linux")]
    {
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let began = began(pid).and_then(|began| i64::try_from(began / ticks).ok());
        let latest = at.as_second().saturating_add(5);
        began.zip(booted()).is_some_and(|(began, booted)| booted.saturating_add(began) <= latest)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _unknown = at;
        is_alive(pid)
    }
}

/// When the machine began, in seconds since 1970.
#[cfg(target_os = "linux")]
fn booted() -> Option<i64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(target_os = "linux")]
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim_end().to_owned()
}

#[cfg(not(target_os = "linux"))]
fn boot() -> String {
    String::new()
}

/// The fields of `/proc/PID/stat` behind the name, which may itself hold spaces and parentheses: the first is the
/// third of the line, the state (proc_pid_stat(5)).
#[cfg(target_os = "linux")]
pub(super) fn stat_fields(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let fields = str::from_utf8(stat.get(after_name..)?).ok()?;
    Some(fields.split_ascii_whitespace().map(str::to_owned).collect())
}

/// When the living process `pid` began: field 22.
#[cfg(target_os = "linux")]
fn began(pid: u32) -> Option<u64> {
    let fields = stat_fields(pid)?;
    let is_dead = matches!(&**fields.first()?, "Z" | "X" | "x");
    fields.get(19)?.parse().ok().filter(|_| !is_dead)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn began(pid: u32) -> Option<u64> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
    rustix::process::test_kill_process(pid).ok().map(|()| 0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn we_are_alive_and_one_with_our_pid_that_began_earlier_is_not() {
        let us = Identity::ours();
        assert!(us.is_alive() && !is_doomed(us.pid));
        assert!(!Identity { started: us.started - 1, ..us.clone() }.is_alive());
        assert!(!Identity { boot: "another".to_owned(), ..us }.is_alive());
    }

    #[test]
    fn whoever_began_later_was_not_alive_then() {
        let (now, us) = (crate::sys::clock::now(), std::process::id());
        assert!(was_alive_at(us, now));
        assert!(!was_alive_at(us, now - jiff::SignedDuration::from_hours(24 * 365 * 30)));
        assert!(!was_alive_at(u32::MAX >> 1, now));
    }

    #[test]
    fn the_dead_are_not_alive_reaped_or_not() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        let identity = Identity { pid, started: began(pid).unwrap_or_default(), boot: boot() };
        let exited = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(
            rustix::process::WaitId::Pid(rustix::process::Pid::from_child(&child)),
            exited,
        )
        .unwrap();
        assert!(!identity.is_alive() && is_doomed(pid));
        child.wait().unwrap();
        assert!(!identity.is_alive());
    }
}
