//! Who a process comes from: its ancestors, what they were started with, and which of ours gave us a variable.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

/// The most ancestors that are looked at.
const MOST: usize = 100;

/// The process `pid` and those that it comes from, the nearest first, up to process 1, to one whose parent is in another
/// namespace, or to one whose parent is another user's and hidden. `None` if they could not be told: one of them ended meanwhile, there are more than 100, or the system does
/// not say (only Linux does).
#[must_use]
pub fn lineage(pid: u32) -> Option<Vec<u32>> {
    // A parent may end between two looks, and its child be another's then: what is read twice alike was so in between.
    let mut before = walk(pid);
    for _ in 0..16 {
        let now = walk(pid);
        if now.is_some() && now == before {
            return now.map(|found| found.into_iter().map(|(pid, _)| pid).collect());
        }
        before = now;
    }
    None
}

/// Whether there is such a process, of another user, of which the system tells us nothing more (`hidepid` of proc(5)). What
/// we started is never one.
#[cfg(target_os = "linux")]
fn is_hidden(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::PERM))
}

/// Each with when it began, by which it is told from another of the same number.
#[cfg(target_os = "linux")]
fn walk(pid: u32) -> Option<Vec<(u32, String)>> {
    let mut found = Vec::new();
    let mut next = pid;
    while next > 0 {
        if found.len() == MOST {
            return None;
        }
        let Some(fields) = super::identity::stat_fields(next) else {
            return (is_hidden(next) && !found.is_empty()).then_some(found);
        };
        found.push((next, fields.get(19)?.clone()));
        next = if next == 1 { 0 } else { fields.get(1)?.parse().ok()? };
    }
    (pid > 0).then_some(found)
}

#[cfg(not(target_os = "linux"))]
fn walk(_pid: u32) -> Option<Vec<(u32, String)>> {
    None
}

/// What the process `pid` calls itself (Linux).
#[must_use]
pub fn name(pid: u32) -> Option<Vec<u8>> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(name.strip_suffix(b"\n").map(<[u8]>::to_vec).unwrap_or(name))
}

/// The arguments that the process `pid` was started with, the first its name (Linux).
#[must_use]
pub fn arguments(pid: u32) -> Option<Vec<Vec<u8>>> {
    let mut line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    line.pop();
    Some(line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
}

/// This process's ancestors, the nearest first, without process 1 (Linux; of other systems only the parent is known).
#[must_use]
pub fn all() -> Vec<u32> {
    let first = Some(std::os::unix::process::parent_id());
    std::iter::successors(first, |pid| parent(*pid)).take_while(|pid| *pid > 1).take(MOST).collect()
}

/// The process that handed its environment on with the variable `name` set to what it is here, and does not have it
/// itself: of a hook, its agent (Linux). Where the variable is unset, or nobody's environment can be read, the nearest
/// ancestor that is no shell; 0 where that is not known, as without /proc.
#[must_use]
pub fn giver(name: &str) -> u32 {
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
    found.or_else(|| nearest(first, |pid| Some(!is_shell(pid)?))).unwrap_or(0)
}

/// The first of `pid` and those that it comes from that is the one; `None` as soon as that cannot be told of one.
fn nearest(mut pid: u32, is_it: impl Fn(u32) -> Option<bool>) -> Option<u32> {
    for _ in 0..MOST {
        if pid == 0 || is_it(pid)? {
            return Some(pid).filter(|pid| *pid > 0);
        }
        pid = parent(pid)?;
    }
    None
}

/// `None` where nobody can tell: a shell would soon be gone, and its agent taken for dead.
fn is_shell(pid: u32) -> Option<bool> {
    let shells = [&b"sh"[..], b"ash", b"bash", b"busybox", b"dash", b"fish", b"ksh", b"zsh"];
    Some(shells.contains(&&*name(pid)?))
}

/// `None` where nobody can tell.
fn environ(pid: u32) -> Option<Vec<u8>> {
    #[cfg(target_os = "linux")]
    return super::environ::settled(pid).ok();
    #[cfg(not(target_os = "linux"))]
    {
        let _unknown = pid;
        None
    }
}

/// Whether the process `pid` was started with the variable `name` set to something. `None` while it becomes another program;
/// false where its environment cannot be read.
#[must_use]
pub fn is_set(pid: u32, name: &str) -> Option<bool> {
    #[cfg(target_os = "linux")]
    let environment = match super::environ::of(pid) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return None,
        read => read.unwrap_or_default(),
    };
    #[cfg(not(target_os = "linux"))]
    let environment = environ(pid).unwrap_or_default();
    Some(environment.split(|byte| *byte == 0).any(|variable| {
        let value = variable.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value.is_some_and(|value| !value.is_empty())
    }))
}

fn parent(pid: u32) -> Option<u32> {
    // Files of this kind do not say how long they are.
    let mut stat = Vec::with_capacity(1 << 10);
    File::open(format!("/proc/{pid}/stat")).ok()?.read_to_end(&mut stat).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name in parentheses may have anything in it: `pid (name) state ppid`.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_parent_and_our_environment_are_known() {
        let own = std::process::id();
        assert!(parent(own).is_some_and(|parent| parent == std::os::unix::process::parent_id()));
        let found = ["PATH", "PAT", "MURMUR_TEST_NOBODY_HAS_THIS"].map(|name| is_set(own, name));
        assert_eq!(found, [Some(true), Some(false), Some(false)]);
    }

    #[test]
    fn a_lineage_leads_from_the_process_to_the_first() {
        let found = lineage(std::process::id()).unwrap();
        assert_eq!(found[..2], [std::process::id(), std::os::unix::process::parent_id()]);
        assert!(found.last().is_some_and(|last| parent(*last) == Some(0)), "{found:?}");
        assert_eq!(lineage(u32::MAX), None);
        assert_eq!(lineage(0), None);
    }

    #[test]
    fn a_process_is_known_by_what_it_was_started_with() {
        use std::io::{Read, Write};
        use std::process::{Command, Stdio};
        let mut child =
            Command::new("cat").arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Who answers has become that program.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let (found, called) = (arguments(child.id()), name(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found.unwrap(), [&b"cat"[..], b"-"]);
        assert_eq!(called.unwrap(), b"cat");
    }

    #[test]
    fn of_a_process_that_cannot_be_seen_nobody_says_that_it_is_no_shell() {
        assert_eq!(is_shell(std::process::id()), Some(false));
        assert_eq!(is_shell(u32::MAX), None);
        assert_eq!(nearest(u32::MAX, |pid| Some(!is_shell(pid)?)), None);
    }
}
