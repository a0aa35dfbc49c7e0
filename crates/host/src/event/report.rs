//! Payloads of the agent's session reports: tasks, compaction, rate limits. Missing fields are omitted.

use murmur_agent::event::{ApiError, Compaction, RateLimit, Task};
use serde_json::{Map, Value, json};

/// A change of a task.
pub(super) fn task(task: &Task) -> Value {
    given([
        ("stage", json!(task.stage)),
        ("taskId", text(&task.id)),
        ("kind", text(&task.kind)),
        ("description", text(&task.description)),
        ("background", json!(task.is_background)),
        ("status", text(&task.status)),
        ("summary", text(&task.summary)),
        ("lastTool", text(&task.last_tool)),
        ("toolUseId", text(&task.tool_use_id)),
    ])
}

/// The progress of a compaction.
pub(super) fn compaction(compaction: &Compaction) -> Value {
    match compaction {
        Compaction::Started => json!({ "stage": "started" }),
        Compaction::Failed(error) => given([("stage", json!("failed")), ("error", text(error))]),
        Compaction::Done { trigger, pre_tokens, post_tokens } => given([
            ("stage", json!("done")),
            ("trigger", text(trigger)),
            ("preTokens", json!(pre_tokens)),
            ("postTokens", json!(post_tokens)),
        ]),
    }
}

/// The use of a rate limit.
pub(super) fn rate_limit(limit: &RateLimit) -> Value {
    given([
        ("status", json!(limit.status)),
        ("window", text(&limit.window)),
        ("resetsAt", json!(limit.resets_at)),
        ("utilization", json!(limit.utilization)),
    ])
}

/// An API error.
pub(super) fn api_error(refusal: &ApiError) -> Value {
    given([("error", json!(refusal.error)), ("status", json!(refusal.status))])
}

fn given<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    fields.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
}

/// `null` for an empty string.
fn text(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { text.into() }
}
