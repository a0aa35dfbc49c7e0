//! Parses lines that come once or rarely. A field of an unexpected shape is ignored; the rest of the line counts.

use super::json::{Scanner, Text};
use super::known;
use crate::event::{Event, PermissionRequest, RunResult, Tokens};
use crate::unknown::Unknown;
use murmur_core::id::SessionId;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::BTreeMap;

/// The result of the run. `line` is known to be a JSON object.
pub(super) fn result(line: &[u8], unknown: &mut Unknown) -> Event<'static> {
    let mut result = RunResult::default();
    let read = Scanner::new(line).members(|value, name| {
        match name {
            b"subtype" => result.subtype = value.text_or_empty()?.decode().into_owned(),
            b"is_error" => result.is_error = !matches!(value.raw()?, b"false" | b"null"),
            b"result" => result.text = value.text()?.map(owned),
            b"errors" => value.elements(|error| {
                result.errors.extend(error.text()?.map(owned));
                Some(())
            })?,
            b"stop_reason" => result.stop_reason = value.text()?.map(owned),
            b"session_id" => result.session_id = value.text()?.map(|id| SessionId::new(owned(id))),
            b"total_cost_usd" => result.cost_usd = number(value.raw()?),
            b"duration_ms" => result.duration_ms = number(value.raw()?),
            b"num_turns" => result.num_turns = number(value.raw()?),
            b"permission_denials" => value.elements(|denial| {
                let names = [&b"tool_use_id"[..], b"tool_input"];
                result.denials.extend(name_in(denial, b"tool_name", &names, |name| {
                    unknown.add(&[b"result.permission_denials.", name]);
                })?);
                Some(())
            })?,
            b"deferred_tool_use" => {
                result.deferred_tool = name_in(value, b"name", &[b"id", b"input"], |name| {
                    unknown.add(&[b"result.deferred_tool_use.", name]);
                })?;
            }
            b"api_error_status" => result.api_error_status = number(value.raw()?),
            b"origin" => {
                result.origin = name_in(value, b"kind", &known::ORIGIN, |name| {
                    unknown.add(&[b"result.origin.", name]);
                })?;
            }
            b"usage" => result.usage = tokens(value, b"result.usage.", unknown)?,
            b"modelUsage" => value.members(|model, name| {
                result.models.push(Text(name).decode().into_owned());
                if let Some(tokens) = tokens(model, b"result.modelUsage.", unknown)? {
                    result.total_usage = Some(result.total_usage.unwrap_or_default() + tokens);
                }
                Some(())
            })?,
            _ => value.skip()?,
        }
        Some(())
    });
    result.is_error |= result.subtype.starts_with("error");
    read.map_or(Event::Garbled, |()| Event::Result(Box::new(result)))
}

/// A retry of an API request.
pub(super) fn retry(line: &[u8]) -> Event<'static> {
    let (mut attempt, mut of, mut delay_ms, mut status) = (None, None, None, None);
    let mut error = String::new();
    let read = Scanner::new(line).members(|value, name| {
        match name {
            b"attempt" => attempt = number(value.raw()?),
            b"max_retries" => of = number(value.raw()?),
            b"retry_delay_ms" => delay_ms = number(value.raw()?),
            b"error_status" => status = number(value.raw()?),
            b"error" => error = owned(value.text_or_empty()?),
            _ => value.skip()?,
        }
        Some(())
    });
    let whole = |number: Option<f64>| number.unwrap_or_default() as u64;
    let (attempt, of, delay_ms) = (whole(attempt), whole(of), whole(delay_ms));
    let retry = Event::Retry { attempt, of, delay_ms, status, error: error.into() };
    read.map_or(Event::Garbled, |()| retry)
}

/// A permission request on the agent's stdout, or its cancellation. Only counts other control requests.
pub(super) fn control(line: &[u8], sink: &mut impl FnMut(Event<'_>), unknown: &mut Unknown) {
    #[derive(Deserialize)]
    struct Control {
        #[serde(rename = "type")]
        kind: String,
        request_id: String,
        #[serde(default)]
        request: Request,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Request {
        subtype: String,
        tool_name: String,
        input: Value,
        tool_use_id: String,
        #[serde(flatten)]
        others: BTreeMap<String, IgnoredAny>,
    }
    let Ok(Control { kind, request_id, request }) = serde_json::from_slice(line) else {
        return sink(Event::Garbled);
    };
    let Request { subtype, tool_name: tool, input, tool_use_id, others } = request;
    match (kind.as_str(), subtype.as_str()) {
        ("control_request", "can_use_tool") => {
            for name in others.keys().filter(|name| !known::REQUEST.contains(&name.as_str())) {
                unknown.add(&[b"control_request/can_use_tool.", name.as_bytes()]);
            }
            sink(Event::PermissionRequest(Box::new(PermissionRequest {
                request_id,
                tool,
                input,
                tool_use_id,
                cwd: None,
            })));
        }
        ("control_cancel_request", _) => sink(Event::PermissionRequestCancelled { request_id }),
        _ => unknown.add(&[b"control_request/", subtype.as_bytes()]),
    }
}

/// The tokens in a message's `usage` object.
pub(super) fn tokens_of(usage: &[u8], unknown: &mut Unknown) -> Option<Tokens> {
    tokens(&mut Scanner::new(usage), b"assistant.message.usage.", unknown).flatten()
}

/// The tokens in a `usage` object or in a model's part of `modelUsage`, which is at `path`; `None` if it has none.
fn tokens(usage: &mut Scanner<'_>, path: &[u8], unknown: &mut Unknown) -> Option<Option<Tokens>> {
    let (mut tokens, mut has_any) = (Tokens::default(), false);
    usage.members(|value, name| {
        let field = match name {
            b"input_tokens" | b"inputTokens" => &mut tokens.input,
            b"output_tokens" | b"outputTokens" => &mut tokens.output,
            b"cache_read_input_tokens" | b"cacheReadInputTokens" => &mut tokens.cache_read,
            b"cache_creation_input_tokens" | b"cacheCreationInputTokens" => &mut tokens.cache_write,
            _ => {
                if !known::is_usage_field(name) {
                    unknown.add(&[path, name]);
                }
                return value.skip();
            }
        };
        if let Some(count) = number(value.raw()?) {
            (*field, has_any) = (count, true);
        }
        Some(())
    })?;
    Some(has_any.then_some(tokens))
}

pub(super) fn owned(text: Text<'_>) -> String {
    text.decode().into_owned()
}

/// A JSON number; any other value is `None`.
pub(super) fn number<'a, N: Deserialize<'a>>(raw: &'a [u8]) -> Option<N> {
    serde_json::from_slice(raw).ok()
}

/// The object's string member called `wanted`. Passes the names that are not `known` to `unknown`.
fn name_in(
    object: &mut Scanner<'_>,
    wanted: &[u8],
    known: &[&[u8]],
    mut unknown: impl FnMut(&[u8]),
) -> Option<Option<String>> {
    let mut found = None;
    object.members(|value, name| {
        if name == wanted {
            found = value.text()?.map(owned)
        } else {
            if !known.contains(&name) {
                unknown(name);
            }
            value.skip()?
        }
        Some(())
    })?;
    Some(found)
}
