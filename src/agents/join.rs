//! Merges hosts, pulses and sessions into one entry per agent. Pure.
//!
//! They are matched by agent id, then by conversation id, then, for sessions, by process. A live host takes precedence,
//! then whatever is newest.

use super::hosted::{HostStatus, Hosted};
use super::known::{KnownAgents, KnownPulse, KnownSession};
use super::{Agent, Source, session_agent};
use jiff::Timestamp;
use murmur_core::config::quiet::Quiet;
use murmur_core::id::SessionId;
use murmur_host::discover;
use murmur_store::pulse::health::Health;
use murmur_store::pulse::{State, branch};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

/// The data about one agent.
#[derive(Debug, Clone, Copy, Default)]
struct AgentSources<'a> {
    host: Option<&'a Hosted>,
    known_pulse: Option<&'a KnownPulse>,
    session: Option<&'a KnownSession>,
}

/// The agent that holds a session.
#[derive(Debug, Clone)]
struct Holder {
    agent: String,
    /// Its last pulse; `None` if a live host holds the session.
    last_pulse: Option<Timestamp>,
}

/// Returns every known agent as of `now`, sorted by id.
#[must_use]
pub fn agents(known: &KnownAgents, quiet: &Quiet, now: Timestamp) -> Vec<Agent> {
    let mut rows: BTreeMap<String, AgentSources<'_>> = BTreeMap::new();
    let mut by_session: HashMap<&SessionId, Holder> = HashMap::new();
    for (id, host) in &known.hosts {
        rows.entry(id.to_string()).or_default().host = Some(host);
        if let Some(session) = host.session_id.as_ref().filter(|_| host.is_alive()) {
            by_session.insert(session, Holder { agent: id.to_string(), last_pulse: None });
        }
    }
    for known_pulse in known.pulses.values() {
        let session = known_pulse.session();
        let holder = session.and_then(|session| by_session.get(session));
        let of_host = holder.filter(|holder| holder.last_pulse.is_none());
        let id = match of_host {
            Some(host) if !known.hosts.contains_key(&*known_pulse.pulse.agent_id) => host.agent.clone(),
            _ => known_pulse.pulse.agent_id.clone(),
        };
        let row = rows.entry(id.clone()).or_default();
        if row.known_pulse.is_none_or(|known| known.at < known_pulse.at) {
            row.known_pulse = Some(known_pulse);
        }
        let Some(session) = session else { continue };
        let holder = Holder { agent: id, last_pulse: Some(known_pulse.at) };
        let known = by_session.entry(session).or_insert_with(|| holder.clone());
        if known.last_pulse.is_some_and(|at| at < known_pulse.at) {
            *known = holder;
        }
    }
    // A conversation that continued under another agent id belongs to that one.
    rows.retain(|id, row| {
        let AgentSources { host: None, known_pulse: Some(known_pulse), .. } = row else { return true };
        let Some(session) = known_pulse.session() else { return true };
        let is_over = known_pulse.pulse.state == State::Exited || known_pulse.is_alive == Some(false);
        !is_over || by_session.get(session).is_none_or(|holder| holder.agent == *id)
    });
    let mut by_pid: HashMap<u32, String> = HashMap::new();
    for (id, row) in &rows {
        let live = row.known_pulse.filter(|known_pulse| {
            known_pulse.is_alive == Some(true) && known_pulse.pulse.state != State::Exited
        });
        by_pid.extend(live.and_then(|known_pulse| known_pulse.pulse.pid).map(|pid| (pid, id.clone())));
        if let Some(HostStatus::Up { pid: Some(pid), .. }) = row.host.map(|host| &host.status) {
            by_pid.insert(*pid, id.clone());
        }
    }
    for session in known.sessions.values() {
        let named = session_agent(&session.session.session_id);
        let of_session = by_session.get(&session.session.session_id).map(|holder| &holder.agent);
        let id = of_session.or_else(|| by_pid.get(&session.session.pid)).cloned().unwrap_or(named);
        let row = rows.entry(id).or_default();
        if row.session.is_none_or(|known| known.session.at < session.session.at) {
            row.session = Some(session);
        }
    }
    rows.into_iter().filter_map(|(id, row)| row.agent(id, quiet, now)).collect()
}

