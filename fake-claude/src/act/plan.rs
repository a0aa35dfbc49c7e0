//! Plan mode: changes need approval, even if permission checks are skipped otherwise.
//!
//! Input: calls of its two tools. Output: their messages, and the session's mode.

use serde_json::{Value, json};

use super::actor::Actor;
use super::{lines, tools};
use crate::live::inbox::Halt;

pub(super) const ENTER: &str = "EnterPlanMode";
pub(super) const EXIT: &str = "ExitPlanMode";

const ENTERED: &str = "Entered plan mode. You should now focus on exploring the codebase and designing an implementation approach.";
const RULES: &str = "In plan mode, you should:
1. Thoroughly explore the codebase to understand existing patterns
2. Identify similar features and architectural approaches
3. Consider multiple approaches and their trade-offs
4. Use AskUserQuestion if you need to clarify the approach
5. Design a concrete implementation strategy
6. When ready, use ExitPlanMode to present your plan for approval

Remember: DO NOT write or edit any files yet. This is a read-only exploration and planning phase.";
const LEFT: &str = "User has approved exiting plan mode. You can now proceed.";
/// The message if the model leaves plan mode without having entered it.
pub(super) const NOT_IN_IT: &str = "You are not in plan mode. To enter plan mode, call the EnterPlanMode tool first. If \
your plan was already approved, continue with implementation.";

impl Actor<'_> {
    /// Returns why plan mode requires approval of a call, if it does.
    pub(super) fn planning_asks(&self, call: &Value) -> Option<String> {
        let name = call["name"].as_str().unwrap_or_default();
        if name == EXIT {
            return Some("Exit plan mode?".into());
        }
        // Older versions allow whatever is allowed outside of plan mode.
        let holds = self.session.plans && self.session.version.is_at_least(300) && name != ENTER;
        tools::needs_approval(name, &call["input"]).filter(|_| holds)
    }

    /// Enters or leaves plan mode. Returns the message for the model, and `tool_use_result`.
    pub(super) fn switch_plan(&mut self, name: &str) -> Result<Option<(String, Value)>, Halt> {
        let (plans, told) = match name {
            ENTER => (true, (format!("{ENTERED}\n\n{RULES}"), json!({"message": ENTERED}))),
            EXIT => (false, (LEFT.to_owned(), json!({"plan": null, "isAgent": false}))),
            _ => return Ok(None),
        };
        self.session.plans = plans;
        let more = json!({"status": null, "permissionMode": self.session.mode()});
        self.print(&lines::system(&self.session, "status", &more))?;
        Ok(Some(told))
    }
}
