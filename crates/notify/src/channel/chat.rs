//! The bodies of chat services' webhooks. Texts are shown as they are: none of their characters formats, hides or links
//! anything, and nobody can be mentioned.

use crate::message::Message;
use serde_json::{Value, json};

/// The longest text for Discord, in UTF-16 code units, of 2,000.
const DISCORD: usize = 1_950;

/// The most lines of a card. Each takes some of the 28 KB that Teams allows.
const LINES: usize = 100;

/// Slack: `&`, `<` and `>` have a meaning in any text.
pub(super) fn slack(message: &Message) -> Value {
    let text = format!("{}\n{}", message.title, message.cut(3000).0);
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    json!({ "text": text, "mrkdwn": false })
}

/// Discord: the text is a block of code.
pub(super) fn discord(message: &Message) -> Value {
    let is_escaped = |letter: &char| "\\*_~`|<>[]#".contains(*letter);
    let title = message
        .title
        .chars()
        .flat_map(|letter| Some('\\').filter(|_| is_escaped(&letter)).into_iter().chain([letter]));
    let mut content: String = title.collect();
    if !message.body.is_empty() {
        // What would end the block gets a zero-width space.
        let body = message.body.replace("```", "``\u{200b}`");
        let mut left = DISCORD.saturating_sub(content.encode_utf16().count());
        let fits = |letter: &char| {
            let rest = left.checked_sub(letter.len_utf16());
            left = rest.unwrap_or_default();
            rest.is_some()
        };
        let shown: String = body.chars().take_while(fits).collect();
        let cut = if shown.len() < body.len() { "…" } else { "" };
        content.push_str(&format!("\n```\n{shown}{cut}\n```"));
    }
    json!({ "content": content, "allowed_mentions": { "parse": [] } })
}

/// Teams: an adaptive card, as its workflows take it. Unlike a text block, a rich one knows no Markdown; each line is
/// one.
pub(super) fn teams(message: &Message) -> Value {
    let block = |text: &str, weight: &str, spacing: &str| {
        let run = json!({ "type": "TextRun", "text": text, "weight": weight });
        json!({ "type": "RichTextBlock", "inlines": [run], "spacing": spacing })
    };
    let text = message.cut(10_000).0;
    let mut body = vec![block(&message.title, "Bolder", "Default")];
    let mut spacing = "Default";
    for line in text.lines() {
        if line.trim().is_empty() {
            spacing = "Default";
            continue;
        }
        if body.len() > LINES {
            body.push(block("…", "Default", "None"));
            break;
        }
        body.push(block(line, "Default", spacing));
        spacing = "None";
    }
    let card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    });
    json!({
        "type": "message",
        "attachments": [{ "contentType": "application/vnd.microsoft.card.adaptive", "content": card }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use jiff::tz::TimeZone;
    use murmur_core::config::notify::EventKind;

    fn failed(text: &str) -> Message {
        let event = Event::new(EventKind::Error, "2026-02-03T10:00:00Z".to_owned(), text);
        Message::new(vec![Event { heartbeat: Some("my_site*".to_owned()), ..event }], &TimeZone::UTC)
    }

    #[test]
    fn what_looks_like_formatting_is_shown_as_it_is() {
        let message = failed("make || rm *.o || [a](https://b)\n```\n\n_c_ {{DATE(x)}}");
        assert_eq!(
            discord(&message)["content"],
            "my\\_site\\* failed\n```\nmake || rm *.o || [a](https://b)\n``\u{200b}`\n\n_c_ {{DATE(x)}}\n```"
        );
        assert_eq!(slack(&message)["mrkdwn"], false);
        let card = &teams(&message)["attachments"][0]["content"];
        let blocks = card["body"].as_array().unwrap();
        let shown: Vec<_> = blocks
            .iter()
            .map(|block| (block["type"].as_str().unwrap(), block["inlines"][0]["text"].as_str().unwrap()))
            .collect();
        let rich = |text| ("RichTextBlock", text);
        assert_eq!(
            shown,
            [
                rich("my_site* failed"),
                rich("make || rm *.o || [a](https://b)"),
                rich("```"),
                rich("_c_ {{DATE(x)}}")
            ]
        );
    }

    #[test]
    fn no_message_is_longer_than_a_service_allows() {
        for text in ["🎉".repeat(9000), "a\n".repeat(9000), "`".repeat(9000), "\"".repeat(9000)] {
            let message = failed(&text);
            let content = discord(&message)["content"].as_str().unwrap().to_owned();
            assert!(content.encode_utf16().count() <= 2000 && content.ends_with("\n```"), "{content}");
            assert!(teams(&message).to_string().len() < 28_000);
            assert!(slack(&message)["text"].as_str().unwrap().chars().count() < 4000);
        }
        assert!(discord(&failed(&"x".repeat(2300)))["content"].as_str().unwrap().ends_with("x…\n```"));
    }
}
