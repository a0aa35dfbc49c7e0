//! Why calls of a beat were denied, from decisions.jsonl.

use crate::transcript::Call;
use jiff::Timestamp;
use murmur_core::permit::decision::{By, Verdict};
use murmur_store::journal::entry::Entry;
use murmur_store::journal::read::Backward;
use serde::Deserialize;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::io;
use sys::paths::DataDir;

/// The last decision on each call: who denied it, and why; `None` if it was allowed.
#[derive(Debug, Default)]
pub(super) struct Denials(HashMap<String, Option<(By, String)>>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    ts: Timestamp,
    agent: String,
    tool_use_id: String,
    verdict: Verdict,
    by: By,
    reason: String,
}

impl Denials {
    /// Reads the decisions on the calls of the beat of `entry`, newest first, back to its start.
    pub(super) fn read(dir: &DataDir, entry: &Entry) -> io::Result<Self> {
        let mut last = HashMap::new();
        let Some(started) = entry.started() else { return Ok(Self::default()) };
        let mut lines = Backward::open(&dir.decisions())?;
        while let Some(line) = lines.next_line()? {
            let Ok(line) = serde_json::from_slice::<Line>(&line) else { continue };
            if line.ts < started {
                break;
            }
            if line.agent == entry.agent
                && let Place::Vacant(place) = last.entry(line.tool_use_id)
            {
                place.insert((line.verdict == Verdict::Deny).then_some((line.by, line.reason)));
            }
        }
        Ok(Self(last))
    }

    /// Who denied the call, and why: `by the guard: …`. `None` if nobody did, as far as is known.
    pub(super) fn of(&self, call: &Call) -> Option<String> {
        let (by, reason) = self.0.get(&call.id)?.as_ref()?;
        let by = match by {
            By::Guard(_) => "by the guard".to_owned(),
            By::Rule { file, number } => format!("by rule {number} of {file}"),
            By::Person => "by a person".to_owned(),
            By::Model(name) => format!("by the model {name}"),
            By::Default(setting) => format!("by {setting}"),
            By::Nobody => "as nobody answered in time".to_owned(),
            By::Failure => "because of a failure".to_owned(),
        };
        Some(format!("{by}: {reason}"))
    }
}
