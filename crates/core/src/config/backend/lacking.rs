//! Keys that ask for something that only some backends can do, and where they are set.

use super::{Backend, Capability};
use crate::config::problem::{Position, Problem};
use std::path::Path;
use std::sync::Arc;
use sys::error::Failure;
use sys::failure;

/// The keys that not every backend can fulfill, and the one that chooses it.
const KEYS: [&str; 15] = [
    "agent",
    "maxTurns",
    "requires",
    "mcp",
    "approval",
    "questions",
    "maxBudgetUsd",
    "budget",
    "reserve",
    "onLimit",
    "permissions",
    "permissionsChecker",
    "approvalExpiry",
    "backgroundWait",
    "retry",
];

/// Where keys that not every backend can fulfill are set, in one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::config) struct KeyPlaces(Vec<(&'static str, Position)>);

impl KeyPlaces {
    /// Whether the place of `key` matters.
    pub(in crate::config) fn has(key: &str) -> bool {
        KEYS.contains(&key)
    }

    /// Adds `key`, unless it is there already.
    pub(in crate::config) fn add(&mut self, key: &str, place: Position) {
        if let Some(key) = KEYS.iter().find(|known| **known == key)
            && self.of(key).is_none()
        {
            self.0.push((key, place));
        }
    }

    fn of(&self, key: &str) -> Option<Position> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, place)| *place)
    }
}

/// Where the keys of a heartbeat are set: in its HEARTBEAT.md, or in config.json.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BothPlaces {
    pub(in crate::config) front: KeyPlaces,
    pub(in crate::config) config: KeyPlaces,
    pub(in crate::config) config_file: Arc<Path>,
    /// The backend that HEARTBEAT.md asks for, if config.json names none.
    pub(in crate::config) asked: Option<Backend>,
}

impl BothPlaces {
    /// The file and the place of `key`.
    fn of(&self, key: &str, heartbeat: &Path) -> Option<(Arc<Path>, Position)> {
        let front = self.front.of(key).map(|place| (heartbeat.into(), place));
        front.or_else(|| Some((Arc::clone(&self.config_file), self.config.of(key)?)))
    }
}

/// All of `keys`, each with whether it is set and what it needs, that `backend` can't fulfill, as one problem. It is at
/// the first of `places`; otherwise it is one of the file `heartbeat`.
pub(in crate::config) fn check(
    backend: &Backend,
    keys: &[(&str, bool, Capability)],
    places: Option<&BothPlaces>,
    heartbeat: &Path,
) -> Result<(), Problem> {
    let lacks = |(_, is_set, needed): &&(&str, bool, Capability)| *is_set && !backend.has(*needed);
    let lacking: Vec<_> = keys.iter().filter(lacks).collect();
    let Some((first, ..)) = lacking.first() else { return Ok(()) };
    let needs: Vec<_> =
        lacking.iter().map(|(key, _, needed)| format!("{key} needs {}", backend.noun(*needed))).collect();
    let mut names: Vec<_> = lacking.iter().map(|(key, ..)| (*key).to_owned()).collect();
    names.dedup();
    let failure = failure!(
        "{}, which {backend} doesn't have", list(&needs);
        "remove {}, or choose another agent", list(&names)
    );
    Err(problem_at_key(first.split([':', '.']).next().unwrap_or(first), places, heartbeat, failure))
}

/// `a`, `a and b`, or `a, b, and c`.
pub(super) fn list(words: &[String]) -> String {
    match words {
        [words @ .., last] if words.len() > 1 => format!("{}, and {last}", words.join(", ")),
        few => few.join(" and "),
    }
}

/// The problem `wrong` with `key`, which is set at one of `places`; otherwise it is one of the file `heartbeat`.
pub(in crate::config) fn problem_at_key(
    key: &str,
    places: Option<&BothPlaces>,
    heartbeat: &Path,
    wrong: Failure,
) -> Problem {
    match places.and_then(|places| places.of(key, heartbeat)) {
        Some((file, place)) => Problem::at(&file, place, wrong),
        None => Problem::with(heartbeat, wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::error::Hinted;

    #[test]
    fn the_error_names_the_key_its_place_and_the_backend() {
        let keys = [("mcp", false, Capability::McpServers), ("maxTurns", true, Capability::MaxTurns)];
        let file = Path::new("/a/HEARTBEAT.md");
        assert!(check(&Backend::Claude, &keys, None, file).is_ok());
        let line =
            |places: Option<&BothPlaces>| check(&Backend::Codex, &keys, places, file).unwrap_err().line();
        let rest =
            "maxTurns needs a turn limit, which codex doesn't have; remove maxTurns, or choose another agent";
        assert_eq!(line(None), format!("/a/HEARTBEAT.md: {rest}"));
        let at = |line, column| {
            let mut places = KeyPlaces::default();
            places.add("maxTurns", Position { line, column });
            places.add("maxTurns", Position { line: 9, column: 9 });
            places.add("timeout", Position { line: 9, column: 9 });
            places
        };
        let mut places = BothPlaces {
            front: at(2, 11),
            config: at(3, 4),
            config_file: Path::new("/config.json").into(),
            asked: None,
        };
        assert_eq!(line(Some(&places)), format!("/a/HEARTBEAT.md:2:11: {rest}"));
        places.front = KeyPlaces::default();
        assert_eq!(line(Some(&places)), format!("/config.json:3:4: {rest}"));
    }

    #[test]
    fn all_keys_are_named_at_the_place_of_the_first() {
        let keys = [
            ("mcp", true, Capability::McpServers),
            ("maxTurns", true, Capability::MaxTurns),
            ("permissions.deny", true, Capability::Asks),
        ];
        let mut config = KeyPlaces::default();
        config.add("permissions", Position { line: 3, column: 4 });
        let places = BothPlaces {
            front: KeyPlaces::default(),
            config,
            config_file: Path::new("/config.json").into(),
            asked: None,
        };
        let line = |keys: &[_]| {
            let backend = Backend::Acp("gemini".into());
            check(&backend, keys, Some(&places), Path::new("/a/HEARTBEAT.md")).unwrap_err().line()
        };
        assert_eq!(
            line(&keys[2..]),
            "/config.json:3:4: permissions.deny needs guaranteed approval requests, which acp:gemini doesn't have; \
             remove permissions.deny, or choose another agent"
        );
        assert_eq!(
            line(&keys[..2]),
            "/a/HEARTBEAT.md: mcp needs a choice of MCP servers and maxTurns needs a turn limit, which acp:gemini \
             doesn't have; remove mcp and maxTurns, or choose another agent"
        );
        assert_eq!(
            line(&keys),
            "/a/HEARTBEAT.md: mcp needs a choice of MCP servers, maxTurns needs a turn limit, and permissions.deny \
             needs guaranteed approval requests, which acp:gemini doesn't have; remove mcp, maxTurns, and \
             permissions.deny, or choose another agent"
        );
    }
}
