//! What came before an attachment: the agent's state and its last turn, so that whoever joins knows what it is about.

use super::super::reported;
use super::super::style::{Style, plain_text};
use super::show;
use murmur_rpc::envelope::{Event, GAP};
use serde_json::Value;
use std::io::{self, Write};
use sys::text::shown_line;

/// How much of the last prompt and of the last reply to show, in characters: their ends.
const MAX_SHOWN: usize = 4000;

/// The last turn of the events before an attachment.
#[derive(Debug, Default)]
pub(super) struct LastTurn {
    /// Whether there are events before it.
    has_earlier: bool,
    prompt: Option<String>,
    /// The last message of the agent, and whether the next chunk belongs to it.
    reply: (String, bool),
    calls: usize,
    /// Whether it called a tool since that message.
    has_called: bool,
    /// The calls without a result, by id.
    open: Vec<(String, String)>,
    state: Option<Value>,
}

impl LastTurn {
    /// Handles an event before the attachment.
    pub(super) fn see(&mut self, event: &Event) {
        let text = |key: &str| event.payload.get(key).and_then(Value::as_str).unwrap_or_default();
        let is_main = text("parent").is_empty();
        match &*event.event_type {
            "chat" if text("role") == "user" => {
                let has_earlier = self.prompt.is_some() || self.has_earlier;
                let state = self.state.take();
                *self = Self { has_earlier, prompt: Some(text("text").to_owned()), state, ..Self::default() };
            }
            "chat" if is_main => {
                let is_chunk = event.payload.get("chunk") == Some(&Value::Bool(true));
                if !(is_chunk && self.reply.1) {
                    self.reply.0.clear();
                }
                self.reply.0.push_str(text("text"));
                self.reply.1 = is_chunk;
                self.has_called = false;
            }
            "tool_use" if is_main => {
                self.reply.1 = false;
                let id = text("id");
                let input = event.payload.get("input").map(Value::to_string).unwrap_or_default();
                let call = reported::call(text("name"), &input);
                match self.open.iter_mut().find(|(known, _)| known == id) {
                    // A call may be described again.
                    Some((_, known)) => *known = call,
                    None => {
                        (self.calls, self.has_called) = (self.calls + 1, true);
                        self.open.push((id.to_owned(), call));
                    }
                }
            }
            "tool_result" if is_main => self.open.retain(|(id, _)| id != text("id")),
            "result" => self.open.clear(),
            "state" => self.state = Some(event.payload.clone()),
            GAP => self.has_earlier = true,
            _ => {}
        }
    }

    /// Writes who the agent is, what it does, and its last turn.
    pub(super) fn print(
        &self,
        out: &mut impl Write,
        style: Style,
        agent: &str,
        folder: &str,
    ) -> io::Result<()> {
        let state = self.state.as_ref().map_or_else(|| "starting".to_owned(), show::state);
        let (agent, folder) = (style.bold(shown_line(agent)), shown_line(folder));
        writeln!(out, "{agent} in {folder}: {state}")?;
        let Some(prompt) = &self.prompt else { return Ok(()) };
        if self.has_earlier {
            writeln!(out, "{}", style.dim("[earlier turns: add --from 0]"))?;
        }
        writeln!(out, "{} {}", style.dim("[user]"), show::prompt(&end_of(prompt), ""))?;
        let calls = match self.calls {
            0 => String::new(),
            1 => format!("{} 1 call", style.dim("[tool]")),
            calls => format!("{} {calls} calls", style.dim("[tool]")),
        };
        let mut parts = [calls, end_of(&self.reply.0)];
        if self.has_called {
            parts.reverse();
        }
        parts.iter().filter(|part| !part.is_empty()).try_for_each(|part| writeln!(out, "{part}"))?;
        let tag = style.dim("[tool]");
        self.open.iter().try_for_each(|(_, call)| writeln!(out, "{tag} {call}, in progress"))
    }
}

/// The end of a text, without terminal control characters.
fn end_of(text: &str) -> String {
    let text = plain_text(text);
    let text = text.trim();
    match text.char_indices().rev().nth(MAX_SHOWN - 1) {
        Some((at, _)) if at > 0 => format!("…{}", &text[at..]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(events: &[(&str, Value)]) -> String {
        let mut turn = LastTurn::default();
        for (offset, (event_type, payload)) in events.iter().enumerate() {
            turn.see(&Event {
                event_type: (*event_type).to_owned(),
                agent_id: "fixer".to_owned(),
                offset: offset as u64,
                payload: payload.clone(),
            });
        }
        let mut text = Vec::new();
        turn.print(&mut text, Style::none(), "fixer", "/w").unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn the_last_prompt_and_the_last_reply_are_shown() {
        assert_eq!(shown(&[]), "fixer in /w: starting\n");
        let user = |text: &str| ("chat", json!({ "role": "user", "text": text }));
        let says = |text: &str| ("chat", json!({ "role": "assistant", "text": text }));
        let piece = |text: &str| ("chat", json!({ "role": "assistant", "text": text, "chunk": true }));
        let call =
            |id: &str| ("tool_use", json!({ "id": id, "name": "Bash", "input": { "command": "make" } }));
        let idle = ("state", json!({ "state": "idle", "turns": 2 }));
        let first = [user("Hi\nthere"), says("Hello.\u{1b}[2J"), idle.clone()];
        assert_eq!(shown(&first), "fixer in /w: idle (2 turns)\n[user] Hi\n  there\nHello.\n");
        let done = |id: &str| ("tool_result", json!({ "id": id, "output": "" }));
        let running = [user("Go"), call("a"), done("a"), call("b"), call("b")];
        insta::assert_snapshot!(shown(&running), @"
        fixer in /w: starting
        [user] Go
        [tool] 2 calls
        [tool] Bash(make), in progress
        ");
        let second = [
            user("Fix it"),
            says("Looking."),
            call("a"),
            call("b"),
            done("a"),
            done("b"),
            piece("Do"),
            piece("ne."),
            idle,
        ];
        insta::assert_snapshot!(shown(&[&first[..], &second].concat()), @"
        fixer in /w: idle (2 turns)
        [earlier turns: add --from 0]
        [user] Fix it
        [tool] 2 calls
        Done.
        ");
        let long = shown(&[user(&"x".repeat(9999))]);
        assert!(long.ends_with(&format!("[user] …{}\n", "x".repeat(MAX_SHOWN))), "{long}");
    }
}
