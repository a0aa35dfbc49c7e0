//! Tool calls that an agent has started and not finished.

use murmur_agent::event::Event;
use murmur_outcome::run::LastActivity;
use murmur_store::pulse::action;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The maximum number of calls to remember; the oldest is dropped first.
const MAX_CALLS: usize = 64;

/// A call in progress, described as in a pulse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The tool.
    pub tool_name: String,
    /// A summary of its input, up to [`ACTION`](murmur_store::pulse::ACTION) characters, with secrets redacted.
    pub last_action: String,
}

/// A call that has no result yet.
#[derive(Debug)]
pub(super) struct OpenCall {
    id: String,
    /// The call.
    pub(super) call: Call,
    /// When it started.
    pub(super) begun: Duration,
}

impl OpenCall {
    /// That it runs, at `at`.
    pub(super) fn doing(&self, at: Duration) -> LastActivity {
        let Call { tool_name, last_action } = self.call.clone();
        LastActivity::Tool { tool: tool_name, action: last_action, time: at.saturating_sub(self.begun) }
    }
}

/// Open calls, newest last.
#[derive(Debug, Default)]
pub struct Calls {
    open: Vec<OpenCall>,
}

impl Calls {
    /// Handles an event that arrived at `at`.
    pub fn see(&mut self, event: &Event<'_>, at: Duration) {
        match event {
            Event::ToolUse { id, name, input, .. } => {
                let call = Call {
                    tool_name: name.clone().into_owned(),
                    last_action: action::of(name, input.0.get()),
                };
                if let Some(known) = self.open.iter_mut().find(|open| open.id == **id) {
                    known.call = call;
                    return;
                }
                if self.open.len() == MAX_CALLS {
                    self.open.remove(0);
                }
                self.open.push(OpenCall { id: id.clone().into_owned(), call, begun: at });
            }
            Event::ToolResult { id, .. } => self.open.retain(|open| open.id != *id),
            // The end of a turn ends its calls, whatever the reason.
            Event::Result(_) => self.open.clear(),
            _ => {}
        }
    }

    /// The newest open call.
    #[must_use]
    pub fn newest(&self) -> Option<&Call> {
        self.newest_open().map(|open| &open.call)
    }

    /// The call that has been open for longest.
    pub(super) fn oldest_open(&self) -> Option<&OpenCall> {
        self.open.first()
    }

    /// The newest open call with its start time.
    pub(super) fn newest_open(&self) -> Option<&OpenCall> {
        self.open.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_agent::event::Json;
    use serde_json::{Value, json};

    fn begin(calls: &mut Calls, id: &str, name: &str, input: &Value) {
        let raw = serde_json::value::to_raw_value(input).unwrap();
        let (message, parent) = ("m".into(), "".into());
        calls.see(
            &Event::ToolUse { message, parent, id: id.into(), name: name.into(), input: Json(&raw) },
            Duration::ZERO,
        );
    }

    fn end(calls: &mut Calls, id: &str) {
        let (parent, output) = ("".into(), "".into());
        calls.see(&Event::ToolResult { parent, id: id.into(), output, is_error: false }, Duration::ZERO);
    }

    fn newest(calls: &Calls) -> String {
        calls.newest().map(|call| format!("{}: {}", call.tool_name, call.last_action)).unwrap_or_default()
    }

    #[test]
    fn the_newest_open_call_is_current() {
        let mut calls = Calls::default();
        assert_eq!(newest(&calls), "");
        begin(&mut calls, "1", "Task", &json!({ "description": "Look around", "prompt": "..." }));
        begin(&mut calls, "2", "Bash", &json!({ "command": "cargo\n  test\u{1b}[1m" }));
        assert_eq!(newest(&calls), r"Bash: cargo\n  test\u{1b}[1m");
        end(&mut calls, "2");
        assert_eq!(newest(&calls), "Task: Look around");
        calls.see(&Event::Result(Box::default()), Duration::ZERO);
        assert_eq!(newest(&calls), "");
        for number in 0..MAX_CALLS + 10 {
            begin(&mut calls, &number.to_string(), "Read", &json!({ "file_path": number.to_string() }));
        }
        assert_eq!((calls.open.len(), newest(&calls)), (MAX_CALLS, format!("Read: {}", MAX_CALLS + 9)));
    }
}
