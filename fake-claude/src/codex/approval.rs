//! Asks the client about a call.
//!
//! Input: a request. Output: the client's decision; without a valid one, the call doesn't run.

use serde_json::{Value, json};

use super::Codex;
use crate::rpc::Halt;

/// The client's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approval {
    Given,
    Declined,
    /// Declined, and the turn ends.
    Cancelled,
    /// An error, or an invalid answer.
    Broken,
}

impl Approval {
    fn read(reply: &Value, asked: &str) -> Self {
        let result = &reply["result"];
        let key = if asked == "mcpServer/elicitation/request" { "action" } else { "decision" };
        match result[key].as_str() {
            Some("accept" | "acceptForSession") => Self::Given,
            Some("decline") => Self::Declined,
            Some("cancel") => Self::Cancelled,
            _ if result[key].is_object() => Self::Given,
            _ => Self::Broken,
        }
    }

    /// The status of an item that was not approved.
    pub(super) fn status(self) -> &'static str {
        if self == Self::Broken { "failed" } else { "declined" }
    }
}

impl Codex<'_> {
    /// Asks about a call, and waits for the decision.
    pub(super) fn approval(&mut self, method: &str, params: Value) -> Result<Approval, Halt> {
        let reply = self.ask(method, params)?;
        let approval = Approval::read(&reply, method);
        if reply["result"]["decision"] == "acceptForSession"
            && let Some(thread) = self.thread()
        {
            thread.approved = true;
        }
        Ok(approval)
    }

    /// Sends a request, and waits for the answer.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Result<Value, Halt> {
        let id = self.asked;
        self.asked += 1;
        let mut request = self.notification(method, params);
        request["id"] = id.into();
        if let Some(fields) = request.as_object_mut() {
            fields.remove("emittedAtMs");
        }
        self.unanswered = Some(id);
        self.line(&request)?;
        let reply = loop {
            if let Some(at) = self.replies.iter().position(|reply| reply["id"] == id) {
                break self.replies.swap_remove(at);
            }
            self.wait(None)?;
        };
        self.unanswered = None;
        self.notify("serverRequest/resolved", json!({"requestId": id}))?;
        Ok(reply)
    }

    /// Ends the item of a call that was not approved.
    pub(super) fn rejected(&mut self, item: &Value, approval: Approval) -> Result<(), Halt> {
        let active = json!({"type": "active", "activeFlags": []});
        if approval == Approval::Declined {
            self.status(&active)?;
            return self.item("completed", item);
        }
        self.item("completed", item)?;
        self.status(&active)?;
        if approval == Approval::Cancelled { Err(Halt::Interrupted) } else { Ok(()) }
    }

    /// Whether the policy asks about a command.
    pub(super) fn asks_about_command(&mut self, command: &str, input: &Value) -> bool {
        let Some(thread) = self.thread() else { return true };
        match thread.approval.as_str() {
            Some("never") => false,
            Some("untrusted") => !thread.approved,
            _ => input["sandbox_permissions"] == "require_escalated" || command.starts_with("rm -rf"),
        }
    }

    /// Whether the policy asks about a change of files.
    pub(super) fn asks_about_change(&mut self) -> bool {
        let Some(thread) = self.thread() else { return true };
        match thread.approval.as_str() {
            Some("never") => false,
            Some("untrusted") => true,
            _ => thread.sandbox["type"] == "readOnly",
        }
    }

    /// Whether the policy asks about a tool of a server, or refuses it (`false`).
    pub(super) fn asks_about_tool(&mut self) -> Option<bool> {
        let thread = self.thread()?;
        let is_free = thread.sandbox["type"] == "dangerFullAccess";
        match thread.approval.as_str() {
            Some("never") => (!is_free).then_some(false),
            _ => Some(true),
        }
    }
}
