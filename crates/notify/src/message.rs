//! Events as text for people. Hidden characters are escaped, so that a call reads as it is.

use crate::event::{Event, Request};
use murmur_core::config::notify::EventKind;
use serde_json::Value;
use std::fmt::Write as _;
use sys::text::{shown, visible};

/// The longest title, in characters.
const TITLE: usize = 120;
/// The longest line of a message with several events, in characters.
const LINE: usize = 300;
/// How many events a message lists.
const LISTED: usize = 30;

/// What is sent: one event, or several at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The events, never empty.
    pub events: Vec<Event>,
    /// One line.
    pub title: String,
    /// The text.
    pub body: String,
    /// How the request can be answered from the message.
    pub actions: Vec<Action>,
}

/// A way to answer a request from a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// What a person reads.
    pub label: String,
    /// What comes back: a word and a token.
    pub answer: String,
}

impl Message {
    /// A message about `events`, without actions.
    #[must_use]
    pub fn new(events: Vec<Event>) -> Self {
        let (title, body) = match events.as_slice() {
            [event] => (title(event), body(event)),
            events => (format!("murmur: {} events", events.len()), list(events)),
        };
        Self { events, title, body, actions: Vec::new() }
    }

    /// The kind of its first event.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        self.events.first().map_or(EventKind::Test, |event| event.kind)
    }

    /// The body with at most `most` bytes, and whether that is all of it.
    #[must_use]
    pub fn cut(&self, most: usize) -> (&str, bool) {
        if self.body.len() <= most {
            return (&self.body, true);
        }
        let end = (0..=most).rev().find(|end| self.body.is_char_boundary(*end)).unwrap_or(0);
        (&self.body[..end], false)
    }
}

fn title(event: &Event) -> String {
    let who = event.heartbeat.as_deref().or(event.agent.as_deref()).unwrap_or("murmur");
    let is_question = event.request.as_ref().is_some_and(|request| request.is_question);
    let what = match event.kind {
        EventKind::Attention => "needs attention",
        EventKind::Error => "failed",
        EventKind::Waiting if is_question => "has a question",
        EventKind::Waiting => "waits for approval",
        EventKind::Limited => "is on hold: usage limit",
        EventKind::Stuck => "is stuck",
        EventKind::Breaker => "keeps failing",
        EventKind::Budget => "has used up its budget",
        EventKind::Recovered => "is ok again",
        EventKind::Digest => return "murmur: daily digest".to_owned(),
        EventKind::Test => return "murmur: test".to_owned(),
    };
    let who = short(&visible(who), TITLE - what.len() - 1);
    format!("{who} {what}")
}

fn body(event: &Event) -> String {
    let mut text = shown(&event.text);
    if let Some(request) = &event.request {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&call(request));
    }
    text
}

/// Everything a person needs to decide on a request.
fn call(request: &Request) -> String {
    let mut text = if request.is_question { questions(&request.input) } else { String::new() };
    if text.is_empty() {
        let command = request.input.get("command").and_then(Value::as_str);
        // Only if nothing else is in the input, which a person would not see.
        let is_plain = request.input.as_object().is_some_and(|input| {
            input.keys().all(|key| ["command", "description", "timeout"].contains(&key.as_str()))
        });
        let input = match command.filter(|_| is_plain) {
            Some(command) => shown(command),
            None => shown(&serde_json::to_string_pretty(&request.input).unwrap_or_default()),
        };
        text = format!("{}: {input}", visible(&request.tool));
    }
    let _infallible = write!(text, "\n\nFolder: {}", visible(&request.cwd));
    if let Some(doubt) = &request.doubt {
        let _infallible = write!(text, "\nThe guard can't tell what it does: {}", visible(doubt));
    }
    if let Some(at) = &request.expires_at {
        let _infallible = write!(text, "\nExpires: {}", visible(at));
    }
    let id = visible(&request.id);
    let _infallible = match request.is_question {
        true => write!(text, "\nTo answer, run: murmur answer {id}"),
        false => write!(text, "\nTo answer, run: murmur allow {id}, or: murmur deny {id}"),
    };
    text
}

