//! All that was read of agents, from wherever, not joined yet: the only part of the roster that reads.

use super::Sources;
use super::hosted::Hosted;
use super::session::{self, Session};
use crate::host::discover::{self, PATIENCE, Seen};
use crate::pulse::folder::{self, Found};
use crate::pulse::{Pulse, State, task};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use sys::identity;

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Hosts, by the agents' ids.
    pub hosts: BTreeMap<String, Hosted>,
    /// Pulses, by their files.
    pub pulses: BTreeMap<PathBuf, Heard>,
    /// Claude Code's sessions, by their files, each with its task.
    pub sessions: BTreeMap<PathBuf, (Session, Option<String>)>,
}

/// A pulse, and what is known beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The pulse.
    pub pulse: Pulse,
    /// When it was.
    pub at: Timestamp,
    /// Whether its process lives; `None` where that is not known.
    pub is_alive: Option<bool>,
    /// What somebody said that the agent works on.
    pub task: Option<String>,
}

impl Heard {
    /// Its process, if that may live.
    fn process(&self) -> Option<u32> {
        process(&self.pulse).filter(|_| self.is_alive != Some(false))
    }
}

impl Known {
    /// Reads everything there is.
    ///
    /// # Errors
    /// What the system says of reading the folders. Those that do not exist have nothing in them.
    pub async fn read(sources: &Sources) -> io::Result<Self> {
        let mut known = Self::default();
        for seen in discover::scan(&sources.dir.hosts(), PATIENCE).await? {
            known.host(sources, &seen);
        }
        known.read_pulses(sources)?;
        known.read_sessions(sources);
        Ok(known)
    }

    /// Takes what was seen of a host.
    pub fn host(&mut self, sources: &Sources, seen: &Seen) {
        let task = task::said(&sources.dir, seen.agent_id.as_str());
        let hosted = Hosted { task, ..Hosted::of(seen, sources.claude.as_deref()) };
        self.hosts.insert(seen.agent_id.to_string(), hosted);
    }

    /// Reads every pulse anew.
    pub fn read_pulses(&mut self, sources: &Sources) -> io::Result<()> {
        let found = folder::all(&sources.dir)?.into_iter();
        self.pulses = found.filter_map(|found| heard(sources, found)).collect();
        Ok(())
    }

    /// Reads the pulse at `path` anew.
    pub fn read_pulse(&mut self, sources: &Sources, path: &Path) {
        match folder::read(path).and_then(|found| heard(sources, found)) {
            Some((path, heard)) => self.pulses.insert(path, heard),
            None => self.pulses.remove(path),
        };
    }

    /// Reads every session anew. Where they cannot be read there are none: see [`Sources::sessions`].
    pub fn read_sessions(&mut self, sources: &Sources) {
        let Some(claude) = &sources.claude else { return };
        let found = session::all(claude).unwrap_or_default().into_iter();
        self.sessions = found.map(|(path, session)| (path, with_task(sources, session))).collect();
    }

    /// Reads the session at `path` anew.
    pub fn read_session(&mut self, sources: &Sources, path: &Path) {
        let found = sources.claude.as_deref().and_then(|claude| session::read(path, claude));
        match found {
            Some(session) => _ = self.sessions.insert(path.to_path_buf(), with_task(sources, session)),
            None => _ = self.sessions.remove(path),
        }
    }

    /// Looks again whether the processes live that have not died yet, of those that `is_wanted` names.
    pub fn look_again(&mut self, sources: &Sources, is_wanted: impl Fn(u32) -> bool) {
        let wanted = |heard: &&mut Heard| heard.process().is_some_and(&is_wanted);
        for heard in self.pulses.values_mut().filter(wanted) {
            heard.is_alive = is_alive(&heard.pulse, heard.at);
        }
        let sessions = self.sessions.iter().filter(|(_, (session, _))| is_wanted(session.pid));
        for path in sessions.map(|(path, _)| path.clone()).collect::<Vec<_>>() {
            self.read_session(sources, &path);
        }
    }

    /// Looks again when the sessions were last heard of.
    pub fn look_at_sessions(&mut self, sources: &Sources) {
        for path in self.sessions.keys().cloned().collect::<Vec<_>>() {
            self.read_session(sources, &path);
        }
    }

    /// The processes that have not died yet, as far as they are not hosts'.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        let pulses = self.pulses.values().filter_map(Heard::process);
        let sessions = self.sessions.values().map(|(session, _)| session.pid);
        pulses.chain(sessions)
    }
}

fn heard(sources: &Sources, found: Found) -> Option<(PathBuf, Heard)> {
    let at = found.pulse.at()?;
    let task = task::said(&sources.dir, &found.pulse.agent_id);
    let is_alive = is_alive(&found.pulse, at);
    Some((found.path, Heard { pulse: found.pulse, at, is_alive, task }))
}

fn is_alive(pulse: &Pulse, at: Timestamp) -> Option<bool> {
    Some(identity::was_alive_at(process(pulse)?, at))
}

/// The process of the agent itself. Spec 2's own script, which names neither a state nor a session, writes its own number
/// (`$$`), and that is gone as soon as it has.
fn process(pulse: &Pulse) -> Option<u32> {
    let is_of_a_script = pulse.session_id.is_none() && pulse.state == State::default();
    pulse.process().filter(|_| !is_of_a_script)
}

fn with_task(sources: &Sources, session: Session) -> (Session, Option<String>) {
    let task = task::said(&sources.dir, &super::session_agent(&session.session_id));
    (session, task)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that has died.
    fn dead() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn a_process_lives_or_is_dead_or_nobody_knows() {
        let now = sys::clock::now();
        let long_ago = now - jiff::SignedDuration::from_hours(24 * 365 * 30);
        let of = |pid, session: Option<&str>, state, at| {
            let session_id = session.map(str::to_owned);
            is_alive(&Pulse { pid, session_id, state, ..Pulse::default() }, at)
        };
        let (us, dead) = (std::process::id(), dead());
        assert_eq!(of(us, Some("s"), State::Running, now), Some(true));
        assert_eq!(of(dead, Some("s"), State::Running, now), Some(false));
        assert_eq!(of(dead, None, State::Idle, now), Some(false));
        assert_eq!(of(0, Some("s"), State::Running, now), None);
        // Another has its number by now.
        assert_eq!(of(us, Some("s"), State::Running, long_ago), Some(false));
        // Of spec 2's own script.
        assert_eq!(of(dead, None, State::Running, now), None);
    }
}