/// The pulses of agents that have no other source, and that affect no other agent, by file.
#[must_use]
pub fn lone_pulses(known: &KnownAgents) -> HashSet<PathBuf> {
    let (mut ids, mut sessions): (HashMap<String, usize>, HashMap<&SessionId, usize>) = Default::default();
    for (id, host) in &known.hosts {
        *ids.entry(id.to_string()).or_default() += 1;
        host.session_id.iter().for_each(|session| *sessions.entry(session).or_default() += 1);
    }
    for KnownSession { session, .. } in known.sessions.values() {
        *ids.entry(session_agent(&session.session_id)).or_default() += 1;
        *sessions.entry(&session.session_id).or_default() += 1;
    }
    for known_pulse in known.pulses.values() {
        *ids.entry(known_pulse.pulse.agent_id.clone()).or_default() += 1;
        known_pulse.session().into_iter().for_each(|session| *sessions.entry(session).or_default() += 1);
    }
    let processes: HashSet<u32> = known.sessions.values().map(|known| known.session.pid).collect();
    let is_lone = |known_pulse: &KnownPulse| {
        ids.get(&known_pulse.pulse.agent_id) == Some(&1)
            && known_pulse.session().is_none_or(|session| sessions.get(session) == Some(&1))
            && known_pulse.pulse.pid.is_none_or(|pid| !processes.contains(&pid))
    };
    known
        .pulses
        .iter()
        .filter(|(_, known_pulse)| is_lone(known_pulse))
        .map(|(path, _)| path.clone())
        .collect()
}

/// The agent of which only a pulse is known, see [`lone_pulses`].
#[must_use]
pub fn lone(known_pulse: &KnownPulse, quiet: &Quiet, now: Timestamp) -> Option<Agent> {
    let sources = AgentSources { known_pulse: Some(known_pulse), ..AgentSources::default() };
    sources.agent(known_pulse.pulse.agent_id.clone(), quiet, now)
}

/// What an agent is doing.
#[derive(Debug, Clone, Copy)]
struct Activity {
    /// The name shown.
    word: &'static str,
    /// The state, as in a pulse.
    state: State,
    /// Whether its process is alive; `None` if unknown.
    is_alive: Option<bool>,
    /// Its process id, if known.
    pid: Option<u32>,
}

impl Activity {
    /// An agent whose process or host is gone.
    fn gone(word: &'static str, state: State, pid: Option<u32>) -> Self {
        Self { word, state, is_alive: Some(false), pid }
    }
}

