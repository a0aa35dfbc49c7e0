//! Telegram's Bot API (core.telegram.org/bots/api).

use super::{LIMIT, SendError, Sent, buttons};
use crate::http::{Call, send as send_call};
use crate::message::Message;
use murmur_core::config::notify::Address;
use murmur_core::config::settings::Secret;
use serde_json::{Value, json};
use std::time::Duration;
use sys::failure;

/// The longest text that is sent, in bytes; Telegram allows 4,096 characters.
pub(super) const MAX_TEXT: usize = 3_800;

pub(super) fn send(
    server: &Address,
    token: &Secret,
    chat: i64,
    message: &Message,
) -> Result<Sent, SendError> {
    let text = format!("{}\n\n{}", message.title, message.cut(MAX_TEXT).0);
    let mut body = json!({ "chat_id": chat, "text": text, "link_preview_options": { "is_disabled": true } });
    let rows: Vec<Value> = buttons(message)
        .map(|action| json!([{ "text": action.label, "callback_data": action.answer }]))
        .collect();
    if !rows.is_empty() {
        body["reply_markup"] = json!({ "inline_keyboard": rows });
    }
    let result = method(server, token, "sendMessage", &body, LIMIT)?;
    Ok(Sent { message: result.get("message_id").and_then(Value::as_i64) })
}

pub(super) fn acknowledge(
    server: &Address,
    token: &Secret,
    chat: i64,
    callback: Option<&str>,
    text: &str,
) -> Result<Value, SendError> {
    match callback {
        Some(id) => {
            let text: String = text.chars().take(200).collect();
            method(
                server,
                token,
                "answerCallbackQuery",
                &json!({ "callback_query_id": id, "text": text }),
                LIMIT,
            )
        }
        None => method(server, token, "sendMessage", &json!({ "chat_id": chat, "text": text }), LIMIT),
    }
}

/// Calls a method of the Bot API and returns its `result`.
pub(crate) fn method(
    server: &Address,
    token: &Secret,
    name: &str,
    body: &Value,
    limit: Duration,
) -> Result<Value, SendError> {
    let url = format!("{}/bot{}/{name}", server.reveal().trim_end_matches('/'), token.reveal());
    let body = Some(("application/json", body.to_string().into_bytes()));
    let bytes = send_call(&Call { url, host: server.host(), body, headers: Vec::new(), limit })?;
    let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    match answer.get("result") {
        Some(result) if answer.get("ok") == Some(&Value::Bool(true)) => Ok(result.clone()),
        _ => Err(failure!("{} returned no result", server.host()).into()),
    }
}
