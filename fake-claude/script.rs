//! The script that is acted: fake-model's, and beside it what its tools are said to yield.
//!
//! In comes the script's JSON; out go turns, and the results of calls by their ids.

#[path = "model/script.rs"]
#[expect(dead_code, reason = "only fake-model sends headers")]
mod model;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use model::Play;

use crate::instructions::Wrong;

/// A script.
pub(crate) struct Script {
    turns: model::Script,
    results: BTreeMap<String, Scripted>,
}

/// What a call is said to yield: `"result"` and `"is_error"` of its block.
#[derive(Debug, Clone)]
pub(crate) struct Scripted {
    pub(crate) text: Option<String>,
    pub(crate) is_error: bool,
}

impl Script {
    /// Reads what the instructions hold: a script, or the name of a file with one.
    pub(crate) fn read(told: &Value) -> Result<Self, Wrong> {
        let Some(path) = told.as_str() else {
            return Self::parse(".fake-claude.json: script", told.to_string().as_bytes());
        };
        let text = std::fs::read(Path::new(path)).map_err(|error| Wrong(format!("{path}: {error}")))?;
        Self::parse(path, &text)
    }

    fn parse(name: &str, text: &[u8]) -> Result<Self, Wrong> {
        let wrong = |error: serde_json::Error| Wrong(format!("{name}: {error}"));
        let whole: Value = serde_json::from_slice(text).map_err(wrong)?;
        let mut results = BTreeMap::new();
        collect(&whole, &mut results);
        Ok(Self { turns: model::Script::parse(text).map_err(wrong)?, results })
    }

    /// What the model says when it has said so many messages.
    pub(crate) fn after(&self, messages: usize) -> (Duration, Play<'_>) {
        let said = vec![json!({"role": "assistant"}); messages];
        self.turns.choose(&json!({"tools": ["any"], "messages": said}))
    }

    /// What the call of this id is said to yield.
    pub(crate) fn result(&self, id: &Value) -> Option<Scripted> {
        self.results.get(id.as_str()?).cloned()
    }
}

/// Finds the calls, however deep they are.
fn collect(value: &Value, results: &mut BTreeMap<String, Scripted>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| collect(one, results)),
        Value::Object(fields) if value["type"] == "tool_use" => {
            let text = fields.get("result").and_then(Value::as_str).map(str::to_owned);
            let is_error = value["is_error"] == true;
            if let (Some(id), true) = (value["id"].as_str(), text.is_some() || is_error) {
                results.insert(id.to_owned(), Scripted { text, is_error });
            }
        }
        Value::Object(fields) => fields.values().for_each(|one| collect(one, results)),
        _ => {}
    }
}
