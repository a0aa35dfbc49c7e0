//! A run for people: turns an agent's events into texts, calls with their results, and notes, in order.
//!
//! Each call is one item, so later items wait for its result. If too many wait, or if the call is that of a subagent
//! that has started to work, the call is returned without its result, which then becomes another item.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde::Serialize;
use std::collections::{HashSet, VecDeque};

/// How many items may wait for the result of a call.
const HELD: usize = 200;

/// How much of a call's output is kept, in bytes.
const OUTPUT: usize = 1 << 20;

/// Something to show.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Item {
    /// The agent wrote text.
    Text {
        /// The call that its subagent runs in; empty for the agent itself.
        #[serde(skip_serializing_if = "String::is_empty")]
        parent: String,
        /// The text.
        text: String,
    },
    /// A person's message to the agent.
    Message {
        /// The message.
        text: String,
    },
    /// The agent called a tool.
    Call(Call),
    /// The result of a call that came before.
    Result(Call),
    /// Something else.
    Note {
        /// The kind, for example `retry`.
        tag: String,
        /// One line.
        text: String,
    },
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// The backend's id.
    pub id: String,
    /// As in [`Item::Text`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub parent: String,
    /// The tool.
    pub tool: String,
    /// What it was called with, in one line.
    pub subject: String,
    /// Its whole input, as JSON text; empty if it isn't known.
    #[serde(skip)]
    pub input: String,
    /// How it ended; `None` if there was no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<CallResult>,
    /// When it was announced.
    #[serde(skip)]
    pub at: Option<Timestamp>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallResult {
    /// What it printed, or why it failed; the first MiB.
    pub output: String,
    /// Whether it failed or was denied.
    pub is_error: bool,
    /// How long it took, in milliseconds; `None` if it isn't known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// The items of a run.
#[derive(Debug, Default)]
pub struct Transcript {
    held: VecDeque<Item>,
    /// Calls that were returned without a result.
    early: Vec<Call>,
    /// The text of a message that arrives in chunks.
    chunks: String,
    /// Whether any text came in chunks.
    has_chunks: bool,
    /// The ids of its calls, if it continues an earlier run, whose calls can end in it.
    announced: Option<HashSet<String>>,
}

impl Transcript {
    /// The items of a run that continues an earlier one.
    #[must_use]
    pub fn resumed() -> Self {
        Self { announced: Some(HashSet::new()), ..Self::default() }
    }

    /// Adds text of the agent, or of the subagent in the call `parent`.
    pub fn text(&mut self, parent: &str, text: &str, is_chunk: bool) {
        if is_chunk && parent.is_empty() {
            self.chunks.push_str(text);
            self.has_chunks = true;
            return;
        }
        self.end_chunks();
        self.hold(Item::Text { parent: parent.to_owned(), text: text.to_owned() });
    }

    /// Notes that a conversation has begun. Before that, a backend that sends text in chunks repeats an earlier one.
    pub fn session(&mut self) {
        if self.has_chunks {
            self.note("resumed", "the agent has repeated the conversation so far".to_owned());
        }
    }

    /// Adds a person's message.
    pub fn message(&mut self, text: &str) {
        self.end_chunks();
        self.hold(Item::Message { text: text.to_owned() });
    }

    /// Adds a call. One that is announced again has more of its input now.
    pub fn call(&mut self, call: Call) {
        self.end_chunks();
        if let Some(announced) = &mut self.announced {
            announced.insert(call.id.clone());
        }
        let known = self.held.iter_mut().find_map(|item| match item {
            Item::Call(known) if known.id == call.id => Some(known),
            _ => None,
        });
        if let Some(known) = known {
            (known.subject, known.input) = (call.subject, call.input);
        } else if !self.early.iter().any(|known| known.id == call.id) {
            self.hold(Item::Call(call));
        }
    }

    /// Ends the call `id`. A result without a call is dropped, unless it can be that of a call of an earlier run, which
    /// then has no tool and subject.
    pub fn result(&mut self, id: &str, output: &str, is_error: bool, at: Option<Timestamp>) {
        let is_ended = self.ended(id, output, is_error, at);
        if !is_ended && self.announced.as_mut().is_some_and(|announced| announced.insert(id.to_owned())) {
            self.hold_unannounced(id, output, is_error, at);
        }
    }

    /// Ends the call `id`, which a hook blocked. Its agent may not have announced it: then it has no tool and subject.
    pub fn blocked(&mut self, id: &str, reason: &str, at: Option<Timestamp>) {
        if !self.ended(id, reason, true, at) {
            self.hold_unannounced(id, reason, true, at);
        }
    }

    /// Adds a call that was not announced and is over.
    fn hold_unannounced(&mut self, id: &str, output: &str, is_error: bool, at: Option<Timestamp>) {
        let result = CallResult { output: beginning(output).to_owned(), is_error, duration_ms: None };
        self.hold(Item::Call(Call { id: id.to_owned(), result: Some(result), at, ..Call::default() }));
    }

    /// Ends the call `id`; returns whether it is known.
    fn ended(&mut self, id: &str, output: &str, is_error: bool, at: Option<Timestamp>) -> bool {
        self.end_chunks();
        let end = |call: &Call| CallResult {
            output: beginning(output).to_owned(),
            is_error,
            duration_ms: call
                .at
                .zip(at)
                .and_then(|(from, to)| u64::try_from(to.duration_since(from).as_millis()).ok()),
        };
        for item in &mut self.held {
            if let Item::Call(call) = item
                && call.id == id
                && call.result.is_none()
            {
                call.result = Some(end(call));
                return true;
            }
        }
        let early = self.early.iter().position(|call| call.id == id);
        if let Some(place) = early {
            let mut call = self.early.swap_remove(place);
            call.result = Some(end(&call));
            self.hold(Item::Result(call));
        }
        early.is_some()
    }

    /// Adds a note.
    pub fn note(&mut self, tag: &str, text: String) {
        self.end_chunks();
        self.hold(Item::Note { tag: tag.to_owned(), text });
    }

    /// Takes the next item if it is complete.
    pub fn complete(&mut self) -> Option<Item> {
        let is_complete =
            !matches!(self.held.front()?, Item::Call(call) if call.result.is_none()) || self.must_go();
        if is_complete { self.release() } else { None }
    }

    /// Whether a call without a result holds items back.
    #[must_use]
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether a call was returned without a result, which is still to come.
    #[must_use]
    pub fn has_open_call(&self) -> bool {
        !self.early.is_empty()
    }

    /// Takes all items, even calls without a result, for example because the agent is waiting. Their results become
    /// other items.
    pub fn take_all(&mut self) -> Vec<Item> {
        std::iter::from_fn(|| self.release()).collect()
    }

    /// Ends the run and returns all other items.
    pub fn finish(&mut self) -> impl Iterator<Item = Item> {
        self.end_chunks();
        std::mem::take(&mut self.held).into_iter()
    }

    /// Whether the first item can't wait any longer: too many others wait, or it is the call of a subagent that has
    /// started to work.
    fn must_go(&self) -> bool {
        let Some(Item::Call(first)) = self.held.front() else { return true };
        let is_inside = |item: &Item| match item {
            Item::Text { parent, .. } => *parent == first.id,
            Item::Call(call) | Item::Result(call) => call.parent == first.id,
            Item::Message { .. } | Item::Note { .. } => false,
        };
        self.held.len() > HELD || self.held.iter().any(is_inside)
    }

    fn release(&mut self) -> Option<Item> {
        let item = self.held.pop_front()?;
        if let Item::Call(call) = &item
            && call.result.is_none()
        {
            self.early.push(call.clone());
        }
        Some(item)
    }

    fn hold(&mut self, item: Item) {
        self.held.push_back(item);
    }

    fn end_chunks(&mut self) {
        let text = std::mem::take(&mut self.chunks);
        if !text.is_empty() {
            self.hold(Item::Text { parent: String::new(), text });
        }
    }
}

/// The beginning of a text, at a character's boundary.
fn beginning(text: &str) -> &str {
    let end = (0..=text.len().min(OUTPUT)).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}
