//! The data read from all sources, not merged yet: the only part of `agents` that reads.

use super::Sources;
use super::hosted::Hosted;
use super::session::{self, Session};
use jiff::Timestamp;
use murmur_core::id::{AgentId, SessionId};
use murmur_host::discover::{self, ANSWER_TIMEOUT, HostInfo};
use murmur_store::pulse::folder::{self, FoundPulse};
use murmur_store::pulse::{Pulse, State, task};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use sys::identity;

/// The data from all sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownAgents {
    /// Hosts, by agent id.
    pub hosts: BTreeMap<AgentId, Hosted>,
    /// Pulses, by file.
    pub pulses: BTreeMap<PathBuf, KnownPulse>,
    /// Claude Code's sessions, by file.
    pub sessions: BTreeMap<PathBuf, KnownSession>,
}

/// A pulse and related data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPulse {
    /// The pulse.
    pub pulse: Pulse,
    /// Its time.
    pub at: Timestamp,
    /// Whether its process is alive; `None` if unknown.
    pub is_alive: Option<bool>,
    /// The agent's task, if set.
    pub task: Option<String>,
}

/// A session and its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSession {
    /// The session.
    pub session: Session,
    /// The agent's task, if set.
    pub task: Option<String>,
}

impl KnownPulse {
    /// Its session, if known.
    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        self.pulse.session_id.as_ref().filter(|session| !session.as_str().is_empty())
    }

    /// Whether `later` is of the same agent in the same state, so that no other agent is affected.
    fn is_continued_by(&self, later: &Self) -> bool {
        let (one, other) = (&self.pulse, &later.pulse);
        let is_same_agent =
            (&one.agent_id, &one.session_id, one.pid) == (&other.agent_id, &other.session_id, other.pid);
        is_same_agent && (one.state, self.is_alive) == (other.state, later.is_alive) && self.at <= later.at
    }

    /// Its process, unless that is dead.
    fn process(&self) -> Option<u32> {
        process(&self.pulse).filter(|_| self.is_alive != Some(false))
    }
}

/// What another read of a pulse found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reread {
    /// The same.
    Same,
    /// A later pulse of the same agent in the same state.
    Continued,
    /// Anything else.
    Other,
}

impl KnownAgents {
    /// Reads everything. Missing folders count as empty.
    pub async fn read(sources: &Sources) -> io::Result<Self> {
        let mut known = Self::default();
        for seen in discover::scan(&sources.dir.hosts(), ANSWER_TIMEOUT).await? {
            known.host(sources, &seen);
        }
        known.read_pulses(sources)?;
        known.read_sessions(sources);
        Ok(known)
    }

    /// Adds or updates a host.
    pub fn host(&mut self, sources: &Sources, seen: &HostInfo) {
        let task = task::find(&sources.dir, seen.agent_id.as_str());
        let hosted = Hosted { task, ..Hosted::of(seen, sources.claude.as_deref()) };
        self.hosts.insert(seen.agent_id.clone(), hosted);
    }

    /// Rereads all pulses.
    pub fn read_pulses(&mut self, sources: &Sources) -> io::Result<()> {
        let found = folder::all(&sources.dir)?.into_iter();
        self.pulses = found.filter_map(|found| known_pulse(sources, found, None)).collect();
        Ok(())
    }

    /// Rereads the pulse at `path`. Returns what that means for the list of agents.
    pub fn read_pulse(&mut self, sources: &Sources, path: &Path) -> Reread {
        let before = self.pulses.get(path);
        match folder::read(path).and_then(|found| known_pulse(sources, found, before)) {
            Some((path, known_pulse)) => {
                let reread = match before {
                    Some(before) if *before == known_pulse => Reread::Same,
                    Some(before) if before.is_continued_by(&known_pulse) => Reread::Continued,
                    _ => Reread::Other,
                };
                self.pulses.insert(path, known_pulse);
                reread
            }
            None if self.pulses.remove(path).is_some() => Reread::Other,
            None => Reread::Same,
        }
    }

    /// Rereads all sessions; none if they cannot be read, see [`Sources::sessions`].
    pub fn read_sessions(&mut self, sources: &Sources) {
        let Some(claude) = &sources.claude else { return };
        let found = session::all(claude).unwrap_or_default().into_iter();
        self.sessions = found.map(|(path, session)| (path, with_task(sources, session))).collect();
    }

