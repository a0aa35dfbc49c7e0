//! The answer to Claude Code, in the form that its event requires.

use super::event::Event;
use murmur_core::permit::decision::{Decision, DecisionKind};
use serde_json::{Value, json};

/// An answer: one JSON object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HookOutput(Value);

/// A decision, and an input to replace the call's own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Decided {
    /// The decision.
    pub(super) decision: Decision,
    /// The new input, if it changes: a person's answers are in it.
    pub(super) input: Option<Value>,
}

impl From<Decision> for Decided {
    fn from(decision: Decision) -> Self {
        Self { decision, input: None }
    }
}

impl HookOutput {
    /// `decided`, in the form for `event`.
    pub(super) fn of(event: Event, decided: Decided) -> Self {
        let Decided { decision: Decision { kind, reason, .. }, input } = decided;
        let mut output = match event {
            Event::PreToolUse => json!({
                "hookEventName": "PreToolUse",
                "permissionDecision": kind,
                "permissionDecisionReason": reason,
            }),
            Event::PermissionRequest => {
                let decision = match kind {
                    DecisionKind::Allow => json!({ "behavior": "allow" }),
                    // This event has no way to defer a call.
                    DecisionKind::Deny | DecisionKind::Defer => {
                        json!({ "behavior": "deny", "message": reason })
                    }
                };
                json!({ "hookEventName": "PermissionRequest", "decision": decision })
            }
        };
        if let (Some(input), DecisionKind::Allow) = (input, kind) {
            let place = match event {
                Event::PermissionRequest => &mut output["decision"],
                _ => &mut output,
            };
            place["updatedInput"] = input;
        }
        Self(json!({ "hookSpecificOutput": output }))
    }

    /// An answer that says nothing.
    pub(super) fn silent() -> Self {
        Self(json!({}))
    }

    /// The line, with its newline.
    pub(super) fn line(&self) -> Vec<u8> {
        format!("{}\n", self.0).into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::permit::decision::DecidedBy;

    fn line(event: Event, kind: DecisionKind, input: Option<Value>) -> String {
        let decision = Decision { kind, reason: "why".to_owned(), by: DecidedBy::Person };
        String::from_utf8(HookOutput::of(event, Decided { decision, input }).line()).unwrap()
    }

    #[test]
    fn each_event_has_its_own_form() {
        let input = Some(json!({ "answers": { "Which?": "B" } }));
        assert_eq!(
            line(Event::PreToolUse, DecisionKind::Deny, input.clone()),
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"why\"}}\n"
        );
        assert_eq!(
            line(Event::PreToolUse, DecisionKind::Allow, input.clone()),
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\",\"permissionDecisionReason\":\"why\",\"updatedInput\":{\"answers\":{\"Which?\":\"B\"}}}}\n"
        );
        assert_eq!(
            line(Event::PermissionRequest, DecisionKind::Allow, input),
            "{\"hookSpecificOutput\":{\"decision\":{\"behavior\":\"allow\",\"updatedInput\":{\"answers\":{\"Which?\":\"B\"}}},\"hookEventName\":\"PermissionRequest\"}}\n"
        );
        assert_eq!(
            line(Event::PermissionRequest, DecisionKind::Defer, None),
            "{\"hookSpecificOutput\":{\"decision\":{\"behavior\":\"deny\",\"message\":\"why\"},\"hookEventName\":\"PermissionRequest\"}}\n"
        );
    }
}