impl AgentSources<'_> {
    fn agent(mut self, agent_id: String, quiet: &Quiet, now: Timestamp) -> Option<Agent> {
        if let Some(host) = self.host {
            let began = host.started_at.unwrap_or(Timestamp::MIN);
            // Older data is of an earlier run, unless the host has ended: the agent may continue without one.
            let is_over = matches!(host.status, HostStatus::Ended { .. });
            self.known_pulse = self.known_pulse.filter(|known_pulse| is_over || known_pulse.at >= began);
        }
        let Activity { word: state, state: doing, is_alive: alive, pid } = self.activity()?;
        let (source, at) = self.last()?;
        let age = age(at, now);
        let pulse = self.known_pulse.map(|known_pulse| &known_pulse.pulse);
        let session = self.session.map(|known| &known.session);
        let (call, background, hold) = match self.host.map(|host| &host.status) {
            Some(HostStatus::Up { call, background, hold, .. }) => (call.as_ref(), *background, *hold),
            _ => (None, 0, None),
        };
        let text = |of_call: Option<&String>, of_pulse: Option<&String>| of_call.or(of_pulse).cloned();
        let tasks = [
            self.host.and_then(|host| host.task.as_ref()),
            self.known_pulse.and_then(|known_pulse| known_pulse.task.as_ref()),
            self.session.and_then(|known| known.task.as_ref()),
            pulse.map(|pulse| &pulse.current_task),
        ];
        let folders = [
            pulse.map(|pulse| &pulse.workspace),
            self.host.map(|host| &host.worktree),
            session.map(|session| &session.cwd),
        ];
        let ids = [
            self.host.and_then(|host| host.session_id.as_ref()),
            session.map(|session| &session.session_id),
            pulse.and_then(|pulse| pulse.session_id.as_ref()),
        ];
        let backend = self.host.and_then(|host| host.backend.clone());
        let backend = backend.or_else(|| pulse?.backend.parse().ok()).unwrap_or_default();
        Some(Agent {
            agent_id,
            backend,
            source,
            state,
            background,
            hold,
            tool_name: text(call.map(|call| &call.tool_name), pulse.map(|pulse| &pulse.tool_name))
                .unwrap_or_default(),
            last_action: text(call.map(|call| &call.last_action), pulse.map(|pulse| &pulse.last_action))
                .unwrap_or_default(),
            current_task: tasks.into_iter().flatten().next().cloned().unwrap_or_default(),
            git_branch: pulse
                .map(|pulse| pulse.git_branch.clone())
                .filter(|branch| branch != branch::UNKNOWN)
                .unwrap_or_default(),
            workspace: folders
                .into_iter()
                .flatten()
                .find(|folder| !folder.as_os_str().is_empty())
                .cloned()
                .unwrap_or_default(),
            project: self.host.and_then(|host| host.project.clone()),
            heartbeat: self.host.and_then(|host| host.heartbeat.clone()),
            pid,
            session_id: ids.into_iter().flatten().next().cloned(),
            error: pulse.and_then(|pulse| pulse.error.clone()),
            started_at: self.started_at().unwrap_or(at),
            at,
            health: match state {
                // Whatever its agent does, nobody can see or stop it.
                discover::UNRESPONSIVE if age >= quiet.steps()[2] => Health::Stuck,
                _ => Health::of(doing, alive, age, quiet),
            },
            alive,
        })
    }

    /// `None` for a beat that has ended, without other data.
    fn activity(&self) -> Option<Activity> {
        let other = self.without_host();
        Some(match self.host.map(|host| (&host.status, host.at)) {
            Some((HostStatus::Up { state, word, pid, .. }, _)) => {
                Activity { word, state: *state, is_alive: Some(true), pid: *pid }
            }
            Some((HostStatus::Closed { word }, _)) => {
                let state = other.map_or(State::Unknown, |other| other.state);
                // Its pulse says running, but its unreachable host may know better.
                let state = if state == State::Running { State::Unknown } else { state };
                Activity { word, state, is_alive: Some(true), pid: other.and_then(|other| other.pid) }
            }
            Some((HostStatus::Dead, _)) => Activity::gone("dead", State::Running, None),
            Some((HostStatus::Ended { killed }, ended)) => {
                let is_beat = self.host.is_some_and(|host| host.beat.is_some());
                if other.is_none() && is_beat {
                    return None;
                }
                let pid = other.and_then(|other| other.pid);
                let is_newer = self.last_without_host().is_some_and(|(_, at)| Some(at) > ended);
                match other.filter(|other| other.is_alive == Some(true) && is_newer) {
                    // The id continues without a host.
                    Some(other) => other,
                    None if *killed => Activity::gone("dead", State::Running, pid),
                    None => Activity::gone("exited", State::Exited, pid),
                }
            }
            None => other?,
        })
    }

    fn without_host(&self) -> Option<Activity> {
        let of_session = self.session.map(|KnownSession { session, .. }| {
            let state = if session.is_busy == Some(true) { State::Running } else { State::Idle };
            Activity { word: state.as_str(), state, is_alive: Some(true), pid: Some(session.pid) }
        });
        let of_pulse = self.known_pulse.map(|known_pulse| {
            let pulse = &known_pulse.pulse;
            Activity {
                word: pulse.state.as_str(),
                state: pulse.state,
                is_alive: known_pulse.is_alive,
                pid: pulse.pid,
            }
        });
        let (Some(pulse), Some(by_session), Some(known_pulse), Some(KnownSession { session: file, .. })) =
            (of_pulse, of_session, self.known_pulse, self.session)
        else {
            return of_pulse.or(of_session);
        };
        let is_another = pulse.pid != Some(file.pid);
        // An interrupted turn ends without a hook: then the session file is right.
        let knows_better =
            file.is_busy.is_some() && file.updated_at > known_pulse.at && pulse.state != State::Exited;
        let goes_on = is_another && (pulse.state == State::Exited || pulse.is_alive != Some(true));
        Some(if goes_on || knows_better { by_session } else { pulse })
    }

    fn started_at(&self) -> Option<Timestamp> {
        let host = self.host.and_then(|host| host.started_at);
        host.or_else(|| self.session.map(|known| known.session.started_at))
    }

    /// Its last sign of life, and the source.
    fn last(&self) -> Option<(Source, Timestamp)> {
        let host = self.host.and_then(|host| Some((Source::Host, host.at.or(host.started_at)?)));
        let last = [host, self.last_without_host()].into_iter().flatten().max_by_key(|(_, at)| *at);
        last.or_else(|| self.host.map(|_| (Source::Host, Timestamp::UNIX_EPOCH)))
    }

    fn last_without_host(&self) -> Option<(Source, Timestamp)> {
        let session = self.session.map(|known| (Source::Session, known.session.at));
        let pulse = self.known_pulse.map(|known_pulse| (Source::Pulse, known_pulse.at));
        [session, pulse].into_iter().flatten().max_by_key(|(_, at)| *at)
    }
}

/// The time since `at`; zero if the clock was set back.
#[must_use]
pub fn age(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(at)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
