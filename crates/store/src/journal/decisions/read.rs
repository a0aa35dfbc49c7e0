//! Reads decisions.jsonl and its archived parts, newest first.

use crate::journal::read::Backward;
use jiff::Timestamp;
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_core::permit::request::Answerer;
use rotate::PartError;
use serde::Deserialize;
use std::io;
use std::path::Path;

/// A recorded decision.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decided {
    /// When it was decided, RFC 3339.
    #[serde(default)]
    pub ts: String,
    /// The agent that made the call.
    pub agent: String,
    /// The project whose rules applied.
    #[serde(default)]
    pub project: Option<String>,
    /// The tool.
    pub tool: String,
    /// The tool's input, as JSON text.
    #[serde(default)]
    pub input: String,
    /// The backend's id of the call.
    #[serde(default)]
    pub tool_use_id: String,
    /// What was decided. The alias is the key of older versions.
    #[serde(alias = "verdict")]
    pub decision: DecisionKind,
    /// Who decided.
    pub by: DecidedBy,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// The process that sent the answer of a person.
    #[serde(default)]
    pub answered_by: Option<Answerer>,
    /// Whether the call had already run.
    #[serde(default)]
    pub breach: bool,
}

impl Decided {
    fn at(&self) -> Option<Timestamp> {
        self.ts.parse().ok()
    }

    /// Whether the agent has this name: its id, its project, or its heartbeat. A beat's agent is called
    /// `project-heartbeat-random` or `project-random`.
    fn is_of(&self, name: &str) -> bool {
        let heartbeat = || {
            let (whole, _random) = self.agent.rsplit_once('-')?;
            whole.strip_prefix(self.project.as_deref()?)?.strip_prefix('-')
        };
        self.agent == name || self.project.as_deref() == Some(name) || heartbeat() == Some(name)
    }
}

/// Selects decisions.
#[derive(Debug, Default, Clone)]
pub struct Filter {
    /// Only of agents with this name: an agent's id, a project or a heartbeat.
    pub name: Option<String>,
    /// Only those at this time or later.
    pub since: Option<Timestamp>,
}

impl Filter {
    fn matches(&self, decided: &Decided) -> bool {
        self.name.as_ref().is_none_or(|name| decided.is_of(name)) && !self.is_before(decided)
    }

    fn is_before(&self, decided: &Decided) -> bool {
        self.since.zip(decided.at()).is_some_and(|(since, at)| at < since)
    }
}

/// How many decisions in a row must be too old before the search ends: several programs write them.
const OLDER_IN_A_ROW: usize = 1000;

/// A decision and the line it came from, without its newline.
#[derive(Debug)]
pub struct FoundDecision {
    /// The decision.
    pub decided: Decided,
    /// The line.
    pub line: Vec<u8>,
}

/// Returns the newest `most` decisions in the file at `path` that `filter` selects, oldest first, and the parts that
/// are not readable. Skips lines that are not decisions.
pub fn newest(path: &Path, filter: &Filter, most: usize) -> io::Result<(Vec<FoundDecision>, Vec<PartError>)> {
    let mut lines = Backward::open(path)?;
    let (mut found, mut older) = (Vec::new(), 0);
    while found.len() < most
        && older < OLDER_IN_A_ROW
        && let Some(line) = lines.next_line()?
    {
        let Ok(decided) = serde_json::from_slice::<Decided>(&line) else { continue };
        older = if filter.is_before(&decided) { older + 1 } else { 0 };
        if filter.matches(&decided) {
            found.push(FoundDecision { decided, line });
        }
    }
    found.reverse();
    Ok((found, lines.into_skipped()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(agent: &str, project: &str) -> Decided {
        let by = serde_json::json!({ "kind": "person" });
        let line = serde_json::json!({ "ts": "2026-02-03T10:00:00Z", "agent": agent, "project": project, "tool": "Bash",
            "decision": "allow", "by": by });
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn an_agent_is_known_by_its_id_its_project_and_its_heartbeat() {
        let beat = decided("site-nightly-0a1b2c3d", "site");
        for (name, is_it) in [
            ("site-nightly-0a1b2c3d", true),
            ("site", true),
            ("nightly", true),
            ("site-nightly", false),
            ("night", false),
            ("0a1b2c3d", false),
        ] {
            assert_eq!(beat.is_of(name), is_it, "{name}");
        }
        assert!(decided("site-0a1b2c3d", "site").is_of("site"));
        assert!(!decided("claude-0a1b2c3d", "").is_of("nightly"));
    }

    #[test]
    fn archived_decisions_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decisions.jsonl");
        let open = |path: &Path| std::fs::File::options().append(true).create(true).open(path);
        for number in 1..=5 {
            let line = format!(
                "{{\"ts\":\"2026-02-0{number}T10:00:00Z\",\"agent\":\"a{number}\",\"tool\":\"Bash\",\"verdict\":\"deny\",\
                 \"by\":{{\"kind\":\"nobody\"}}}}\nnot a decision\n"
            );
            rotate::append(&path, line.as_bytes(), 1, open, |_| Ok(())).unwrap();
            rotate::compress(&path).unwrap();
        }
        let agents = |filter: &Filter, most| -> Vec<String> {
            let (found, skipped) = newest(&path, filter, most).unwrap();
            assert!(skipped.is_empty());
            found.into_iter().map(|found| found.decided.agent).collect()
        };
        assert_eq!(agents(&Filter::default(), 2), ["a4", "a5"]);
        let since = "2026-02-03T00:00:00Z".parse().ok();
        assert_eq!(agents(&Filter { since, ..Filter::default() }, usize::MAX), ["a3", "a4", "a5"]);
        assert_eq!(agents(&Filter { name: Some("a1".to_owned()), since: None }, usize::MAX), ["a1"]);
    }
}
