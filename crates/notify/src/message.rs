//! Events as text for people. Hidden characters are escaped, so that a call reads as it is.

use crate::event::{Event, Request};
use jiff::tz::TimeZone;
use murmur_core::config::notify::EventKind;
use murmur_core::permit::call_text;
use murmur_core::permit::question::QuestionSet;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;
use sys::clock::with_local_times;
use sys::text::{shown, visible};

/// The longest title, in characters.
const TITLE: usize = 120;
/// The longest line of a message with several events, in characters.
const LINE: usize = 300;
/// The longest text of an event, and the longest call, in bytes: no longer than people read on a phone.
const TEXT: usize = 2_400;
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
    /// Whether the body shows all of the events.
    pub is_whole: bool,
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
    /// A message about `events`, without actions, with times in `zone`.
    #[must_use]
    pub fn new(events: Vec<Event>, zone: &TimeZone) -> Self {
        let (title, (body, is_whole)) = match events.as_slice() {
            [event] => (title(event), body(event, zone)),
            events => (format!("murmur: {} events", events.len()), (list(events, zone), false)),
        };
        Self { events, title, body, is_whole, actions: Vec::new() }
    }

    /// The kind of its first event.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        self.events.first().map_or(EventKind::Test, |event| event.kind)
    }

    /// The body with at most `most` bytes, of which an ellipsis is the last if there is more, and whether that is all
    /// of it.
    #[must_use]
    pub fn cut(&self, most: usize) -> (Cow<'_, str>, bool) {
        if self.body.len() <= most {
            return (Cow::Borrowed(&self.body), true);
        }
        let begin = begin(&self.body, most.saturating_sub('…'.len_utf8()));
        (Cow::Owned(format!("{begin}…")), false)
    }
}

