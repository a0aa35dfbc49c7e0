//! What murmur writes to Claude Code's stdin: a beat's prompt as plain text, and messages, answers and interrupts to a
//! live agent as stream-json.

use crate::dialog::{CallDecision, Dialog};
use crate::event::PermissionRequest;
use serde_json::{Value, json};

/// The dialog with Claude Code.
#[derive(Debug, Default)]
pub struct ClaudeDialog {
    /// The number of interrupts so far.
    interrupts: u64,
}

impl Dialog for ClaudeDialog {
    fn send(&mut self, text: &str) -> Vec<u8> {
        line(&json!({ "type": "user", "message": { "role": "user", "content": text } }))
    }

    fn answer(&mut self, request: &PermissionRequest, decision: &CallDecision) -> Vec<u8> {
        let response = match decision {
            CallDecision::Allow { input } => {
                let input = input.as_ref().unwrap_or(&request.input);
                json!({ "behavior": "allow", "updatedInput": input })
            }
            CallDecision::Deny { reason } => json!({ "behavior": "deny", "message": reason }),
        };
        let response =
            json!({ "subtype": "success", "request_id": request.request_id, "response": response });
        line(&json!({ "type": "control_response", "response": response }))
    }

    fn sends_reasons(&self) -> bool {
        true
    }

    fn interrupt(&mut self) -> Vec<u8> {
        self.interrupts += 1;
        let id = format!("murmur-interrupt-{}", self.interrupts);
        let request = json!({ "subtype": "interrupt" });
        line(&json!({ "type": "control_request", "request_id": id, "request": request }))
    }
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}
