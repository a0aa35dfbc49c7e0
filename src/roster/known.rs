//! All that was read of agents, from wherever, not joined yet: the only part of the roster that reads.

use super::Sources;
use super::hosted::Hosted;
use super::session::{self, Session};
use crate::host::discover::{self, PATIENCE, Seen};
use crate::pulse::folder::{self, Found};
use crate::pulse::{Pulse, task};
use crate::sys::identity;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

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
        known.read_sessions(sources)?;
        Ok(known)
    }

    /// Takes what was seen of a host.
    pub fn host(&mut self, sources: &Sources, seen: &Seen) {
        let task = task::said(&sources.dir, seen.agent_id.as_str());
        let hosted = Hosted { task, ..Hosted::of(seen, sources.claude.as_deref()) };
        self.hosts.insert(seen.agent_id.to_string(), hosted);
    }

    /// Reads every pulse anew.
    ///
    /// # Errors
    /// What the system says of reading the folder.
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

    /// Reads every session anew.
    ///
    /// # Errors
    /// What the system says of reading the folder.
    pub fn read_sessions(&mut self, sources: &Sources) -> io::Result<()> {
        let Some(claude) = &sources.claude else { return Ok(()) };
        let found = session::all(claude)?.into_iter();
        self.sessions = found.map(|(path, session)| (path, with_task(sources, session))).collect();
        Ok(())
    }

    /// Reads the session at `path` anew.
    pub fn read_session(&mut self, sources: &Sources, path: &Path) {
        let found = sources.claude.as_deref().and_then(|claude| session::read(path, claude));
        match found {
            Some(session) => _ = self.sessions.insert(path.to_path_buf(), with_task(sources, session)),
            None => _ = self.sessions.remove(path),
        }
    }

    /// Looks again whether the processes live that lived before, of those that `is_wanted` names.
    pub fn look_again(&mut self, sources: &Sources, is_wanted: impl Fn(u32) -> bool) {
        let lived = |heard: &&mut Heard| heard.is_alive == Some(true) && is_wanted(heard.pulse.pid);
        for heard in self.pulses.values_mut().filter(lived) {
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

    /// The processes that live, as far as they are not hosts'.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        let pulses = self.pulses.values().filter(|heard| heard.is_alive == Some(true));
        let sessions = self.sessions.values().map(|(session, _)| session.pid);
        pulses.map(|heard| heard.pulse.pid).chain(sessions)
    }
}

fn heard(sources: &Sources, found: Found) -> Option<(PathBuf, Heard)> {
    let at = found.pulse.at()?;
    let task = task::said(&sources.dir, &found.pulse.agent_id);
    let is_alive = is_alive(&found.pulse, at);
    Some((found.path, Heard { pulse: found.pulse, at, is_alive, task }))
}

fn is_alive(pulse: &Pulse, at: Timestamp) -> Option<bool> {
    (pulse.pid != 0).then(|| identity::was_alive_at(pulse.pid, at))
}

fn with_task(sources: &Sources, session: Session) -> (Session, Option<String>) {
    let task = task::said(&sources.dir, &super::session_agent(&session.session_id));
    (session, task)
}
