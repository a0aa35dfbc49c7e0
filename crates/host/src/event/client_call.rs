//! Events of an agent about what murmur does as its client or in its place.

use super::MurmurEvent;
use murmur_agent::event::{Event, Json, RunResult};

impl MurmurEvent {
    /// Passes what it says about a call or the end of a turn to `sink`, as an event of the agent.
    pub fn with_agent_event(&self, mut sink: impl FnMut(&Event<'_>)) {
        let (message, parent) = ("".into(), "".into());
        match self {
            Self::ToolUse { id, name, input } => {
                let Ok(input) = serde_json::value::to_raw_value(input) else { return };
                let (id, name) = (id.into(), name.into());
                sink(&Event::ToolUse { message, parent, id, name, input: Json(&input) });
            }
            Self::ToolResult { id, output, is_error } => {
                let (id, output) = (id.into(), output.into());
                sink(&Event::ToolResult { parent, id, output, is_error: *is_error });
            }
            Self::Interrupted => {
                let result = RunResult {
                    subtype: "interrupted".to_owned(),
                    is_error: true,
                    errors: vec!["the turn was interrupted".to_owned()],
                    ..RunResult::default()
                };
                sink(&Event::Result(Box::new(result)));
            }
            _ => {}
        }
    }
}
