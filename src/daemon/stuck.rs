//! Lists stuck agents and plans the next scan. Pure; `murmur_outcome::notice` builds their journal lines.
//!
//! A known agent can be stuck no sooner than the quiet limit after its last sign of life, and a new or active one no
//! sooner than the limit from now. So there is no scan in between.

use crate::agents::Agent;
use jiff::{SignedDuration, Timestamp};
use murmur_outcome::notice::{self, StuckAgent};
use murmur_store::journal::entry::{JournalEntry, LineKind};
use murmur_store::pulse::Pulse;
use murmur_store::pulse::health::Health;
use std::collections::BTreeSet;
use sys::clock::rfc3339;

/// The minimum time between two scans, so that a thousand agents getting stuck one by one don't cause a thousand scans.
pub const MIN_INTERVAL: SignedDuration = SignedDuration::from_secs(1);

/// A time for which an agent has done nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuietPeriod {
    /// The agent's id. Any text, as in its pulse.
    pub agent: String,
    /// Its last sign of life, as in the journal.
    pub since: String,
}

/// The quiet periods of stuck agents.
pub type StuckAgents = BTreeSet<QuietPeriod>;

/// The quiet period that `entry` reports; `None` for other lines.
#[must_use]
pub fn from_entry(entry: &JournalEntry) -> Option<QuietPeriod> {
    let is_stuck = entry.kind == LineKind::Stuck;
    is_stuck.then(|| QuietPeriod { agent: entry.agent.clone(), since: entry.ts.clone() })
}

/// The quiet period that begins with `pulse`, if its agent gets stuck.
#[must_use]
pub fn from_pulse(pulse: &Pulse) -> QuietPeriod {
    let since = pulse.at().map(rfc3339).unwrap_or_default();
    QuietPeriod { agent: pulse.agent_id.clone(), since }
}

/// The journal lines of those `agents` that are stuck. One whose host doesn't answer must be in `silent`, too: on a
/// busy machine, a host may only be slow.
#[must_use]
pub fn lines(agents: &[Agent], silent: &SilentHosts, now: Timestamp) -> Vec<JournalEntry> {
    let is_sure = |agent: &&Agent| !agent.has_silent_host() || silent.contains(&agent.agent_id);
    let stuck = agents.iter().filter(|agent| agent.health == Health::Stuck).filter(is_sure);
    stuck.map(|agent| notice::stuck(as_stuck(agent), now)).collect()
}

fn as_stuck(agent: &Agent) -> StuckAgent<'_> {
    StuckAgent {
        agent_id: &agent.agent_id,
        session_id: agent.session_id.as_ref(),
        workspace: &agent.workspace,
        at: agent.at,
        has_silent_host: agent.has_silent_host(),
        tool_name: &agent.tool_name,
        last_action: &agent.last_action,
        current_task: &agent.current_task,
    }
}

/// The agents that are stuck because their hosts don't answer.
pub type SilentHosts = BTreeSet<String>;

/// Those of `agents`.
#[must_use]
pub fn silent_hosts(agents: &[Agent]) -> SilentHosts {
    let silent = agents.iter().filter(|agent| agent.has_silent_host() && agent.health == Health::Stuck);
    silent.map(|agent| agent.agent_id.clone()).collect()
}

/// When to ask hosts again that didn't answer for the first time.
const RECHECK: SignedDuration = SignedDuration::from_secs(10);

