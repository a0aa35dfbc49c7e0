//! Items of a turn as events: messages, and calls in the vocabulary that guard and rules know.
//!
//! Only calls that hooks see become tool calls, under the id that the hook gets (measured on 0.169.0, also in code
//! mode).

use super::line::CodexMessage;
use super::patch::{self, Change};
use super::{command, known};
use crate::event::{Event, Json};
use crate::unknown::Unknown;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::borrow::Cow;

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    item: Item<'a>,
}

/// An item, with the fields of all kinds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    aggregated_output: Option<String>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    changes: Option<Vec<Change>>,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    query: Option<String>,
}

/// `item/started`: a call, if it is one.
pub(super) fn started(
    line: &CodexMessage<'_>,
    sink: &mut impl FnMut(Event<'_>),
    unknown: &mut Unknown,
) -> Option<()> {
    let Params { item } = line.params()?;
    if !known::ITEMS.contains(&&*item.kind) {
        unknown.add(&[b"item/started/", item.kind.as_bytes()]);
        unknown.open(&item.id);
    }
    if let Some((name, input)) = item.call() {
        let (message, id) = (Cow::Borrowed(item.id.as_str()), Cow::Borrowed(item.id.as_str()));
        sink(Event::ToolUse { message, parent: "".into(), id, name: name.into(), input: Json(&input) });
    }
    Some(())
}

/// `item/completed`: a message, or the result of a call. An unknown item whose start was counted counts only once.
pub(super) fn completed(
    line: &CodexMessage<'_>,
    sink: &mut impl FnMut(Event<'_>),
    unknown: &mut Unknown,
) -> Option<()> {
    let Params { item } = line.params()?;
    if !known::ITEMS.contains(&&*item.kind) && !unknown.close(&item.id) {
        unknown.add(&[b"item/completed/", item.kind.as_bytes()]);
    }
    item.count_output(unknown);
    if item.kind == "agentMessage" {
        let text = item.text.unwrap_or_default();
        sink(Event::Text { message: item.id.into(), parent: "".into(), text, is_chunk: false });
    } else if item.call().is_some() {
        // Items of kinds without a status never fail.
        let is_error = item.status.as_deref().is_some_and(|status| status != "completed");
        let output = item.output();
        sink(Event::ToolResult {
            parent: "".into(),
            id: item.id.as_str().into(),
            output: output.into(),
            is_error,
        });
    }
    Some(())
}

impl Item<'_> {
    /// The tool and input of a call; `None` for other items.
    fn call(&self) -> Option<(String, Box<RawValue>)> {
        let (name, input) = match self.kind.as_str() {
            // A person's own command, or text typed into a running one: neither is a call of the model.
            "commandExecution"
                if matches!(self.source.as_deref(), Some("userShell" | "unifiedExecInteraction")) =>
            {
                return None;
            }
            "commandExecution" => {
                let command = command::unwrapped(self.command.as_deref().unwrap_or_default());
                ("Bash".to_owned(), json!({ "command": command }))
            }
            "fileChange" => patch::shown(self.changes.as_deref().unwrap_or_default()),
            "mcpToolCall" => {
                let part = |part: &Option<String>| part.clone().unwrap_or_default();
                let name = format!("mcp__{}__{}", part(&self.server), part(&self.tool));
                return Some((name, self.arguments()));
            }
            "dynamicToolCall" | "collabAgentToolCall" => {
                return Some((self.tool.clone().unwrap_or_else(|| self.kind.clone()), self.arguments()));
            }
            "imageView" => ("Read".to_owned(), json!({ "file_path": self.path })),
            "webSearch" => ("WebSearch".to_owned(), json!({ "query": self.query })),
            _ => return None,
        };
        Some((name, to_raw_value(&input).ok()?))
    }

    fn arguments(&self) -> Box<RawValue> {
        self.arguments.map(RawValue::to_owned).or_else(|| to_raw_value(&json!({})).ok()).unwrap_or_default()
    }

    /// Counts the unknown types of content in the result of a call of an MCP tool, and of changes of files.
    fn count_output(&self, unknown: &mut Unknown) {
        let result = if self.kind == "mcpToolCall" { read(self.result) } else { None };
        let blocks = result.as_ref().and_then(|result| result.get("content")?.as_array());
        for block in blocks.into_iter().flatten() {
            let kind = block["type"].as_str().unwrap_or_default();
            if !known::MCP_CONTENT.contains(&kind) {
                unknown.add(&[b"item/completed/mcpToolCall.result.content/", kind.as_bytes()]);
            }
        }
        for kind in self.changes.iter().flatten().map(Change::kind) {
            if !known::CHANGES.contains(&kind) {
                unknown.add(&[b"item/completed/fileChange.changes/", kind.as_bytes()]);
            }
        }
    }

    /// The output's text.
    fn output(&self) -> String {
        if let Some(output) = &self.aggregated_output {
            return output.clone();
        }
        if let Some(message) = read(self.error).as_ref().and_then(|error| error.get("message")?.as_str()) {
            return message.to_owned();
        }
        let result = read(self.result).unwrap_or_default();
        let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        match self.status.as_deref() {
            Some("declined") => "declined".to_owned(),
            _ => texts.join("\n"),
        }
    }
}

fn read(raw: Option<&RawValue>) -> Option<Value> {
    serde_json::from_str(raw?.get()).ok()
}
