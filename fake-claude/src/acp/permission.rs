//! Asks the client whether a call may run. Only an unambiguous approval counts.

use serde_json::{Value, json};

use super::Acp;
use super::tool::Shown;
use crate::rpc::Halt;

impl Acp<'_> {
    /// Asks, and waits for the answer.
    pub(super) fn permission(&mut self, call: &Value, tool: &str, shown: &Shown) -> Result<bool, Halt> {
        let id = self.asked;
        self.asked += 1;
        let (title, locations, input, content) = &shown.asked;
        let mut asked = json!({"toolCallId": call, "title": title, "kind": shown.kind, "status": "pending",
            "locations": locations, "rawInput": input});
        if let Some(content) = content {
            asked["content"] = content.clone();
        }
        let options = json!([{"optionId": "once", "kind": "allow_once", "name": "Allow once"},
            {"optionId": "always", "kind": "allow_always", "name": "Always allow"},
            {"optionId": "reject", "kind": "reject_once", "name": "Reject"}]);
        let params = json!({"sessionId": self.running, "toolCall": asked, "options": options});
        self.line(
            &json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}),
        )?;
        let reply = self.reply_to(id)?;
        let outcome = &reply["result"]["outcome"];
        let option = outcome["optionId"].as_str().filter(|_| outcome["outcome"] == "selected");
        if option == Some("always")
            && let Some(session) = self.session()
        {
            session.allowed.push(tool.to_owned());
        }
        Ok(matches!(option, Some("once" | "always")))
    }
    /// Waits for the response to the request with this id.
    pub(super) fn reply_to(&mut self, id: u64) -> Result<Value, Halt> {
        loop {
            if let Some(at) = self.replies.iter().position(|reply| reply["id"] == id) {
                return Ok(self.replies.swap_remove(at));
            }
            self.wait(None)?;
        }
    }
}
