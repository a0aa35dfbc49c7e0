//! Groups events into turns, which a verbose beat saves and shows (spec 0, `ConversationTurn`).
//!
//! Blocks of one message are one turn; tool results find their calls by id. A subagent's own messages are left out:
//! they are part of the call that started it, whose result is kept.

use crate::event::Event;
use crate::turn_count::TurnCount;
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::Duration;

/// One turn of a conversation.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Turn {
    /// The agent spoke, called tools, or both.
    #[serde(rename_all = "camelCase")]
    Assistant {
        /// The text blocks, joined by newlines.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The tools it called, in order.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// The result of the run.
    #[serde(rename_all = "camelCase")]
    Result {
        /// The final text, or the errors.
        text: String,
        /// Cost, in US dollars.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
        /// Duration, in milliseconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// Turns, as the agent counts them.
        #[serde(skip_serializing_if = "Option::is_none")]
        num_turns: Option<u64>,
    },
}

impl Turn {
    /// What the agent wrote.
    fn text(&self) -> Option<&str> {
        match self {
            Self::Assistant { text, .. } => text.as_deref(),
            Self::Result { .. } => None,
        }
    }
}

/// One call of a tool.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The backend's id of the call.
    #[serde(skip)]
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The input, as the agent wrote it.
    pub input: Box<RawValue>,
    /// The output, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Time from call to result, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether the call failed or was denied.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// A conversation in progress.
#[derive(Debug, Default)]
pub struct Conversation {
    turns: Vec<Turn>,
    /// The id of the message that the last turn belongs to.
    message: String,
    open: Vec<Open>,
    /// Whether text came in chunks, as from a backend that may repeat an earlier conversation before its session
    /// begins.
    has_chunks: bool,
    /// The cost so far, for backends whose results don't have it.
    cost_usd: Option<f64>,
    /// The model's responses, likewise.
    responses: TurnCount,
}

/// A call without a result yet.
#[derive(Debug)]
struct Open {
    id: String,
    turn: usize,
    call: usize,
    since: Duration,
}

impl Conversation {
    /// Adds `event`, which came `at` after the start.
    pub fn add(&mut self, event: &Event<'_>, at: Duration) {
        let responses = self.responses.see(event);
        match event {
            Event::Session { .. } if self.has_chunks && !self.has_result() => {
                self.turns.clear();
                self.open.clear();
            }
            Event::Cost { usd } => self.cost_usd = Some(*usd),
            Event::Text { message, parent, text, is_chunk } if parent.is_empty() => {
                self.has_chunks |= is_chunk;
                let (turn_text, calls) = self.turn(message);
                // Text after a call is a new message, also where messages have no ids.
                let turn_text =
                    if *is_chunk && !calls.is_empty() { self.begin(message).0 } else { turn_text };
                let turn_text = turn_text.get_or_insert_default();
                if !turn_text.is_empty() && !is_chunk {
                    turn_text.push('\n');
                }
                turn_text.push_str(text);
            }
            Event::ToolUse { id, name, input, .. } if self.open.iter().any(|open| open.id == **id) => {
                self.describe(id, name, input.0);
            }
            Event::ToolUse { message, parent, id, name, input } if parent.is_empty() => {
                // A call without a message belongs to the last one.
                let joins = message.is_empty() && matches!(self.turns.last(), Some(Turn::Assistant { .. }));
                let (_, calls) = if joins { self.last() } else { self.turn(message) };
                let call = calls.len();
                calls.push(ToolCall {
                    id: id.clone().into_owned(),
                    name: name.clone().into_owned(),
                    input: input.0.to_owned(),
                    output: None,
                    duration_ms: None,
                    is_error: false,
                });
                let turn = self.turns.len() - 1;
                self.open.push(Open { id: id.clone().into_owned(), turn, call, since: at });
            }
            Event::ToolResult { id, output, is_error, .. } => self.answer(id, output, *is_error, at),
            Event::Blocked { id, reason } if self.open.iter().any(|open| open.id == **id) => {
                self.answer(id, reason, true, at);
            }
            // Its agent doesn't announce a call that a hook blocks.
            Event::Blocked { id, reason } => {
                let is_last = matches!(self.turns.last(), Some(Turn::Assistant { .. }));
                let (_, calls) = if is_last { self.last() } else { self.turn("") };
                calls.push(ToolCall {
                    id: id.clone().into_owned(),
                    name: String::new(),
                    input: RawValue::NULL.to_owned(),
                    output: Some(reason.clone().into_owned()),
                    duration_ms: None,
                    is_error: true,
                });
            }
            Event::Result(result) => {
                let text = result.text.clone().or_else(|| {
                    let errors = Some(result.errors_for_people().collect::<Vec<_>>().join("\n"))
                        .filter(|errors| !errors.is_empty());
                    // Some backends leave the last message out.
                    errors.or_else(|| self.turns.last().and_then(Turn::text).map(str::to_owned))
                });
                let text = text.unwrap_or_default();
                let cost_usd = result.cost_usd.or(self.cost_usd);
                let (duration_ms, num_turns) = (result.duration_ms, result.num_turns.or(responses));
                self.turns.push(Turn::Result { text, cost_usd, duration_ms, num_turns });
                self.message.clear();
            }
            _ => {}
        }
    }

