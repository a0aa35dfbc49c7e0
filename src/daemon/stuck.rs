//! Decides which agents are stuck, formats their journal lines, and plans the next scan. Pure.
//!
//! A known agent can be stuck no sooner than the quiet limit after its last sign of life, and a new or active one no sooner
//! than the limit from now. So there is no scan in between.

use crate::agents::Agent;
use crate::outcome::{Kind, first_characters};
use jiff::{SignedDuration, Timestamp};
use murmur_store::journal::entry::{Entry, LineKind};
use murmur_store::pulse::health::Health;
use murmur_store::pulse::{ACTION, Pulse};
use secrets::mask;
use std::collections::BTreeSet;
use std::time::Duration;
use sys::clock::rfc3339;

/// The most characters of a line's summary.
const SUMMARY: usize = 200;
/// The most characters of a path: a pulse may contain anything.
const PATH: usize = 4096;
/// The minimum time between two scans, so that a thousand agents getting stuck one by one don't cause a thousand scans.
pub const MIN_INTERVAL: SignedDuration = SignedDuration::from_secs(1);

/// A time for which an agent has done nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuietPeriod {
    /// The agent.
    pub agent: String,
    /// Its last sign of life, as in the journal.
    pub since: String,
}

/// The quiet periods of stuck agents.
pub type StuckAgents = BTreeSet<QuietPeriod>;

/// The quiet period that `entry` reports; `None` for other lines.
#[must_use]
pub fn from_entry(entry: &Entry) -> Option<QuietPeriod> {
    let is_stuck = entry.kind == LineKind::Stuck;
    is_stuck.then(|| QuietPeriod { agent: entry.agent.clone(), since: entry.ts.clone() })
}

/// The quiet period that begins with `pulse`, if its agent gets stuck.
#[must_use]
pub fn from_pulse(pulse: &Pulse) -> QuietPeriod {
    let since = pulse.at().map(rfc3339).unwrap_or_default();
    QuietPeriod { agent: pulse.agent_id.clone(), since }
}

/// The journal lines of those `agents` that are stuck.
#[must_use]
pub fn lines(agents: &[Agent], now: Timestamp) -> Vec<Entry> {
    let stuck = agents.iter().filter(|agent| agent.health == Health::Stuck);
    stuck.map(|agent| line(agent, now)).collect()
}

/// The journal line of a stuck agent, from its last sign of life until `now`: the start identifies the incident.
fn line(agent: &Agent, now: Timestamp) -> Entry {
    let quiet = Duration::try_from(now.duration_since(agent.at)).unwrap_or_default();
    Entry {
        summary: Some(summary(agent, quiet)),
        kind: LineKind::Stuck,
        agent: agent.agent_id.clone(),
        session_id: agent.session_id.clone(),
        ..Entry::new(
            rfc3339(agent.at),
            first_characters(&agent.workspace.to_string_lossy(), PATH),
            Kind::Attention,
            u64::try_from(quiet.as_millis()).unwrap_or(u64::MAX),
        )
    }
}

/// What the agent was doing. Masked here too, as not every pulse is written by murmur's hook.
fn summary(agent: &Agent, quiet: Duration) -> String {
    let of_minutes = if quiet.as_secs() < 60 { 1 } else { 60 };
    let quiet = humantime::format_duration(Duration::from_secs(quiet.as_secs() / of_minutes * of_minutes));
    let mut summary = format!("agent {} has done nothing for {quiet}", agent.agent_id);
    let action = first_characters(&mask(&agent.last_action), ACTION);
    let last = [agent.tool_name.as_str(), action.trim()];
    let last = last.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
    for (what, words) in [("last", last), ("task", mask(&agent.current_task))] {
        if !words.is_empty() {
            summary.push_str(&format!("; {what}: {words}"));
        }
    }
    let one_line: String = summary.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    first_characters(&one_line, SUMMARY)
}

/// When to scan next: the earliest time when one of `agents`, or a new one, may be stuck.
#[must_use]
pub fn next_scan(agents: &[Agent], stuck: SignedDuration, now: Timestamp) -> Timestamp {
    let after = |time: Timestamp, span| time.checked_add(span).unwrap_or(Timestamp::MAX);
    // Waiting, ended and stuck agents have to do something first.
    let may = |agent: &&Agent| matches!(agent.health, Health::Active | Health::Stale | Health::Warning);
    let turns = agents.iter().filter(may).map(|agent| after(agent.at, stuck)).filter(|at| *at > now);
    let earliest = turns.min().unwrap_or(Timestamp::MAX).min(after(now, stuck));
    earliest.max(after(now, MIN_INTERVAL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Source;

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
            pid: None,
            session_id: Some(murmur_core::id::SessionId::new("s")),
            error: None,
            alive: Some(true),
            at: now() - quiet,
            health,
        }
    }

    /// The time until the next scan, in milliseconds.
    fn next(agents: &[(Health, i64)]) -> i128 {
        let agents: Vec<Agent> =
            agents.iter().map(|(health, ms)| agent(*health, SignedDuration::from_millis(*ms))).collect();
        next_scan(&agents, STUCK, now()).duration_since(now()).as_millis()
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
        assert_eq!(next_scan(&[], SignedDuration::MAX, now()), Timestamp::MAX);
        assert_eq!(next_scan(&[], STUCK, Timestamp::MAX), Timestamp::MAX);
    }

    #[test]
    fn only_stuck_agents_have_lines_and_those_say_what_was_done() {
        let quiet = SignedDuration::from_secs(31 * 60 + 7);
        let healths = [Health::Active, Health::Idle, Health::Warning, Health::Exited, Health::Dead];
        let agents: Vec<Agent> =
            healths.into_iter().chain([Health::Stuck]).map(|health| agent(health, quiet)).collect();
        let lines: Vec<String> = lines(&agents, now()).iter().map(|line| line.line().unwrap()).collect();
        assert_eq!(lines.len(), 1);
        insta::assert_snapshot!(lines[0], @r#"{"ts":"2026-02-03T09:28:53Z","workspace":"/w","outcome":"attention","durationMs":1867000,"summary":"agent site-1 has done nothing for 31m; last: Bash: cargo test; task: Fix the build","kind":"stuck","agent":"site-1","sessionId":"s"}"#);
    }

    #[test]
    fn a_summary_is_one_short_line_without_secrets() {
        let of = |last_action: &str, tool_name: &str, current_task: &str| {
            let agent = Agent {
                last_action: last_action.to_owned(),
                tool_name: tool_name.to_owned(),
                current_task: current_task.to_owned(),
                ..agent(Health::Stuck, STUCK)
            };
            summary(&agent, Duration::from_secs(59))
        };
        let begin = "agent site-1 has done nothing for 59s";
        assert_eq!(of("", "", ""), begin);
        assert_eq!(of("Fix it.", "", ""), format!("{begin}; last: Fix it."));
        assert_eq!(of("", "Bash", "\u{1b}[2Jtask"), format!("{begin}; last: Bash; task:  [2Jtask"));
        let key = "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let masked = of(&format!("curl -H 'x-api-key: {key}'"), "Bash", &format!("use {key}"));
        assert!(!masked.contains("AAAA") && masked.contains("[removed]"), "{masked}");
        let long = of(&"ü".repeat(500), "Bash", &"ß".repeat(500));
        assert_eq!((long.chars().count(), long.matches('ü').count()), (SUMMARY, ACTION));
    }
}
