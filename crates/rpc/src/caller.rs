//! Identifies a client: a person, or a process of an agent. The kernel reports the process, and its ancestors show
//! which agent it belongs to.
//!
//! Every process of an agent descends from its host, which adopts orphans, even without an environment. A process
//! with murmur's variables in its environment belongs to an agent too, whatever its parent. docs/design/promises.md
//! lists known gaps.

use murmur_agent::invocation::{AGENT_VARIABLE, HOST_VARIABLE};
use murmur_core::permit::request::Answerer;
use std::path::Path;
use std::sync::OnceLock;
use sys::ancestors;
use sys::error::Failure;
use sys::failure;
use sys::peer::{self, Peer};
use tokio::net::UnixStream;

/// The process name of an agent's host, as `ps` shows it.
pub const HOST: &std::ffi::CStr = c"murmur-host";

/// The process name of a beat that was started by hand and hosts its agent itself.
pub const BEAT: &std::ffi::CStr = c"murmur-beat";

/// The role of an agent that directs others (spec 1, Manager Agent Restrictions).
pub const MANAGER: &str = "manager";

/// What a process is allowed to act as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerRole {
    /// Not an agent's process: a person's, or started by a person.
    Person,
    /// A process of an agent that directs others, and of no other agent.
    Manager,
    /// A process of an agent.
    Agent,
    /// Unknown.
    Unknown,
}

/// The owner of a process is unknown: it has just ended, or the system doesn't report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownOwner;

/// The process at the other end of a connection.
#[derive(Debug)]
pub struct Caller {
    peer: Option<Peer>,
    owner: OnceLock<Owner>,
}

/// The group of clients that a connection counts toward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Processes of no agent.
    Process,
    /// All processes below this host, including agents that it started.
    Host(u32),
    /// Processes of unknown owner.
    Unknown,
}

impl Caller {
    /// The process that connected `stream`.
    #[must_use]
    pub fn of(stream: &UnixStream) -> Self {
        Self { peer: Peer::of(stream).ok(), owner: OnceLock::new() }
    }

    /// A client in the group `owner`.
    #[cfg(test)]
    pub(super) fn of_owner(owner: Owner) -> Self {
        Self { peer: None, owner: owner.into() }
    }

    /// Its group, determined at the first call.
    pub(super) fn owner(&self) -> Owner {
        *self.owner.get_or_init(|| {
            let Some(peer) = &self.peer else { return Owner::Unknown };
            let owner = owner(peer.pid());
            if peer.is_there() { owner } else { Owner::Unknown }
        })
    }

    /// The nearest host that the process descends from; `None` if there is none. Only works on Linux.
    pub fn host(&self) -> Result<Option<u32>, UnknownOwner> {
        let peer = self.peer.as_ref().ok_or(UnknownOwner)?;
        let hosts = hosts(peer.pid()).ok_or(UnknownOwner)?;
        if peer.is_there() { Ok(hosts.first().copied()) } else { Err(UnknownOwner) }
    }

    /// What the process may act as now. On systems other than Linux, everyone counts as a person.
    #[must_use]
    pub fn role(&self) -> CallerRole {
        let Some(peer) = &self.peer else { return CallerRole::Unknown };
        let role = role(peer.pid());
        // If it has ended, its PID may have belonged to another process.
        if peer.is_there() { role } else { CallerRole::Unknown }
    }

    /// Whether it is the process `pid`.
    #[must_use]
    pub fn is_process(&self, pid: u32) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.pid() == pid && peer.is_there())
    }

    /// Whether it runs one of these programs, under any name. Always true on systems other than Linux.
    #[must_use]
    pub fn runs(&self, programs: &[&Path]) -> bool {
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::MetadataExt;
            let file = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
            let Some(peer) = &self.peer else { return false };
            let runs = file(Path::new(&format!("/proc/{}/exe", peer.pid())));
            runs.is_some() && programs.iter().any(|program| file(program) == runs) && peer.is_there()
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _unknown = programs;
            true
        }
    }

    /// Who answers, if this process may answer requests.
    #[must_use]
    pub fn answerer(&self) -> Option<Answerer> {
        let pid = self.peer.as_ref()?.pid();
        let program = ancestors::name(pid).map(|name| String::from_utf8_lossy(&name).into_owned());
        Some(Answerer { pid, program, terminal: peer::terminal(pid), channel: None })
    }

    /// Fails unless a person is asking. `what` completes "agents cannot …".
    pub fn require_person(&self, what: &str) -> Result<(), Failure> {
        require_person(self.role(), what)
    }

    /// Fails unless a person or an agent that directs others is asking. `what` completes "agents cannot …".
    pub fn require_manager(&self, what: &str) -> Result<(), Failure> {
        match self.role() {
            CallerRole::Manager => Ok(()),
            other => require_person(other, what),
        }
    }
}

/// Whether an agent's process listens at the other end of `stream`, so that its answers can't be trusted. Only works
/// on Linux.
#[must_use]
pub fn is_agents_listener(stream: &std::os::unix::net::UnixStream) -> bool {
    peer::listener(stream).and_then(hosts).is_some_and(|hosts| !hosts.is_empty())
}

/// Fails unless a person runs this process. `what` completes "agents cannot …".
pub fn require_person_here(what: &str) -> Result<(), Failure> {
    require_person(role(std::process::id()), what)
}