    /// The calls that a hook blocked and that the agent did not announce: they lack their tool and input.
    pub fn unannounced(&mut self) -> impl Iterator<Item = &mut ToolCall> {
        let calls = self.turns.iter_mut().filter_map(|turn| match turn {
            Turn::Assistant { tool_calls, .. } => Some(tool_calls),
            Turn::Result { .. } => None,
        });
        calls.flatten().filter(|call| call.name.is_empty())
    }

    /// The turns so far.
    #[must_use]
    pub fn into_turns(self) -> Vec<Turn> {
        self.turns
    }

    /// The turn of `message`: the last one if it belongs to the same message, or else a new one.
    fn turn(&mut self, message: &str) -> (&mut Option<String>, &mut Vec<ToolCall>) {
        if self.message != message || !matches!(self.turns.last(), Some(Turn::Assistant { .. })) {
            return self.begin(message);
        }
        self.last()
    }

    /// A new turn of `message`.
    fn begin(&mut self, message: &str) -> (&mut Option<String>, &mut Vec<ToolCall>) {
        self.turns.push(Turn::Assistant { text: None, tool_calls: Vec::new() });
        message.clone_into(&mut self.message);
        self.last()
    }

    fn last(&mut self) -> (&mut Option<String>, &mut Vec<ToolCall>) {
        match self.turns.last_mut() {
            Some(Turn::Assistant { text, tool_calls }) => (text, tool_calls),
            _ => unreachable!("the last turn is an assistant's"),
        }
    }

    fn has_result(&self) -> bool {
        self.turns.iter().any(|turn| matches!(turn, Turn::Result { .. }))
    }

    /// Describes an open call again, unless the new input is empty.
    fn describe(&mut self, id: &str, name: &str, input: &RawValue) {
        let Some(open) = self.open.iter().find(|open| open.id == id) else { return };
        if let Some(Turn::Assistant { tool_calls, .. }) = self.turns.get_mut(open.turn)
            && let Some(call) = tool_calls.get_mut(open.call)
            && input.get() != "{}"
        {
            (call.name, call.input) = (name.to_owned(), input.to_owned());
        }
    }

    fn answer(&mut self, id: &str, output: &str, is_error: bool, at: Duration) {
        let Some(found) = self.open.iter().position(|open| open.id == id) else { return };
        let Open { turn, call, since, .. } = self.open.swap_remove(found);
        if let Some(Turn::Assistant { tool_calls, .. }) = self.turns.get_mut(turn)
            && let Some(call) = tool_calls.get_mut(call)
        {
            call.output = Some(output.to_owned());
            call.duration_ms = Some(u64::try_from(at.saturating_sub(since).as_millis()).unwrap_or(u64::MAX));
            call.is_error = is_error;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parser::Parser;
    use super::*;

    #[test]
    fn blocks_of_one_message_are_one_turn_and_results_find_their_calls() {
        let stream = concat!(
            r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"Looking."}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"id":"a","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"id":"a","content":[{"type":"tool_use","id":"t2","name":"Read","input":{}}]}}"#,
            "\n",
            r#"{"type":"user","message":{"content":[{"tool_use_id":"t2","type":"tool_result","content":"second"}]}}"#,
            "\n",
            r#"{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"sub","content":[{"type":"text","text":"inner"}]}}"#,
            "\n",
            r#"{"type":"user","message":{"content":[{"tool_use_id":"t1","type":"tool_result","content":"first","is_error":true}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"id":"b","content":[{"type":"text","text":"Done."}]}}"#,
            "\n",
            r#"{"type":"result","result":"Done.","num_turns":3,"total_cost_usd":0.1,"duration_ms":5}"#,
        );
        let mut conversation = Conversation::default();
        let mut parser = Parser::default();
        let mut at = Duration::ZERO;
        let mut sink = |event: Event<'_>| {
            at += Duration::from_millis(1);
            conversation.add(&event, at);
        };
        parser.feed(stream.as_bytes(), &mut sink);
        parser.finish(&mut sink);
        insta::assert_snapshot!(serde_json::to_string_pretty(&conversation.into_turns()).unwrap(), @r#"
        [
          {
            "role": "assistant",
            "text": "Looking.",
            "toolCalls": [
              {
                "name": "Bash",
                "input": {"command":"ls"},
                "output": "first",
                "durationMs": 4,
                "isError": true
              },
              {
                "name": "Read",
                "input": {},
                "output": "second",
                "durationMs": 1
              }
            ]
          },
          {
            "role": "assistant",
            "text": "Done."
          },
          {
            "role": "result",
            "text": "Done.",
            "costUsd": 0.1,
            "durationMs": 5,
            "numTurns": 3
          }
        ]
        "#);
    }
}
