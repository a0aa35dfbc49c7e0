//! The conversation of a verbose beat, with the calls that its agent did not announce because a hook blocked them.

use super::Job;
use jiff::Timestamp;
use murmur_agent::conversation::{Conversation, ToolCall, Turn};
use murmur_store::journal::decisions::read::{Filter, newest};
use serde_json::value::RawValue;
use std::collections::HashMap;
use sys::paths::DataDir;

/// The turns of `conversation`. Tools and inputs that are missing come from the record of decisions, as far as it is
/// readable.
pub(super) fn complete(
    mut conversation: Conversation,
    job: &Job,
    dir: &DataDir,
    started: Timestamp,
) -> Vec<Turn> {
    let mut calls: HashMap<String, &mut ToolCall> =
        conversation.unannounced().map(|call| (call.id.clone(), call)).collect();
    if !calls.is_empty() {
        let filter = Filter { name: Some(job.agent.to_string()), since: Some(started) };
        let (found, _unreadable) = newest(&dir.decisions(), &filter, usize::MAX).unwrap_or_default();
        for decided in found.into_iter().map(|found| found.decided) {
            if let Some(call) = calls.remove(&decided.tool_use_id) {
                call.name = decided.tool;
                call.input = RawValue::from_string(decided.input).unwrap_or_else(|_| call.input.clone());
            }
        }
    }
    drop(calls);
    conversation.into_turns()
}
