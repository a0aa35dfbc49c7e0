//! Journal lines with the outcome `attention` that belong to no beat: about stuck agents, calls that ran without a
//! decision, used-up budgets and heartbeats that keep failing. Callers detect these; this module decides what a person
//! reads.

use super::{OutcomeKind, SUMMARY, first_characters};
use crate::refused::UndecidedCalls;
use jiff::Timestamp;
use murmur_core::config::backend::Backend;
use murmur_core::config::heartbeat::Heartbeat;
use murmur_core::failures::Streak;
use murmur_core::id::{AgentId, SessionId};
use murmur_core::spending::UsedUp;
use murmur_store::journal::entry::{JournalEntry, LineKind};
use murmur_store::pulse::ACTION;
use secrets::mask;
use std::path::Path;
use std::time::Duration;
use sys::clock::rfc3339;

/// The most characters of a path: a pulse may contain anything.
const PATH: usize = 4096;

/// An agent that is stuck.
#[derive(Debug, Clone, Copy)]
pub struct StuckAgent<'a> {
    /// Its id.
    pub agent_id: &'a str,
    /// Claude Code's id of the conversation.
    pub session_id: Option<&'a SessionId>,
    /// The folder it works in.
    pub workspace: &'a Path,
    /// Its last sign of life.
    pub at: Timestamp,
    /// Whether its host is alive but does not answer.
    pub has_silent_host: bool,
    /// The current or last tool; empty if none.
    pub tool_name: &'a str,
    /// What it did with the tool.
    pub last_action: &'a str,
    /// Its task; empty if not set.
    pub current_task: &'a str,
}

/// The journal line of a stuck agent, from its last sign of life until `now`: the start identifies the incident.
#[must_use]
pub fn stuck(agent: StuckAgent<'_>, now: Timestamp) -> JournalEntry {
    let quiet = Duration::try_from(now.duration_since(agent.at)).unwrap_or_default();
    JournalEntry {
        summary: Some(stuck_summary(&agent, quiet)),
        kind: LineKind::Stuck,
        agent: agent.agent_id.to_owned(),
        session_id: agent.session_id.cloned(),
        ..JournalEntry::new(
            rfc3339(agent.at),
            first_characters(&agent.workspace.to_string_lossy(), PATH),
            OutcomeKind::Attention,
            u64::try_from(quiet.as_millis()).unwrap_or(u64::MAX),
        )
    }
}

/// What the agent was doing. Masked here too, as not every pulse is written by murmur's hook.
fn stuck_summary(agent: &StuckAgent<'_>, quiet: Duration) -> String {
    let of_minutes = if quiet.as_secs() < 60 { 1 } else { 60 };
    let quiet = humantime::format_duration(Duration::from_secs(quiet.as_secs() / of_minutes * of_minutes));
    let mut summary = match agent.has_silent_host {
        true => format!("the host of agent {} does not answer; nothing was seen for {quiet}", agent.agent_id),
        false => format!("agent {} has done nothing for {quiet}", agent.agent_id),
    };
    let action = first_characters(&mask(agent.last_action), ACTION);
    let last = [agent.tool_name, action.trim()];
    let last = last.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
    for (what, words) in [("last", last), ("task", mask(agent.current_task))] {
        if !words.is_empty() {
            summary.push_str(&format!("; {what}: {words}"));
        }
    }
    let one_line: String = summary.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    first_characters(&one_line, SUMMARY)
}

/// A hosted agent that has ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedAgent<'a> {
    /// Its id.
    pub agent_id: &'a AgentId,
    /// The program that ran it.
    pub backend: &'a Backend,
    /// The folder it worked in.
    pub folder: &'a Path,
    /// When it started.
    pub started: Timestamp,
}

/// The journal line about `calls` that an agent, which ended `now`, ran without a decision; `None` if there are none.
#[must_use]
pub fn undecided(calls: &UndecidedCalls, agent: EndedAgent<'_>, now: Timestamp) -> Option<JournalEntry> {
    let first = calls.calls.first()?;
    let others = match calls.count() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let refused = [(&calls.by_guard, "the guard refuses"), (&calls.by_rules, "your rules deny")];
    let refused = refused
        .into_iter()
        .filter_map(|(calls, refuses)| Some(format!("; {refuses} {}", calls.as_ref()?.first)));
    let refused: String = refused.collect();
    let summary = format!("agent {} ran calls without a decision: {first}{others}{refused}", agent.agent_id);
    Some(JournalEntry {
        summary: Some(first_characters(&summary, SUMMARY)),
        kind: LineKind::Undecided,
        agent: agent.agent_id.to_string(),
        backend: agent.backend.clone(),
        undecided: calls.calls.clone(),
        undecided_more: calls.more,
        ..JournalEntry::new(
            rfc3339(agent.started),
            agent.folder.display().to_string(),
            OutcomeKind::Attention,
            u64::try_from(now.duration_since(agent.started).as_millis()).unwrap_or_default(),
        )
    })
}

/// The journal line about a budget that a beat in `workspace` has used up.
#[must_use]
pub fn budget(workspace: &str, heartbeat: Option<&str>, used_up: &UsedUp, now: Timestamp) -> JournalEntry {
    JournalEntry {
        summary: Some(budget_summary(used_up)),
        kind: LineKind::Budget,
        heartbeat: heartbeat.map(str::to_owned),
        ..JournalEntry::new(rfc3339(now), workspace.to_owned(), OutcomeKind::Attention, 0)
    }
}

