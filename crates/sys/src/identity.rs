//! Process identity. A PID alone is not enough, because it may be reused.

#[cfg(windows)]
mod windows;

use serde::{Deserialize, Serialize};
#[cfg(windows)]
use windows::began;

/// A process, distinguished from any other process that has had its PID on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its PID.
    pub pid: u32,
    /// Its start time, in clock ticks since boot (Linux) or in 100 ns since 1601 (Windows); 0 if unknown.
    pub started: u64,
    /// The boot id of the machine; empty if unknown.
    pub boot: String,
}

impl Identity {
    /// This process.
    #[must_use]
    pub fn ours() -> Self {
        /// Kept with its PID: a child after a fork is another process.
        static OURS: std::sync::OnceLock<Identity> = std::sync::OnceLock::new();
        let pid = std::process::id();
        let read = || Self { pid, started: began(pid).unwrap_or_default(), boot: boot() };
        let ours = OURS.get_or_init(read);
        if ours.pid == pid { ours.clone() } else { read() }
    }

    /// Whether this process still runs. A zombie does not count.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        began(self.pid).is_some_and(|began| began == self.started) && self.boot == boot()
    }

    /// Sends `signal` to this process and never to another one with the same PID. Returns whether it was there.
    #[cfg(unix)]
    pub fn signal(&self, signal: super::process::Signal) -> bool {
        #[cfg(target_os = "linux")]
        {
            let Some(process) = super::process::hold(self.pid) else { return false };
            // Checked after opening the process: from here on the PID cannot be reused.
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

    /// Returns a handle to wait for the end of this process; `None` if it has ended or the system has no such
    /// handles.
    #[must_use]
    pub fn watch(&self) -> Option<ExitWatch> {
        #[cfg(target_os = "linux")]
        {
            let process = super::process::hold(self.pid)?;
            // Checked after opening the process: from here on the PID cannot be reused.
            let is_it = self.is_alive();
            is_it.then(|| super::descriptor::readable(process).ok().map(ExitWatch)).flatten()
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}

/// Returns a handle to wait for the end of the current process `pid`. The caller must check afterward which
/// process it is. `None` if there is none or the system has no such handles.
#[cfg(unix)]
#[must_use]
pub fn watch(pid: u32) -> Option<ExitWatch> {
    #[cfg(target_os = "linux")]
    {
        let process = super::process::hold(pid)?;
        super::descriptor::readable(process).ok().map(ExitWatch)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _unknown = pid;
        None
    }
}

/// A handle to wait for the end of a process; see [`Identity::watch`].
#[derive(Debug)]
pub struct ExitWatch(
    #[cfg(target_os = "linux")] tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>,
    #[cfg(not(target_os = "linux"))] std::convert::Infallible,
);

impl ExitWatch {
    /// Waits until the process has ended.
    pub async fn ended(&self) -> std::io::Result<()> {
        #[cfg(target_os = "linux")]
        return self.0.readable().await.map(|_| ());
        #[cfg(not(target_os = "linux"))]
        match self.0 {}
    }
}

/// Whether a process with this PID is running. A zombie does not count.
#[must_use]
pub fn is_alive(pid: u32) -> bool {
    began(pid).is_some()
}

/// Whether `pid` was killed or is exiting but still holds its files and locks. Always false except on Linux.
#[cfg(unix)]
#[must_use]
pub fn is_exiting(pid: u32) -> bool {
    #[cfg(target_os = "linux")]
    {
        /// `PF_EXITING` from the kernel's `sched.h`.
        const EXITING: u32 = 0x4;
        // Read the status first: a process that has taken the signal sets PF_EXITING afterward.
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

/// Whether the process `pid` was already running at `at`, so that it isn't another one that reuses the PID.
/// Accurate to 5 s (Linux; elsewhere always true for a running process).
///
/// Setting the clock forward makes processes look younger than they are; a process without newer activity then
/// counts as another one.
#[cfg(unix)]
#[must_use]
pub fn was_alive_at(pid: u32, at: jiff::Timestamp) -> bool {
    #[cfg(target_os = "linux")]
    {
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let began = began(pid).and_then(|began| i64::try_from(began / ticks).ok());
        let latest = at.as_second().saturating_add(5);
        began.is_some_and(|began| booted().saturating_add(began) <= latest)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _unknown = at;
        is_alive(pid)
    }
}

/// The boot time in seconds since 1970: `btime` of `/proc/stat`, a file that takes the kernel much longer to write.
#[cfg(target_os = "linux")]
fn booted() -> i64 {
    let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime).tv_sec;
    rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec.saturating_sub(up)
}

#[cfg(target_os = "linux")]
fn boot() -> String {
    static BOOT: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
        let id = read_proc("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        String::from_utf8_lossy(id.trim_ascii_end()).into_owned()
    });
    BOOT.clone()
}

#[cfg(not(target_os = "linux"))]
fn boot() -> String {
    String::new()
}

/// `/proc/PID/stat` (proc_pid_stat(5)).
#[cfg(target_os = "linux")]
pub(super) struct Stat {
    /// The name.
    pub(super) name: Vec<u8>,
    /// The fields after the name. The first one is field 3, the state.
    pub(super) fields: Vec<String>,
}

/// The state of the process `pid`.
#[cfg(target_os = "linux")]
pub(super) fn stat(pid: u32) -> Option<Stat> {
    stat_of(&open_stat(pid)?)
}

/// Opens the state of the process `pid`. The file stays with this process, even if another one gets its PID.
#[cfg(target_os = "linux")]
pub(super) fn open_stat(pid: u32) -> Option<std::fs::File> {
    open_proc(&format!("/proc/{pid}/stat")).ok()
}

/// Opens a file of /proc with one system call; with musl, the standard library needs two.
#[cfg(target_os = "linux")]
pub(super) fn open_proc(path: &str) -> std::io::Result<std::fs::File> {
    use rustix::fs::{Mode, OFlags};
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// The state in `file` from [`open_stat`]; `None` if the process has ended.
#[cfg(target_os = "linux")]
pub(super) fn stat_of(file: &std::fs::File) -> Option<Stat> {
    let stat = read_short(file)?;
    // The name may contain spaces and parentheses.
    let name =
        stat.iter().position(|byte| *byte == b'(')? + 1..stat.iter().rposition(|byte| *byte == b')')?;
    let fields = str::from_utf8(stat.get(name.end + 1..)?).ok()?;
    let fields = fields.split_ascii_whitespace().map(str::to_owned).collect();
    Some(Stat { name: stat.get(name)?.to_vec(), fields })
}

/// The fields of `/proc/PID/stat` after the name.
#[cfg(target_os = "linux")]
pub(super) fn stat_fields(pid: u32) -> Option<Vec<String>> {
    stat(pid).map(|stat| stat.fields)
}

/// Returns a file of /proc that is shorter than 4 KiB, which one call reads.
#[cfg(target_os = "linux")]
fn read_proc(path: &str) -> Option<Vec<u8>> {
    read_short(&open_proc(path).ok()?)
}

#[cfg(target_os = "linux")]
fn read_short(file: &std::fs::File) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 4 << 10];
    let length = std::os::unix::fs::FileExt::read_at(file, &mut bytes, 0).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

/// The start time of the running process `pid`: field 22.
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
    fn this_process_is_alive_and_an_earlier_one_with_its_pid_is_not() {
        let us = Identity::ours();
        assert!(us.is_alive() && !is_exiting(us.pid));
        assert!(!Identity { started: us.started - 1, ..us.clone() }.is_alive());
        assert!(!Identity { boot: "another".to_owned(), ..us }.is_alive());
    }

    #[test]
    fn a_process_was_not_alive_before_its_start() {
        let (now, us) = (crate::clock::now(), std::process::id());
        assert!(was_alive_at(us, now));
        assert!(!was_alive_at(us, now - jiff::SignedDuration::from_hours(24 * 365 * 30)));
        assert!(!was_alive_at(u32::MAX >> 1, now));
    }

    #[test]
    fn a_dead_process_is_not_alive_reaped_or_not() {
        let mut child = crate::test_processes::start(&mut std::process::Command::new("true")).unwrap();
        let pid = child.id();
        let identity = Identity { pid, started: began(pid).unwrap_or_default(), boot: boot() };
        let exited = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(
            rustix::process::WaitId::Pid(rustix::process::Pid::from_child(&child)),
            exited,
        )
        .unwrap();
        assert!(!identity.is_alive() && is_exiting(pid));
        child.wait().unwrap();
        assert!(!identity.is_alive());
    }
}

/// Reads and writes a PID that is 0 in a file if it is unknown: `#[serde(with = "sys::identity::zero_if_unknown")]`.
pub mod zero_if_unknown {
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes it.
    pub fn serialize<S: Serializer>(pid: &Option<u32>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(pid.unwrap_or(0))
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
        u32::deserialize(deserializer).map(|pid| Some(pid).filter(|pid| *pid != 0))
    }
}
