//! Scripts for fake-claude: those of fake-model, with added tool results.
//!
//! Input: the script's JSON. Output: turns, and the results of calls by id.

#[expect(dead_code, reason = "only fake-model sends the headers of an answer")]
#[path = "model/script.rs"]
mod model;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use model::{ErrorTurn, Play};

use sys::error::Failure;

use crate::act::background::ends;

/// A script.
pub(crate) struct Script {
    turns: model::Script,
    results: BTreeMap<String, Scripted>,
    has_subagent: bool,
}

/// The scripted result of a call: `"result"`, `"is_error"` and `"ends_after_ms"` of its block.
#[derive(Debug, Clone)]
pub(crate) struct Scripted {
    pub(crate) text: Option<String>,
    pub(crate) is_error: bool,
    /// When a background command ends: after this time, or never (inner `None`); outer `None` if unset.
    pub(crate) ends: Option<Option<Duration>>,
}

impl Script {
    /// Reads the script from the instructions: JSON, or a file name.
    pub(crate) fn read(told: &Value) -> Result<Self, Failure> {
        let Some(path) = told.as_str() else {
            return Self::parse(".fake-claude.json: script", told.to_string().as_bytes());
        };
        let text = std::fs::read(Path::new(path)).map_err(|error| Failure::new(path).because(&error))?;
        Self::parse(path, &text)
    }

    fn parse(name: &str, text: &[u8]) -> Result<Self, Failure> {
        let wrong = |error: serde_json::Error| Failure::new(name).because(&error);
        let whole: Value = serde_json::from_slice(text).map_err(wrong)?;
        let mut results = BTreeMap::new();
        collect(&whole, &mut results)?;
        let has_subagent = whole["subagent"].is_array();
        Ok(Self { turns: model::Script::parse(text).map_err(wrong)?, results, has_subagent })
    }

    /// The model's answer after this number of messages.
    pub(crate) fn after(&self, messages: usize) -> (Duration, Play<'_>) {
        self.turns.choose(&json!({"tools": ["any"]}), messages)
    }

    /// Like [`Self::after`], for a subagent.
    pub(crate) fn after_of_subagent(&self, messages: usize) -> (Duration, Play<'_>) {
        let system = json!([{"type": "text", "text": model::SUBAGENT}]);
        self.turns.choose(&json!({"tools": ["any"], "system": system}), messages)
    }

    /// Whether the script has turns for subagents.
    pub(crate) fn has_subagent(&self) -> bool {
        self.has_subagent
    }

    /// Returns the scripted result of the call with this id.
    pub(crate) fn result(&self, id: &Value) -> Option<Scripted> {
        self.results.get(id.as_str()?).cloned()
    }
}

/// A result: text, or `{"line":TEXT,"times":N}`.
fn result(value: &Value) -> Option<String> {
    let times = usize::try_from(value["times"].as_u64().unwrap_or_default()).unwrap_or_default();
    let repeated = value["line"].as_str().map(|line| format!("{line}\n").repeat(times));
    value.as_str().map(str::to_owned).or(repeated)
}

/// Collects the calls at any depth.
fn collect(value: &Value, results: &mut BTreeMap<String, Scripted>) -> Result<(), Failure> {
    match value {
        Value::Array(all) => all.iter().try_for_each(|one| collect(one, results)),
        Value::Object(fields) if value["type"] == "tool_use" => {
            let text = fields.get("result").and_then(result);
            let is_error = value["is_error"] == true;
            let ends = ends(value)?;
            if let (Some(id), true) = (value["id"].as_str(), text.is_some() || is_error || ends.is_some()) {
                results.insert(id.to_owned(), Scripted { text, is_error, ends });
            }
            Ok(())
        }
        Value::Object(fields) => fields.values().try_for_each(|one| collect(one, results)),
        _ => Ok(()),
    }
}
