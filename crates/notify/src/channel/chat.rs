//! The bodies of chat services' webhooks. Nobody can be mentioned, whatever a message says.

use crate::message::Message;
use serde_json::{Value, json};

/// Slack: `&`, `<` and `>` have a meaning.
pub(super) fn slack(message: &Message) -> Value {
    let text = format!("{}\n{}", message.title, message.cut(3000).0);
    json!({ "text": text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;") })
}

/// Discord: at most 2,000 characters.
pub(super) fn discord(message: &Message) -> Value {
    let text: String = format!("{}\n{}", message.title, message.body).chars().take(1900).collect();
    json!({ "content": text, "allowed_mentions": { "parse": [] } })
}

/// Teams: an adaptive card, as its workflows take it.
pub(super) fn teams(message: &Message) -> Value {
    let block = |text: &str, weight: &str| json!({ "type": "TextBlock", "text": text, "weight": weight, "wrap": true });
    let card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [block(&message.title, "Bolder"), block(&message.cut(10_000).0, "Default")],
    });
    json!({
        "type": "message",
        "attachments": [{ "contentType": "application/vnd.microsoft.card.adaptive", "content": card }],
    })
}
