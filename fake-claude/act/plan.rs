//! Plan mode: in it nothing is changed that nobody has approved, whatever is skipped otherwise.
//!
//! In come calls of its two tools; out go what they say, and the session's mode.

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
/// What the model is told that wants to leave without having entered.
pub(super) const NOT_IN_IT: &str = "You are not in plan mode. To enter plan mode, call the EnterPlanMode tool first. If \
your plan was already approved, continue with implementation.";

impl Actor<'_> {
    /// Why somebody has to be asked about a call although calls are not asked about otherwise.
    pub(super) fn planning_asks(&self, call: &Value) -> Option<String> {
        let name = call["name"].as_str().unwrap_or_default();
        if name == EXIT {
            return Some("Exit plan mode?".into());
        }
        // Older ones let through what is let through otherwise.
        let holds = self.session.plans && self.session.version.is_at_least(300) && name != ENTER;
        tools::needs_approval(name, &call["input"]).filter(|_| holds)
    }

    /// Enters or leaves: what the model is told, and `tool_use_result`.
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