/// The summary of the line about a budget; it identifies the budget and its period.
#[must_use]
pub fn budget_summary(used_up: &UsedUp) -> String {
    format!("{used_up}; on hold until {}", rfc3339(used_up.until))
}

/// A heartbeat that keeps failing.
#[derive(Debug, Clone, Copy)]
pub struct Failing<'a> {
    /// Its workspace.
    pub workspace: &'a Path,
    /// Its name, if it is a named one.
    pub heartbeat: Option<&'a str>,
    /// The agent of the last failed beat.
    pub agent: &'a str,
    /// Its failures.
    pub streak: &'a Streak,
    /// When it runs next at the earliest, if it was slowed down.
    pub slowed_until: Option<Timestamp>,
    /// Whether it has a schedule.
    pub has_schedule: bool,
}

/// The journal line about a heartbeat that keeps failing.
#[must_use]
pub fn failing(failing: Failing<'_>, now: Timestamp) -> JournalEntry {
    let why = in_a_row(failing.streak);
    let summary = match (failing.slowed_until, failing.has_schedule) {
        (Some(until), _) => format!(
            "{why}: the next run is at {} at the earliest; each further failure doubles the time to the next run, until a success or `murmur resume`",
            rfc3339(until)
        ),
        (None, true) => format!("{why}; it runs too rarely to be slowed down"),
        (None, false) => why,
    };
    JournalEntry {
        summary: Some(summary),
        kind: LineKind::Failing,
        heartbeat: failing.heartbeat.map(str::to_owned),
        agent: failing.agent.to_owned(),
        ..JournalEntry::new(
            rfc3339(now),
            failing.workspace.to_string_lossy().into_owned(),
            OutcomeKind::Attention,
            0,
        )
    }
}

/// The journal line about a heartbeat whose last `count` beats were all ended for the next one.
#[must_use]
pub fn always_replaced(heartbeat: &Heartbeat, count: u32, now: Timestamp) -> JournalEntry {
    let summary = format!(
        "{count} beats in a row were replaced by the next run: each takes longer than the time between runs; run the heartbeat less often, or set \"overlap\" to \"queue\""
    );
    let workspace = heartbeat.workspace.to_string_lossy().into_owned();
    JournalEntry {
        summary: Some(summary),
        kind: LineKind::Failing,
        heartbeat: heartbeat.name.as_deref().map(str::to_owned),
        ..JournalEntry::new(rfc3339(now), workspace, OutcomeKind::Attention, 0)
    }
}

/// How many beats have failed in a row.
#[must_use]
pub fn in_a_row(streak: &Streak) -> String {
    match streak.failures {
        1 => "the last beat failed".to_owned(),
        many => format!("{many} failures in a row"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refused::DeniedBy;
    use jiff::SignedDuration;

    fn now() -> Timestamp {
        "2026-02-03T10:00:00Z".parse().unwrap()
    }

    fn agent(session_id: &SessionId, quiet: SignedDuration) -> StuckAgent<'_> {
        StuckAgent {
            agent_id: "site-1",
            session_id: Some(session_id),
            workspace: Path::new("/w"),
            at: now() - quiet,
            has_silent_host: false,
            tool_name: "Bash",
            last_action: "cargo test",
            current_task: "Fix the build",
        }
    }

    #[test]
    fn the_line_of_a_stuck_agent_says_what_was_done() {
        let session = SessionId::new("s");
        let line = stuck(agent(&session, SignedDuration::from_secs(31 * 60 + 7)), now()).line().unwrap();
        insta::assert_snapshot!(line, @r#"{"ts":"2026-02-03T09:28:53Z","workspace":"/w","outcome":"attention","durationMs":1867000,"summary":"agent site-1 has done nothing for 31m; last: Bash: cargo test; task: Fix the build","kind":"stuck","agent":"site-1","sessionId":"s"}"#);
    }

    #[test]
    fn a_summary_is_one_short_line_without_secrets() {
        let of = |last_action: &str, tool_name: &str, current_task: &str| {
            let session = SessionId::new("s");
            let quiet_for = SignedDuration::from_mins(30);
            let agent = StuckAgent { last_action, tool_name, current_task, ..agent(&session, quiet_for) };
            stuck_summary(&agent, Duration::from_secs(59))
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

    #[test]
    fn the_line_about_undecided_calls_names_the_first_one_and_what_refuses_it() {
        let agent_id = AgentId::parse("site-1").unwrap();
        let agent = EndedAgent {
            agent_id: &agent_id,
            backend: &Backend::default(),
            folder: Path::new("/w"),
            started: now() - SignedDuration::from_secs(9),
        };
        let mut calls = UndecidedCalls::default();
        assert!(undecided(&calls, agent, now()).is_none());
        calls.add("Bash(ls)");
        calls.add("Bash(sudo ls)");
        calls.add_refused(DeniedBy::Guard, "Bash(sudo ls)");
        let line = undecided(&calls, agent, now()).unwrap().line().unwrap();
        insta::assert_snapshot!(line, @r#"{"ts":"2026-02-03T09:59:51Z","workspace":"/w","outcome":"attention","durationMs":9000,"summary":"agent site-1 ran calls without a decision: Bash(ls) and 1 more; the guard refuses Bash(sudo ls)","kind":"unguarded","agent":"site-1","unguarded":["Bash(ls)","Bash(sudo ls)"]}"#);
    }
}
