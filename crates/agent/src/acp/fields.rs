//! The fields that version 1 of the protocol defines for what murmur reads, stable or not, and those that a known
//! program adds. Others are counted. Fields that begin with `_` are a program's own.

use super::message::RequestTag;
use crate::unknown::{Fields, Unknown};
use serde_json::{Map, Value};

const fn plain(names: &'static [&'static str]) -> Fields {
    Fields { names, objects: &[] }
}

/// What a message consists of.
#[rustfmt::skip]
const BLOCK: Fields = plain(&[
    "annotations", "data", "description", "mimeType", "name", "resource", "size", "text", "title", "type", "uri",
]);

const CHUNK: Fields = Fields { names: &["messageId", "sessionUpdate"], objects: &[("content", BLOCK)] };

#[rustfmt::skip]
const CALL: Fields = plain(&[
    "content", "kind", "locations", "name", "rawInput", "rawOutput", "sessionUpdate", "status", "title", "toolCallId",
]);

/// Updates, by kind.
const UPDATES: [(&str, Fields); 5] = [
    ("agent_message_chunk", CHUNK),
    ("current_mode_update", plain(&["currentModeId", "sessionUpdate"])),
    ("tool_call", CALL),
    ("tool_call_update", CALL),
    (
        "usage_update",
        Fields {
            names: &["sessionUpdate", "size", "used"],
            objects: &[("cost", plain(&["amount", "currency"]))],
        },
    ),
];

const REQUEST: Fields = Fields { names: &["options", "sessionId"], objects: &[("toolCall", CALL)] };

const INITIALIZED: Fields = Fields {
    names: &["agentCapabilities", "authMethods", "protocolVersion"],
    objects: &[("agentInfo", plain(&["name", "title", "version"]))],
};

const SESSION: Fields = plain(&["configOptions", "models", "modes", "sessionId"]);

#[rustfmt::skip]
const TURN: Fields = Fields {
    names: &["stopReason", "userMessageId"],
    objects: &[("usage", plain(&[
        "cachedReadTokens", "cachedWriteTokens", "inputTokens", "outputTokens", "thoughtTokens", "totalTokens",
    ]))],
};

/// Counts the unknown fields of an update of this `kind`.
pub(super) fn of_update(kind: &str, update: &Map<String, Value>, unknown: &mut Unknown) {
    if let Some((_, known)) = UPDATES.iter().find(|(known, _)| *known == kind) {
        unknown.add_fields(&format!("session/update/{kind}"), update, known);
    }
}

/// Counts the unknown fields of a request for permission.
pub(super) fn of_request(params: &Map<String, Value>, unknown: &mut Unknown) {
    unknown.add_fields("session/request_permission", params, &REQUEST);
}

/// Counts the unknown fields of the result of murmur's own request.
pub(super) fn of_result(own: &RequestTag, result: &Value, unknown: &mut Unknown) {
    let (name, known) = match own {
        RequestTag::Initialize => ("initialize", &INITIALIZED),
        RequestTag::Session { .. } | RequestTag::Load { .. } => ("session/new", &SESSION),
        RequestTag::Prompt { .. } => ("session/prompt", &TURN),
        RequestTag::Loaded { .. } | RequestTag::Mode(_) | RequestTag::Model(_) => return,
    };
    if let Value::Object(result) = result {
        unknown.add_fields(name, result, known);
    }
}
