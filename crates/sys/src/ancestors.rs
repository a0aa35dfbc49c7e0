//! Ancestors of a process, their arguments, and the ancestor that set an environment variable.

#[cfg(target_os = "linux")]
use super::identity::Stat;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

/// Limit for walks up the process tree.
const MAX_DEPTH: usize = 100;

/// A process and its name (`comm`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestor {
    /// Its PID.
    pub pid: u32,
    /// Its name.
    pub name: Vec<u8>,
    /// Its start time, which distinguishes it from another process with the same PID.
    began: String,
}

/// Returns `pid` and its ancestors, nearest first. The list ends at process 1, at a process whose parent is in
/// another PID namespace, or at one whose parent belongs to another user and is hidden.
///
/// Returns `None` if a process ended during the walk, if there are more than 100 ancestors, or if the system does
/// not provide parents (only Linux does).
#[must_use]
pub fn lineage(pid: u32) -> Option<Vec<Ancestor>> {
    // A parent may exit between two reads and the child be reparented. A walk is consistent if no
    // process has changed when all are read again.
    (0..16)
        .find_map(|_| walk(pid).filter(|walk| walk.iter().all(Step::is_unchanged)))
        .map(|walk| walk.into_iter().map(|step| step.ancestor).collect())
}

/// A process on the walk.
#[derive(Debug)]
struct Step {
    ancestor: Ancestor,
    #[cfg(target_os = "linux")]
    parent: String,
    /// Its state, to be read again.
    #[cfg(target_os = "linux")]
    stat: File,
}

#[cfg(target_os = "linux")]
impl Step {
    fn of(pid: u32) -> Option<Self> {
        let stat = super::identity::open_stat(pid)?;
        let Stat { name, fields } = super::identity::stat_of(&stat)?;
        let (parent, began) = (fields.get(1)?.clone(), fields.get(19)?.clone());
        Some(Self { ancestor: Ancestor { pid, name, began }, parent, stat })
    }

    fn is_unchanged(&self) -> bool {
        let now = super::identity::stat_of(&self.stat);
        now.is_some_and(|now| now.name == self.ancestor.name && now.fields.get(1) == Some(&self.parent))
    }
}

#[cfg(not(target_os = "linux"))]
impl Step {
    fn is_unchanged(&self) -> bool {
        true
    }
}

/// Whether `pid` exists but belongs to another user and is hidden (`hidepid` in proc(5)). Our own children are
/// never hidden.
#[cfg(target_os = "linux")]
fn is_hidden(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::PERM))
}

#[cfg(target_os = "linux")]
fn walk(pid: u32) -> Option<Vec<Step>> {
    let mut found = Vec::new();
    let mut next = pid;
    while next > 0 {
        if found.len() == MAX_DEPTH {
            return None;
        }
        let Some(step) = Step::of(next) else {
            return (is_hidden(next) && !found.is_empty()).then_some(found);
        };
        next = if next == 1 { 0 } else { step.parent.parse().ok()? };
        found.push(step);
    }
    (pid > 0).then_some(found)
}

#[cfg(not(target_os = "linux"))]
fn walk(_pid: u32) -> Option<Vec<Step>> {
    None
}

/// The name (`comm`) of the process `pid` (Linux).
#[must_use]
pub fn name(pid: u32) -> Option<Vec<u8>> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(name.strip_suffix(b"\n").map(<[u8]>::to_vec).unwrap_or(name))
}

