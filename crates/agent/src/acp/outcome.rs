//! Turns responses to murmur's own requests into events: a session, or the result of a turn.
//!
//! An error in the handshake ends the first turn, since no prompt will be sent.

use super::message::{RequestTag, text_at};
use crate::api_error;
use crate::event::{ApiError, Event, RunResult, Tokens};
use serde_json::Value;

/// The version of the protocol that murmur speaks.
pub(super) const VERSION: u64 = 1;

/// JSON-RPC's code for an agent that isn't logged in.
const NOT_AUTHENTICATED: i64 = -32000;

/// Passes the events of the response to `own` to `sink`.
pub(super) fn emit(own: &RequestTag, response: &Result<Value, Value>, sink: &mut impl FnMut(Event<'_>)) {
    match (own, response) {
        (RequestTag::Initialize, Ok(result)) => {
            if let Some(why) = wrong_version(result) {
                sink(failed(why, None));
            }
        }
        (RequestTag::Session { version, resumed }, Ok(result)) => {
            let id = text_at(Some(result), &["sessionId"]);
            let resumed = resumed.as_deref().unwrap_or_default();
            if id.is_empty() && resumed.is_empty() {
                return sink(failed("the agent did not return a session id".to_owned(), None));
            }
            sink(Event::Session {
                id: if id.is_empty() { resumed.into() } else { id.into() },
                model: model(result).into(),
                version: version.as_str().into(),
                permission_mode: text_at(Some(result), &["modes", "currentModeId"]).into(),
                mcp_servers: Vec::new(),
            });
        }
        (RequestTag::Load { .. }, Ok(_)) => {}
        (RequestTag::Loaded { version, session }, Ok(_)) => sink(Event::Session {
            id: session.as_str().into(),
            model: "".into(),
            version: version.as_str().into(),
            permission_mode: "".into(),
            mcp_servers: Vec::new(),
        }),
        (RequestTag::Mode(mode), Ok(_)) => sink(Event::PermissionMode { mode: mode.as_str().into() }),
        (RequestTag::Model(_), Ok(_)) => {}
        (RequestTag::Prompt { is_counted, .. }, Ok(result)) => {
            sink(Event::Result(Box::new(of_turn(result, *is_counted))));
        }
        (own, Err(error)) => {
            let kind = text_at(Some(error), &["data", "errorKind"]);
            let status = status(error, kind);
            let kind = if is_unreachable(error) { ApiError::UNREACHABLE } else { kind };
            if status.is_some() || !kind.is_empty() {
                sink(Event::ApiError(Box::new(ApiError { error: kind.to_owned(), status, limit: None })));
            }
            let why = explained(error);
            sink(failed(
                match own {
                    RequestTag::Initialize => format!("the handshake failed: {why}"),
                    RequestTag::Session { resumed: None, .. } => {
                        format!("cannot begin a conversation: {why}")
                    }
                    RequestTag::Session { resumed: Some(session), .. }
                    | RequestTag::Load { session, .. }
                    | RequestTag::Loaded { session, .. } => {
                        format!("cannot resume conversation {session}: {why}")
                    }
                    RequestTag::Mode(mode) => format!("cannot set the permission mode {mode}: {why}"),
                    RequestTag::Model(model) => format!("cannot set the model {model}: {why}"),
                    RequestTag::Prompt { .. } => why,
                },
                status,
            ));
        }
    }
}

/// Why murmur can't speak the version of the protocol that a program chose; `None` if it can.
pub(super) fn wrong_version(initialized: &Value) -> Option<String> {
    let version = initialized.get("protocolVersion").and_then(Value::as_u64);
    if version == Some(VERSION) {
        return None;
    }
    let version = version.map_or_else(|| "no version".to_owned(), |version| format!("version {version}"));
    Some(format!("the agent uses {version} of the Agent Client Protocol, but murmur needs version {VERSION}"))
}

/// The model that a conversation uses.
pub(super) fn model(session: &Value) -> &str {
    let option = option(session, "model").map(|option| text_at(Some(option), &["currentValue"]));
    option.unwrap_or_else(|| text_at(Some(session), &["models", "currentModelId"]))
}

/// Whether the session is in `mode`.
pub(super) fn is_in_mode(session: &Value, mode: &str) -> bool {
    let current = text_at(Some(session), &["modes", "currentModeId"]);
    let option = option(session, "mode").filter(|_| current.is_empty());
    option.map_or(current, |option| text_at(Some(option), &["currentValue"])) == mode
}

/// The option that chooses the model or another `category`.
pub(super) fn option<'a>(session: &'a Value, category: &str) -> Option<&'a Value> {
    let mut options = session.get("configOptions")?.as_array()?.iter();
    options.find(|option| ["category", "id"].iter().any(|key| text_at(Some(option), &[key]) == category))
}