/// When to scan next: the earliest time when one of `agents`, or a new one, may be stuck. `silent` as in [`lines`].
#[must_use]
pub fn next_scan(agents: &[Agent], silent: &SilentHosts, stuck: SignedDuration, now: Timestamp) -> Timestamp {
    let after = |time: Timestamp, span| time.checked_add(span).unwrap_or(Timestamp::MAX);
    // Waiting, ended and stuck agents have to do something first.
    let may = |agent: &&Agent| matches!(agent.health, Health::Active | Health::Stale | Health::Warning);
    let turns = agents.iter().filter(may).map(|agent| after(agent.at, stuck)).filter(|at| *at > now);
    let earliest = turns.min().unwrap_or(Timestamp::MAX).min(after(now, stuck));
    let has_new = !silent_hosts(agents).is_subset(silent);
    let earliest = if has_new { earliest.min(after(now, RECHECK)) } else { earliest };
    earliest.max(after(now, MIN_INTERVAL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Source;
    use murmur_host::discover::UNRESPONSIVE;

    const STUCK: SignedDuration = SignedDuration::from_mins(30);

    fn now() -> Timestamp {
        "2026-02-03T10:00:00Z".parse().unwrap()
    }

    fn agent(health: Health, quiet: SignedDuration) -> Agent {
        Agent {
            agent_id: "site-1".to_owned(),
            backend: murmur_core::config::backend::Backend::default(),
            source: Source::Pulse,
            state: "running",
            background: 0,
            hold: None,
            tool_name: "Bash".to_owned(),
            last_action: "cargo test".to_owned(),
            current_task: "Fix the build".to_owned(),
            git_branch: "main".to_owned(),
            workspace: "/w".into(),
            project: None,
            heartbeat: None,
            pid: None,
            session_id: Some(murmur_core::id::SessionId::new("s")),
            error: None,
            alive: Some(true),
            started_at: now() - quiet,
            at: now() - quiet,
            health,
        }
    }

    /// The time until the next scan, in milliseconds.
    fn next(agents: &[(Health, i64)]) -> i128 {
        let agents: Vec<Agent> =
            agents.iter().map(|(health, ms)| agent(*health, SignedDuration::from_millis(*ms))).collect();
        next_scan(&agents, &SilentHosts::new(), STUCK, now()).duration_since(now()).as_millis()
    }

    #[test]
    fn the_next_scan_is_when_an_agent_may_be_stuck_and_not_before() {
        let minutes = |minutes: i64| minutes * 60_000;
        let stuck_at = i128::from(minutes(30));
        assert_eq!(next(&[]), stuck_at);
        assert_eq!(next(&[(Health::Active, 0)]), stuck_at);
        assert_eq!(next(&[(Health::Active, minutes(4)), (Health::Stale, minutes(6))]), minutes(24).into());
        assert_eq!(next(&[(Health::Warning, minutes(29)), (Health::Active, 0)]), minutes(1).into());
        // Their health only changes when they do something.
        for health in [Health::Idle, Health::Exited, Health::Dead, Health::Stuck] {
            assert_eq!(next(&[(health, minutes(29))]), stuck_at, "{health:?}");
        }
        // Not at once, whatever a source says, and not later for an agent whose clock is ahead.
        assert_eq!(next(&[(Health::Warning, minutes(30))]), stuck_at);
        assert_eq!(next(&[(Health::Warning, minutes(30) - 1)]), 1000);
        assert_eq!(next(&[(Health::Active, minutes(-5))]), stuck_at);
    }

    #[test]
    fn an_overflowing_time_is_the_maximum() {
        assert_eq!(next_scan(&[], &SilentHosts::new(), SignedDuration::MAX, now()), Timestamp::MAX);
        assert_eq!(next_scan(&[], &SilentHosts::new(), STUCK, Timestamp::MAX), Timestamp::MAX);
    }

    #[test]
    fn only_stuck_agents_have_lines() {
        let quiet = SignedDuration::from_secs(31 * 60 + 7);
        let healths = [Health::Active, Health::Idle, Health::Warning, Health::Exited, Health::Dead];
        let agents: Vec<Agent> =
            healths.into_iter().chain([Health::Stuck]).map(|health| agent(health, quiet)).collect();
        let lines = lines(&agents, &SilentHosts::new(), now());
        assert_eq!((lines.len(), lines[0].kind), (1, LineKind::Stuck));
    }

    #[test]
    fn a_host_that_does_not_answer_twice_is_stuck() {
        let quiet = SignedDuration::from_mins(31);
        let agents = [Agent { state: UNRESPONSIVE, ..agent(Health::Stuck, quiet) }];
        let none = SilentHosts::new();
        assert!(lines(&agents, &none, now()).is_empty());
        assert_eq!(next_scan(&agents, &none, STUCK, now()), now() + RECHECK);
        let silent = silent_hosts(&agents);
        let lines = lines(&agents, &silent, now());
        let summary = lines[0].summary.as_deref().unwrap();
        assert!(
            summary.starts_with("the host of agent site-1 does not answer; nothing was seen for 31m"),
            "{summary}"
        );
        assert_eq!(next_scan(&agents, &silent, STUCK, now()), now() + STUCK);
    }
}