/// Fails if an agent runs this process. If the system doesn't report processes, the environment decides. `what`
/// completes "agents cannot …".
pub fn require_no_agent_here(what: &str) -> Result<(), Failure> {
    require_person(role_here(), what)
}

/// Fails if an agent runs this process, unless it directs others. `what` completes "agents cannot …".
pub fn require_manager_here(what: &str) -> Result<(), Failure> {
    match role_here() {
        CallerRole::Manager => Ok(()),
        other => require_person(other, what),
    }
}

fn role_here() -> CallerRole {
    match role(std::process::id()) {
        // For example in a container without /proc.
        CallerRole::Unknown if ancestors::name(std::process::id()).is_none() => by_environment(),
        found => found,
    }
}

fn by_environment() -> CallerRole {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if [AGENT_VARIABLE, HOST_VARIABLE].into_iter().any(is_set) {
        CallerRole::Agent
    } else {
        CallerRole::Person
    }
}

fn require_person(role: CallerRole, what: &str) -> Result<(), Failure> {
    match role {
        CallerRole::Person => Ok(()),
        CallerRole::Manager | CallerRole::Agent => {
            Err(failure!("an agent started this, and agents cannot {what}"; "do it yourself, in a terminal"))
        }
        CallerRole::Unknown => Err(
            failure!("cannot determine whether an agent started this, and agents cannot {what}"; "try again, in a terminal"),
        ),
    }
}

#[cfg(target_os = "linux")]
fn is_host(process: &ancestors::Ancestor) -> bool {
    [HOST, BEAT].iter().any(|host| host.to_bytes() == process.name)
}

/// The hosts that the process descends from, innermost first; `None` if unknown. Only works on Linux.
fn hosts(pid: u32) -> Option<Vec<u32>> {
    #[cfg(target_os = "linux")]
    {
        Some(hosts_among(&ancestors::lineage(pid)?))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _unknown = pid;
        Some(Vec::new())
    }
}

/// The hosts in a lineage. The process itself may be a host, but not its own agent.
#[cfg(target_os = "linux")]
fn hosts_among(lineage: &[ancestors::Ancestor]) -> Vec<u32> {
    lineage.iter().skip(1).filter(|ancestor| is_host(ancestor)).map(|ancestor| ancestor.pid).collect()
}

fn owner(pid: u32) -> Owner {
    hosts(pid).map_or(Owner::Unknown, |hosts| hosts.last().map_or(Owner::Process, |host| Owner::Host(*host)))
}

#[cfg(target_os = "linux")]
fn role(pid: u32) -> CallerRole {
    let Some(lineage) = ancestors::lineage(pid) else { return CallerRole::Unknown };
    let hosts = hosts_among(&lineage);
    if !hosts.is_empty() {
        let is_managers = |host: &u32| is_manager(&ancestors::arguments(*host).unwrap_or_default());
        return if hosts.iter().all(is_managers) { CallerRole::Manager } else { CallerRole::Agent };
    }
    // The daemon only starts agents through hosts; a host may have been killed.
    let us = std::process::id();
    if lineage[1..].iter().any(|ancestor| ancestor.pid == us) {
        return CallerRole::Agent;
    }
    let mut role = CallerRole::Person;
    for process in lineage {
        match ancestors::is_any_set(process.pid, &[AGENT_VARIABLE, HOST_VARIABLE]) {
            Some(true) => return CallerRole::Agent,
            Some(false) => {}
            None => role = CallerRole::Unknown,
        }
    }
    role
}

/// Whether these are the arguments of a manager's host. Arguments after `--` are its agent's.
#[cfg(target_os = "linux")]
fn is_manager(arguments: &[Vec<u8>]) -> bool {
    let mut own = arguments.iter().take_while(|argument| *argument != b"--");
    let mut roles = Vec::new();
    while let Some(argument) = own.next() {
        match argument.strip_prefix(b"--role") {
            Some(b"") => roles.push(own.next().map_or(&b""[..], |role| role)),
            Some([b'=', role @ ..]) => roles.push(role),
            _ => {}
        }
    }
    roles == [MANAGER.as_bytes()]
}

#[cfg(not(target_os = "linux"))]
fn role(pid: u32) -> CallerRole {
    if pid == std::process::id() { by_environment() } else { CallerRole::Person }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    fn arguments(line: &str) -> Vec<Vec<u8>> {
        line.split(' ').map(|argument| argument.as_bytes().to_vec()).collect()
    }

    #[test]
    fn a_hosts_arguments_identify_a_manager() {
        let is_manager = |line: &str| is_manager(&arguments(line));
        assert!(is_manager("murmur-host --data-dir /d --role manager --worktree /w"));
        assert!(is_manager("murmur host serve --role=manager -- --role worker"));
        assert!(!is_manager("murmur-host --role worker -- --role manager"));
        assert!(!is_manager("murmur-host --role worker --role manager"));
        assert!(!is_manager("murmur-host --beat"));
    }

    #[test]
    fn descendants_of_the_daemon_belong_to_agents() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let found = role(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        // In this test, this process is the daemon.
        assert_eq!(found, CallerRole::Agent);
        assert_eq!(role(std::process::id()), CallerRole::Person);
        assert_eq!(role(u32::MAX), CallerRole::Unknown);
    }
}