fn failed(why: String, api_error_status: Option<u64>) -> Event<'static> {
    let subtype = "error_during_execution".to_owned();
    Event::Result(Box::new(RunResult {
        subtype,
        is_error: true,
        errors: vec![why],
        api_error_status,
        ..RunResult::default()
    }))
}

/// The result of a turn. `is_counted` is whether the program reports the tokens of every turn in which the model
/// answered.
fn of_turn(result: &Value, is_counted: bool) -> RunResult {
    let reason = text_at(Some(result), &["stopReason"]);
    let why = match reason {
        "end_turn" => None,
        "max_tokens" => Some("the model reached its token limit".to_owned()),
        "max_turn_requests" => Some("the agent reached its limit of requests to the model".to_owned()),
        "refusal" => Some("the model refused to continue".to_owned()),
        RunResult::CANCELED => Some("the turn was canceled".to_owned()),
        other => Some(format!("the turn ended for an unknown reason: {other:?}")),
    };
    let usage = usage(result);
    // Such a program ends a turn like any other if its requests to the model failed. Its last message says why.
    let has_failed = is_counted && why.is_none() && usage.is_none();
    let subtype = match (&why, has_failed) {
        (_, true) => RunResult::ERROR_IN_MESSAGE,
        (Some(_), _) => "error_during_execution",
        (None, _) => "success",
    };
    let used = result.get("_meta").and_then(|meta| meta.get("quota")?.get("model_usage")?.as_array());
    let models = used.into_iter().flatten().map(|used| text_at(Some(used), &["model"]));
    RunResult {
        subtype: subtype.to_owned(),
        is_error: why.is_some() || has_failed,
        errors: why.into_iter().collect(),
        stop_reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
        models: models.filter(|model| !model.is_empty()).map(str::to_owned).collect(),
        usage,
        ..RunResult::default()
    }
}

/// The tokens of a turn.
fn usage(result: &Value) -> Option<Tokens> {
    let quota = || result.get("_meta")?.get("quota")?.get("token_count");
    let usage = result.get("usage").filter(|usage| usage.is_object()).or_else(quota)?;
    let count = |keys: [&str; 2]| keys.iter().find_map(|key| usage.get(*key)?.as_u64());
    let output = count(["outputTokens", "output_tokens"])?;
    Some(Tokens {
        input: count(["inputTokens", "input_tokens"]).unwrap_or(0),
        output,
        cache_read: count(["cachedReadTokens", "cachedInputTokens"]).unwrap_or(0),
        cache_write: count(["cachedWriteTokens", "cachedWriteTokens"]).unwrap_or(0),
    })
}

/// The HTTP status of the API in an error: its code, a field of its data, or what its `kind` stands for.
fn status(error: &Value, kind: &str) -> Option<u64> {
    let data = |key: &str| error.get("data")?.get(key)?.as_u64();
    let codes = [error.get("code").and_then(Value::as_u64), data("statusCode"), data("status")];
    let codes = codes.into_iter().flatten().find(|code| (400..600).contains(code));
    codes.or(match kind {
        "rate_limit" => Some(429),
        "server_error" => Some(500),
        "overloaded" => Some(529),
        _ => None,
    })
}

/// Whether opencode says that the API gave no answer. Its other errors have only the API's own text.
fn is_unreachable(error: &Value) -> bool {
    let begins = text_at(Some(error), &["message"]).starts_with("Internal error: Cannot connect to API: ");
    begins && text_at(Some(error), &["data", "errorName"]) == "APIError"
}

/// What an error says.
pub(super) fn explained(error: &Value) -> String {
    let message = text_at(Some(error), &["message"]);
    let plain = message.strip_prefix("Internal error: ").unwrap_or(message);
    // gemini's is the API's own response.
    let inner = api_error::message(plain);
    let plain = inner.as_deref().unwrap_or(plain);
    let data = error.get("data");
    let details = data.and_then(Value::as_str).unwrap_or_else(|| text_at(data, &["details"]));
    let text = match (plain, details) {
        ("" | "Internal error", "") => error.to_string(),
        ("" | "Internal error", details) => details.to_owned(),
        (plain, "") => plain.to_owned(),
        (plain, details) => format!("{plain}: {details}"),
    };
    if error.get("code").and_then(Value::as_i64) == Some(NOT_AUTHENTICATED) {
        return format!(
            "the agent is not logged in ({text}); log in with its own program, or set its API key"
        );
    }
    text
}