/// The arguments of the process `pid`, starting with its name (Linux).
#[must_use]
pub fn arguments(pid: u32) -> Option<Vec<Vec<u8>>> {
    let mut line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    line.pop();
    Some(line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
}

/// This process's ancestors, nearest first, without process 1 (Linux; elsewhere only the parent).
#[must_use]
pub fn all() -> Vec<u32> {
    let first = Some(std::os::unix::process::parent_id());
    std::iter::successors(first, |pid| parent(*pid)).take_while(|pid| *pid > 1).take(MAX_DEPTH).collect()
}

/// Returns the nearest ancestor that passed the variable `name` on with our value without having it itself. For a
/// hook this is the agent (Linux).
///
/// If the variable is unset or an environment is not readable, returns the nearest ancestor that isn't a shell.
/// `None` if that is unknown, for example without /proc.
#[must_use]
pub fn setter(name: &str) -> Option<u32> {
    let first = std::os::unix::process::parent_id();
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    let found = value.and_then(|value| {
        let mut mark = OsString::from(name);
        mark.push("=");
        mark.push(value);
        nearest(first, |pid| {
            let environment = environ(pid)?;
            Some(!environment.split(|byte| *byte == 0).any(|found| found == mark.as_bytes()))
        })
    });
    found.or_else(|| nearest(first, |pid| Some(!is_shell(pid)?)))
}

/// Returns the first of `pid` and its ancestors that matches `is_it`. `None` if the answer is unknown for one of
/// them.
fn nearest(mut pid: u32, is_it: impl Fn(u32) -> Option<bool>) -> Option<u32> {
    for _ in 0..MAX_DEPTH {
        if pid == 0 || is_it(pid)? {
            return Some(pid).filter(|pid| *pid > 0);
        }
        pid = parent(pid)?;
    }
    None
}

/// `None` if unknown. Treating it as false would pick a short-lived shell, and its agent would soon count as dead.
fn is_shell(pid: u32) -> Option<bool> {
    let shells = [&b"sh"[..], b"ash", b"bash", b"busybox", b"dash", b"fish", b"ksh", b"zsh"];
    Some(shells.contains(&&*name(pid)?))
}

/// `None` if it is not readable.
fn environ(pid: u32) -> Option<Vec<u8>> {
    #[cfg(target_os = "linux")]
    return super::environ::settled(pid).ok();
    #[cfg(not(target_os = "linux"))]
    {
        let _unknown = pid;
        None
    }
}

/// Whether the process `pid` was started with one of these variables, not empty. Returns `None` during an exec, and
/// false if the environment is not readable.
#[must_use]
pub fn is_any_set(pid: u32, names: &[&str]) -> Option<bool> {
    #[cfg(target_os = "linux")]
    let environment = match super::environ::of(pid) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return None,
        read => read.unwrap_or_default(),
    };
    #[cfg(not(target_os = "linux"))]
    let environment = environ(pid).unwrap_or_default();
    Some(environment.split(|byte| *byte == 0).any(|variable| {
        names.iter().any(|name| {
            let value = variable.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
            value.is_some_and(|value| !value.is_empty())
        })
    }))
}

fn parent(pid: u32) -> Option<u32> {
    // /proc files report no size.
    let mut stat = Vec::with_capacity(1 << 10);
    File::open(format!("/proc/{pid}/stat")).ok()?.read_to_end(&mut stat).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name in parentheses may contain anything: `pid (name) state ppid`.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_our_parent_and_environment() {
        let own = std::process::id();
        assert!(parent(own).is_some_and(|parent| parent == std::os::unix::process::parent_id()));
        let found = ["PATH", "PAT", "MURMUR_TEST_NOBODY_HAS_THIS"].map(|name| is_any_set(own, &[name]));
        assert_eq!(found, [Some(true), Some(false), Some(false)]);
    }

    #[test]
    fn a_lineage_ends_at_process_1() {
        let found = lineage(std::process::id()).unwrap();
        let pids: Vec<u32> = found.iter().map(|ancestor| ancestor.pid).collect();
        assert_eq!(pids[..2], [std::process::id(), std::os::unix::process::parent_id()]);
        assert_eq!(Some(&found[1].name), name(pids[1]).as_ref());
        assert!(pids.last().is_some_and(|last| parent(*last) == Some(0)), "{found:?}");
        assert_eq!(lineage(u32::MAX), None);
        assert_eq!(lineage(0), None);
    }

    #[test]
    fn reads_the_name_and_arguments_of_a_process() {
        use crate::test_processes::start;
        use std::io::{Read, Write};
        use std::process::{Command, Stdio};
        let mut child =
            start(Command::new("cat").arg("-").stdin(Stdio::piped()).stdout(Stdio::piped())).unwrap();
        // An answer means that the exec is done.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let (found, called) = (arguments(child.id()), name(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found.unwrap(), [&b"cat"[..], b"-"]);
        assert_eq!(called.unwrap(), b"cat");
    }

    #[test]
    fn a_hidden_process_is_not_known_to_be_a_shell() {
        assert_eq!(is_shell(std::process::id()), Some(false));
        assert_eq!(is_shell(u32::MAX), None);
        assert_eq!(nearest(u32::MAX, |pid| Some(!is_shell(pid)?)), None);
    }
}