fn title(event: &Event) -> String {
    let who = event.label().or(event.agent.as_deref()).unwrap_or("murmur");
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

/// The body, and whether it shows everything.
fn body(event: &Event, zone: &TimeZone) -> (String, bool) {
    let (mut text, mut is_whole) = bounded(&with_local_times(&shown(&event.text), zone), "murmur log");
    if let Some(request) = &event.request {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        is_whole &= add_call(&mut text, request, zone);
    }
    (text, is_whole)
}

/// Adds everything a person needs to decide on a request. Returns whether all of the call is in it.
fn add_call(text: &mut String, request: &Request, zone: &TimeZone) -> bool {
    let questions = if request.is_question { questions(&request.input) } else { String::new() };
    let (call, mut is_whole) = if questions.is_empty() {
        let call = call_text::input(&request.input, false);
        let space = if request.input.get("command").is_some() { ' ' } else { '\n' };
        bounded(&format!("{}:{space}{}", visible(&request.tool), call.trim_end()), "murmur inbox")
    } else {
        bounded(&questions, "murmur inbox")
    };
    text.push_str(&call);
    let mut line = |line: &str| {
        let line = visible(line);
        let short = short(&line, LINE);
        is_whole &= short == line;
        let _infallible = write!(text, "\n{short}");
    };
    line("");
    for note in call_text::lookalike_notes(&request.input) {
        line(&format!("Note: {note}"));
    }
    line(&format!("Folder: {}", request.cwd));
    if let Some(doubt) = &request.doubt {
        line(&format!("The guard cannot tell what it does: {doubt}"));
    }
    if let Some(at) = &request.expires_at {
        line(&format!("Expires: {}", with_local_times(at, zone)));
    }
    let id = &request.id;
    match request.is_question {
        true => line(&format!("To answer, run: murmur answer {id}")),
        false => line(&format!("To answer, run: murmur allow {id}, or: murmur deny {id}")),
    }
    is_whole
}

/// Returns at most [`TEXT`] bytes of `text`, and whether that is all of it. Otherwise a note names the `command` that
/// shows the rest.
fn bounded(text: &str, command: &str) -> (String, bool) {
    if text.len() <= TEXT {
        return (text.to_owned(), true);
    }
    let begin = begin(text, TEXT);
    let rest = text[begin.len()..].chars().count();
    (format!("{begin}…\n({rest} more characters are not shown; see: {command})"), false)
}

/// At most `most` bytes of `text`, cut between characters.
fn begin(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// The questions with their numbered options; empty if they can't be read.
fn questions(input: &Value) -> String {
    let asked = QuestionSet::parse(input).ok();
    let questions = asked.iter().flat_map(QuestionSet::questions);
    // A phone has few columns.
    questions
        .map(|question| question.printed("").replace("\n  ", "\n"))
        .collect::<String>()
        .trim_end()
        .to_owned()
}

fn list(events: &[Event], zone: &TimeZone) -> String {
    let mut text = String::new();
    for event in events.iter().take(LISTED) {
        let line = match event.text.is_empty() {
            true => title(event),
            false => format!("{}: {}", title(event), visible(&with_local_times(&event.text, zone))),
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
    use murmur_core::permit::request::RequestId;
    use serde_json::json;

    fn waiting(tool: &str, input: Value) -> Event {
        let request = Request {
            id: RequestId::parse("7ggs733k").unwrap(),
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

    fn message(events: Vec<Event>) -> Message {
        Message::new(events, &TimeZone::UTC)
    }

    #[test]
    fn a_request_shows_the_whole_call_with_hidden_characters() {
        let shown =
            message(vec![waiting("Bash", json!({ "command": "echo \u{202e}hi\u{1b}[2J\ngit push" }))]);
        insta::assert_snapshot!(format!("{}\n---\n{}", shown.title, shown.body), @r"
        site waits for approval
        ---
        Bash: echo \u{202e}hi\u{1b}[2J
        git push

        Folder: /w
        The guard cannot tell what it does: it runs $X
        Expires: 2026-02-03 10:00 UTC
        To answer, run: murmur allow 7ggs733k, or: murmur deny 7ggs733k
        ");
        let hidden = json!({ "command": "ls", "dangerouslyDisableSandbox": true });
        let shown = message(vec![waiting("Bash", hidden)]);
        assert!(shown.body.contains("dangerouslyDisableSandbox"), "{}", shown.body);
    }

    #[test]
    fn a_question_has_numbered_options() {
        let input = json!({ "questions": [{ "question": "Which?", "options": [
            { "label": "Red", "description": "warm" }, { "label": "Blue" }] }] });
        let event = waiting("AskUserQuestion", input);
        assert_eq!(event.request.as_ref().unwrap().choices(), ["Red", "Blue"]);
        let shown = message(vec![event]);
        assert_eq!(shown.title, "site has a question");
        assert!(shown.body.starts_with("Which?\n1. Red: warm\n2. Blue\n"), "{}", shown.body);
    }

    #[test]
    fn nothing_of_a_question_is_hidden() {
        let input = json!({ "questions": [{ "question": "Which?\n1. Fake", "header": "Color\u{7}", "multiSelect": true,
            "options": [{ "label": "Red\u{200b}\n2. Fake", "preview": "\u{1b}[8m3. Fake" }] }] });
        let shown = message(vec![waiting("AskUserQuestion", input)]);
        let expected = "[Color\\u{7}] Which?\n   1. Fake (one or more)\n1. Red\\u{200b}\\n2. Fake\n   | \\u{1b}[8m3. Fake\n\n";
        assert!(shown.body.starts_with(expected), "{}", shown.body);
    }

    #[test]
    fn many_events_become_a_list_of_lines() {
        let event = |number: usize| Event {
            heartbeat: Some(format!("site-{number}")),
            ..Event::new(EventKind::Error, String::new(), "broken\nbadly")
        };
        let shown = message((0..40).map(event).collect());
        assert_eq!(shown.title, "murmur: 40 events");
        assert!(shown.body.starts_with("- site-0 failed: broken\\nbadly\n- site-1"), "{}", shown.body);
        assert!(shown.body.ends_with("and 10 more; see: murmur log"), "{}", shown.body);
        let long = Event { heartbeat: Some("x".repeat(1000)), ..event(0) };
        assert_eq!(message(vec![long]).title.chars().count(), TITLE);
    }

    #[test]
    fn a_cut_text_ends_between_characters() {
        let shown = message(vec![Event::new(EventKind::Test, String::new(), "aäbcd")]);
        assert_eq!(shown.cut(6), ("aäbcd".into(), true));
        assert_eq!(shown.cut(5), ("a…".into(), false));
    }

    #[test]
    fn calls_of_other_tools_are_text_too() {
        let edit = json!({ "file_path": "/w/a", "old_string": "one", "new_string": "two" });
        let zone = sys::clock::named_zone("Europe/Berlin").unwrap();
        insta::assert_snapshot!(Message::new(vec![waiting("Edit", edit)], &zone).body, @"
        Edit:
        file_path: /w/a
        - one
        + two

        Folder: /w
        The guard cannot tell what it does: it runs $X
        Expires: 2026-02-03 11:00 CET
        To answer, run: murmur allow 7ggs733k, or: murmur deny 7ggs733k
        ");
    }

    #[test]
    fn a_long_call_ends_with_how_much_is_missing() {
        let long =
            message(vec![waiting("Write", json!({ "file_path": "/a", "content": "äb\n".repeat(9000) }))]);
        assert!(!long.is_whole && long.body.len() < 3_000, "{}", long.body);
        assert!(
            long.body.contains(" more characters are not shown; see: murmur inbox)\n\nFolder: /w"),
            "{}",
            long.body
        );
        assert!(message(vec![waiting("Bash", json!({ "command": "ls" }))]).is_whole);
        let noted = message(vec![waiting("Bash", json!({ "command": "p\u{430}ypal" }))]);
        assert!(
            noted.body.contains("Note: lookalike letters: \u{430} is U+0430 in p\u{430}ypal"),
            "{}",
            noted.body
        );
    }
}