    /// Rereads the session at `path`.
    pub fn read_session(&mut self, sources: &Sources, path: &Path) {
        let found = sources.claude.as_deref().and_then(|claude| session::read(path, claude));
        match found {
            Some(session) => _ = self.sessions.insert(path.to_path_buf(), with_task(sources, session)),
            None => _ = self.sessions.remove(path),
        }
    }

    /// Checks again which processes are alive, of those for which `is_wanted` is true.
    pub fn recheck(&mut self, sources: &Sources, is_wanted: impl Fn(u32) -> bool) {
        let wanted = |known_pulse: &&mut KnownPulse| known_pulse.process().is_some_and(&is_wanted);
        for known_pulse in self.pulses.values_mut().filter(wanted) {
            known_pulse.is_alive = is_alive(&known_pulse.pulse, known_pulse.at);
        }
        let sessions = self.sessions.iter().filter(|(_, known)| is_wanted(known.session.pid));
        for path in sessions.map(|(path, _)| path.clone()).collect::<Vec<_>>() {
            self.read_session(sources, &path);
        }
    }

    /// Updates the sessions' last signs of life.
    pub fn refresh_sessions(&mut self, sources: &Sources) {
        for path in self.sessions.keys().cloned().collect::<Vec<_>>() {
            self.read_session(sources, &path);
        }
    }

    /// The processes that are not known to be dead, without hosts.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        let pulses = self.pulses.values().filter_map(KnownPulse::process);
        let sessions = self.sessions.values().map(|known| known.session.pid);
        pulses.chain(sessions)
    }
}

/// What is known from a pulse. `before` is the previous pulse in the same file, if there was one.
fn known_pulse(
    sources: &Sources,
    found: FoundPulse,
    before: Option<&KnownPulse>,
) -> Option<(PathBuf, KnownPulse)> {
    let at = found.pulse.at()?;
    let task = task::find(&sources.dir, &found.pulse.agent_id);
    // Don't check a live process again: its end is noticed elsewhere.
    let is_known = |before: &&KnownPulse| before.is_alive == Some(true) && before.at <= at;
    let known = before.filter(is_known).and_then(|before| process(&before.pulse));
    let is_alive = match process(&found.pulse) {
        pid @ Some(_) if pid == known => Some(true),
        _ => is_alive(&found.pulse, at),
    };
    Some((found.path, KnownPulse { pulse: found.pulse, at, is_alive, task }))
}

fn is_alive(pulse: &Pulse, at: Timestamp) -> Option<bool> {
    Some(identity::was_alive_at(process(pulse)?, at))
}

/// The agent's process. Spec 2's script, which sets neither a state nor a session, writes its own PID (`$$`), which is
/// useless once it exits.
fn process(pulse: &Pulse) -> Option<u32> {
    let is_of_a_script = pulse.session_id.is_none() && pulse.state == State::default();
    pulse.pid.filter(|_| !is_of_a_script)
}

fn with_task(sources: &Sources, session: Session) -> KnownSession {
    let task = task::find(&sources.dir, &super::session_agent(&session.session_id));
    KnownSession { session, task }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The PID of a dead process.
    fn dead() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn a_process_is_alive_or_dead_or_unknown() {
        let now = sys::clock::now();
        let long_ago = now - jiff::SignedDuration::from_hours(24 * 365 * 30);
        let of = |pid: Option<u32>, session: Option<&str>, state, at| {
            let session_id = session.map(SessionId::new);
            is_alive(&Pulse { pid, session_id, state, ..Pulse::default() }, at)
        };
        let (us, dead) = (std::process::id(), dead());
        assert_eq!(of(Some(us), Some("s"), State::Running, now), Some(true));
        assert_eq!(of(Some(dead), Some("s"), State::Running, now), Some(false));
        assert_eq!(of(Some(dead), None, State::Idle, now), Some(false));
        assert_eq!(of(None, Some("s"), State::Running, now), None);
        // Another process has its PID by now.
        assert_eq!(of(Some(us), Some("s"), State::Running, long_ago), Some(false));
        // Written by spec 2's script.
        assert_eq!(of(Some(dead), None, State::Running, now), None);
    }
}
