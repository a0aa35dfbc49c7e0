//! ntfy: publishing as JSON (docs.ntfy.sh/publish).

use super::{LIMIT, NTFY_BUTTONS, SendError, Sent, buttons};
use crate::http::{Call, send as send_call};
use crate::message::Message;
use murmur_core::config::notify::{Address, EventKind};
use murmur_core::config::settings::Secret;
use serde_json::{Value, json};

/// The longest text that ntfy shows as a message, in bytes, with some left for what is around it.
pub(super) const MAX_TEXT: usize = 3_800;

pub(super) fn send(
    server: &Address,
    topic: &str,
    token: Option<&Secret>,
    answers: Option<&str>,
    message: &Message,
) -> Result<Sent, SendError> {
    let (priority, tag) = match message.kind() {
        EventKind::Waiting => (4, "question"),
        EventKind::Error | EventKind::Stuck | EventKind::Breaker => (4, "rotating_light"),
        EventKind::Attention | EventKind::Limited | EventKind::Budget => (3, "warning"),
        EventKind::Recovered => (2, "white_check_mark"),
        EventKind::Digest | EventKind::Test => (2, "information_source"),
    };
    let mut body = json!({
        "topic": topic,
        "title": message.title,
        "message": message.cut(MAX_TEXT).0,
        "priority": priority,
        "tags": [tag],
    });
    if let Some(answers) = answers {
        let url = format!("{}/{answers}", server.reveal().trim_end_matches('/'));
        let action = |action: &crate::message::Action| {
            let mut button = json!({
                "action": "http", "label": action.label, "url": url, "method": "POST", "body": action.answer, "clear": true,
            });
            if let Some(token) = token {
                button["headers"] = json!({ "Authorization": format!("Bearer {}", token.reveal()) });
            }
            button
        };
        let actions: Vec<Value> = buttons(message).take(NTFY_BUTTONS).map(action).collect();
        if !actions.is_empty() {
            body["actions"] = Value::Array(actions);
        }
    }
    publish(server, token, &body)
}

pub(super) fn acknowledge(
    server: &Address,
    topic: &str,
    token: Option<&Secret>,
    text: &str,
) -> Result<Sent, SendError> {
    publish(server, token, &json!({ "topic": topic, "message": text, "priority": 2 }))
}

fn publish(server: &Address, token: Option<&Secret>, body: &Value) -> Result<Sent, SendError> {
    let url = format!("{}/", server.reveal().trim_end_matches('/'));
    let body = Some(("application/json", body.to_string().into_bytes()));
    send_call(&Call { url, host: server.host(), body, headers: headers(token), limit: LIMIT })?;
    Ok(Sent::default())
}

/// The headers that grant access.
pub(crate) fn headers(token: Option<&Secret>) -> Vec<(&'static str, String)> {
    token.map(|token| ("Authorization", format!("Bearer {}", token.reveal()))).into_iter().collect()
}
