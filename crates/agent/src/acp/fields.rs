//! The fields that version 1 of the protocol defines for what murmur reads, stable or not, and those that a known
//! program adds. Others are counted. Fields that begin with `_` are a program's own.

use super::message::{RequestTag, text_at};
use crate::unknown::{Fields, Unknown};
use serde_json::{Map, Value};

const fn plain(names: &'static [&'static str]) -> Fields {
    Fields { names, objects: &[] }
}

/// What a message or a tool's output consists of: blocks of these types.
const BLOCKS: [&str; 5] = ["audio", "image", "resource", "resource_link", "text"];

#[rustfmt::skip]
const BLOCK: Fields = plain(&[
    "annotations", "data", "description", "mimeType", "name", "resource", "size", "text", "title", "type", "uri",
]);

const CHUNK: Fields = Fields { names: &["messageId", "sessionUpdate"], objects: &[("content", BLOCK)] };

#[rustfmt::skip]
const CALL: Fields = plain(&[
    "content", "kind", "locations", "name", "rawInput", "rawOutput", "sessionUpdate", "status", "title", "toolCallId",
]);

/// What the content of a call consists of, by type.
const CONTENTS: [(&str, Fields); 3] = [
    ("content", Fields { names: &["type"], objects: &[("content", BLOCK)] }),
    ("diff", plain(&["newText", "oldText", "path", "type"])),
    ("terminal", plain(&["terminalId", "type"])),
];

const LOCATION: Fields = plain(&["line", "path"]);

const OPTION: Fields = plain(&["kind", "name", "optionId"]);

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
        let path = format!("session/update/{kind}");
        unknown.add_fields(&path, update, known);
        match kind {
            "tool_call" | "tool_call_update" => in_call(&path, update, unknown),
            "agent_message_chunk" => of_block(&format!("{path}.content"), update.get("content"), unknown),
            _ => {}
        }
    }
}

/// Counts the unknown fields of a request for permission.
pub(super) fn of_request(params: &Map<String, Value>, unknown: &mut Unknown) {
    let path = "session/request_permission";
    unknown.add_fields(path, params, &REQUEST);
    for option in objects(params.get("options")) {
        unknown.add_fields(&format!("{path}.options"), option, &OPTION);
    }
    if let Some(Value::Object(call)) = params.get("toolCall") {
        in_call(&format!("{path}.toolCall"), call, unknown);
    }
}

/// Counts what is unknown within the parts of `call`, which is at `path`.
fn in_call(path: &str, call: &Map<String, Value>, unknown: &mut Unknown) {
    for part in objects(call.get("content")) {
        let kind = text_at(part.get("type"), &[]);
        match CONTENTS.iter().find(|(known, _)| *known == kind) {
            Some((_, known)) => unknown.add_fields(&format!("{path}.content/{kind}"), part, known),
            None => unknown.add(&[path.as_bytes(), b".content/", kind.as_bytes()]),
        }
        if kind == "content" {
            of_block(&format!("{path}.content/content.content"), part.get("content"), unknown);
        }
    }
    for location in objects(call.get("locations")) {
        unknown.add_fields(&format!("{path}.locations"), location, &LOCATION);
    }
}

/// Counts the type of `block`, which is at `path`, if it is unknown.
fn of_block(path: &str, block: Option<&Value>, unknown: &mut Unknown) {
    let kind = text_at(block, &["type"]);
    if !BLOCKS.contains(&kind) {
        unknown.add(&[path.as_bytes(), b"/", kind.as_bytes()]);
    }
}

/// The objects in an array.
fn objects(array: Option<&Value>) -> impl Iterator<Item = &Map<String, Value>> {
    array.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
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