/// The questions with their numbered options.
fn questions(input: &Value) -> String {
    let mut text = String::new();
    let all = input.get("questions").and_then(Value::as_array);
    for question in all.into_iter().flatten() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&shown(question.get("question").and_then(Value::as_str).unwrap_or("?")));
        let options = question.get("options").and_then(Value::as_array);
        for (number, option) in options.into_iter().flatten().enumerate() {
            let label = option.get("label").and_then(Value::as_str).unwrap_or("?");
            let _infallible = write!(text, "\n{}. {}", number + 1, shown(label));
            if let Some(more) = option.get("description").and_then(Value::as_str) {
                let _infallible = write!(text, ": {}", shown(more));
            }
        }
    }
    text
}

fn list(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events.iter().take(LISTED) {
        let line = match event.text.is_empty() {
            true => title(event),
            false => format!("{}: {}", title(event), visible(&event.text)),
        };
        let _infallible = writeln!(text, "- {}", short(&line, LINE));
    }
    if events.len() > LISTED {
        let _infallible = writeln!(text, "and {} more; see: murmur log", events.len() - LISTED);
    }
    text.truncate(text.trim_end().len());
    text
}

/// The first `most` characters, with an ellipsis if there are more.
fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn waiting(tool: &str, input: Value) -> Event {
        let request = Request {
            id: "7ggs733k".to_owned(),
            is_question: tool == "AskUserQuestion",
            tool: tool.to_owned(),
            input,
            cwd: "/w".to_owned(),
            doubt: Some("it runs $X".to_owned()),
            expires_at: Some("2026-02-03T10:00:00Z".to_owned()),
        };
        let event = Event::new(EventKind::Waiting, "2026-02-03T09:00:00Z".to_owned(), "");
        Event { heartbeat: Some("site".to_owned()), request: Some(request), ..event }
    }

    #[test]
    fn a_request_shows_the_whole_call_with_hidden_characters() {
        let message =
            Message::new(vec![waiting("Bash", json!({ "command": "echo \u{202e}hi\u{1b}[2J\ngit push" }))]);
        insta::assert_snapshot!(format!("{}\n---\n{}", message.title, message.body), @r"
        site waits for approval
        ---
        Bash: echo \u{202e}hi\u{1b}[2J
        git push

        Folder: /w
        The guard can't tell what it does: it runs $X
        Expires: 2026-02-03T10:00:00Z
        To answer, run: murmur allow 7ggs733k, or: murmur deny 7ggs733k
        ");
        let hidden = json!({ "command": "ls", "dangerouslyDisableSandbox": true });
        let message = Message::new(vec![waiting("Bash", hidden)]);
        assert!(message.body.contains("dangerouslyDisableSandbox"), "{}", message.body);
    }

    #[test]
    fn a_question_has_numbered_options() {
        let input = json!({ "questions": [{ "question": "Which?", "options": [
            { "label": "Red", "description": "warm" }, { "label": "Blue" }] }] });
        let event = waiting("AskUserQuestion", input);
        assert_eq!(event.request.as_ref().unwrap().choices(), ["Red", "Blue"]);
        let message = Message::new(vec![event]);
        assert_eq!(message.title, "site has a question");
        assert!(message.body.starts_with("Which?\n1. Red: warm\n2. Blue\n"), "{}", message.body);
    }

    #[test]
    fn many_events_become_a_list_of_lines() {
        let event = |number: usize| Event {
            heartbeat: Some(format!("site-{number}")),
            ..Event::new(EventKind::Error, String::new(), "broken\nbadly")
        };
        let message = Message::new((0..40).map(event).collect());
        assert_eq!(message.title, "murmur: 40 events");
        assert!(message.body.starts_with("- site-0 failed: broken\\nbadly\n- site-1"), "{}", message.body);
        assert!(message.body.ends_with("and 10 more; see: murmur log"), "{}", message.body);
        let long = Event { heartbeat: Some("x".repeat(1000)), ..event(0) };
        assert_eq!(Message::new(vec![long]).title.chars().count(), TITLE);
    }

    #[test]
    fn a_cut_text_ends_between_characters() {
        let message = Message::new(vec![Event::new(EventKind::Test, String::new(), "aäb")]);
        assert_eq!(message.cut(4), ("aäb", true));
        assert_eq!(message.cut(2), ("a", false));
    }
}
