//! Who this process comes from: whether one of its ancestors has a variable in its environment, and which of them gave
//! it one.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

/// The most ancestors that are looked at.
const MOST: usize = 100;

/// Whether this process, or one that it comes from, was started with the variable `name` set to something (Linux; of
/// other systems only its own environment is known).
#[must_use]
pub fn have(name: &str) -> bool {
    if std::env::var_os(name).is_some_and(|value| !value.is_empty()) {
        return true;
    }
    let first = Some(std::os::unix::process::parent_id());
    let ancestors = std::iter::successors(first, |pid| parent(*pid)).take_while(|pid| *pid > 1);
    ancestors.take(MOST).any(|pid| is_set(pid, name))
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
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    let shells = [&b"sh"[..], b"ash", b"bash", b"busybox", b"dash", b"fish", b"ksh", b"zsh"];
    Some(shells.contains(&name.trim_ascii_end()))
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

fn is_set(pid: u32, name: &str) -> bool {
    let environment = environ(pid).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| {
        let value = variable.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value.is_some_and(|value| !value.is_empty())
    })
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
    fn an_ancestor_is_found_by_its_environment() {
        let own = std::process::id();
        assert!(parent(own).is_some_and(|parent| parent == std::os::unix::process::parent_id()));
        assert!(!have("MURMUR_TEST_NOBODY_HAS_THIS"));
        assert!(is_set(own, "PATH") && have("PATH"));
        assert!(!is_set(own, "PAT"));
    }

    #[test]
    fn of_a_process_that_cannot_be_seen_nobody_says_that_it_is_no_shell() {
        assert_eq!(is_shell(std::process::id()), Some(false));
        assert_eq!(is_shell(u32::MAX), None);
        assert_eq!(nearest(u32::MAX, |pid| Some(!is_shell(pid)?)), None);
    }
}
