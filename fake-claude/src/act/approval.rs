//! Asks for approval of a call that nothing has decided: `PermissionRequest` hooks, then the host.
//!
//! Input: the call and the reason for asking. Output: the approved call, or the message for the model.

use serde_json::{Value, json};

use super::actor::Actor;
use super::hooks::Outcome;
use super::lines;
use super::session::unique;
use super::tools::{self, QUESTION};
use crate::live::inbox::{Halt, Reply};

const MALFORMED: &str = "The canUseTool callback returned an invalid permission result. Expected {behavior: 'allow', \
updatedInput?: object} or {behavior: 'deny', message: string}. updatedPermissions may hold at most 4096 updates, rules \
and directories in all.";

/// The result of asking.
#[derive(Debug, PartialEq)]
pub(crate) enum Approval {
    /// Approved, with this input.
    Allowed(Value),
    /// Denied, or nobody could be asked.
    Refused(String),
    /// The input was changed to one that is invalid for the tool.
    Broken(String),
    Interrupted,
}

impl Actor<'_> {
    /// Asks about `call`. `reason` is that of a hook that wants approval; `why` is the message if nobody can be
    /// asked.
    pub(super) fn ask(&mut self, call: &Value, reason: Option<&str>, why: &str) -> Result<Approval, Halt> {
        if !self.asks {
            // If asking is disabled, the hook doesn't run either.
            let never = self.session.skips || !self.session.version.is_new();
            let answer = if never { None } else { self.ask_hooks(call)? };
            if let Some(answer) = answer {
                if let Approval::Refused(text) = &answer {
                    self.print_denied(call, Some(text), text)?;
                }
                return Ok(answer);
            }
            self.print_denied(call, reason, why)?;
            return Ok(Approval::Refused(why.to_owned()));
        }
        self.inbox.pump()?;
        if self.inbox.stdin().is_none() {
            self.ask_hooks(call)?;
            return Ok(self.closed("Stream closed"));
        }
        let request = unique()?;
        self.print(&lines::can_use_tool(&self.session, &request, call, reason))?;
        if let Some(answer) = self.ask_hooks(call)? {
            self.print(&json!({"type": "control_cancel_request", "request_id": request}))?;
            return Ok(answer);
        }
        Ok(match self.inbox.reply(&request)? {
            Reply::Interrupted => {
                self.print(&json!({"type": "control_cancel_request", "request_id": request}))?;
                Approval::Interrupted
            }
            Reply::Closed => self.closed("Tool permission stream closed before response received"),
            Reply::Said(response) if response["subtype"] == "error" => {
                let said = response["error"].as_str().unwrap_or_default();
                Approval::Refused(format!("Tool permission request failed: Error: {said}"))
            }
            Reply::Said(response) => self.decided(call, &response["response"], "deny"),
        })
    }

    fn closed(&self, how: &str) -> Approval {
        let kind = if self.session.version.is_new() { "AbortError" } else { "Error" };
        Approval::Refused(format!("Tool permission request failed: {kind}: {how}"))
    }

    /// Returns the decision of the `PermissionRequest` hooks, if any.
    fn ask_hooks(&mut self, call: &Value) -> Result<Option<Approval>, Halt> {
        let told = json!({"tool_name": call["name"], "tool_input": call["input"],
            "permission_suggestions": lines::suggestions()});
        let ran = match self.run_hooks("PermissionRequest", call["name"].as_str(), &told)? {
            Outcome::Ran(ran) => ran,
            Outcome::Interrupted => return Ok(Some(Approval::Interrupted)),
        };
        let answers = ran.iter().filter_map(|(_, ran)| serde_json::from_str::<Value>(&ran.stdout).ok());
        let decisions = answers.map(|answer| answer["hookSpecificOutput"].clone()).filter(|specific| {
            specific["hookEventName"] == "PermissionRequest" && specific["decision"].is_object()
        });
        let mut decisions: Vec<Value> = decisions.map(|specific| specific["decision"].clone()).collect();
        // A denial wins over any approval.
        decisions.sort_by_key(|decision| decision["behavior"] != "deny");
        Ok(decisions.first().map(|decision| self.decided(call, decision, "")))
    }

    /// Reads `{"behavior":…}`. The caller handles an interruption.
    fn decided(&mut self, call: &Value, decision: &Value, strict: &str) -> Approval {
        let input = decision.get("updatedInput");
        match (decision["behavior"].as_str(), decision["message"].as_str()) {
            (Some("allow"), _) if input.is_none_or(Value::is_object) => {
                if input.is_none() && !strict.is_empty() && !self.session.version.is_at_least(250) {
                    return Approval::Refused(
                        "Tool permission request failed: ZodError: updatedInput".into(),
                    );
                }
                let input = input.unwrap_or(&call["input"]);
                let name = call["name"].as_str().unwrap_or_default();
                match tools::invalid(name, input) {
                    Some(issue) => Approval::Broken(format!(
                        "<tool_use_error>The permission handler returned updatedInput for {name} that failed schema \
                         validation: {issue}</tool_use_error>"
                    )),
                    None => Approval::Allowed(input.clone()),
                }
            }
            (Some("deny"), _) if decision["interrupt"] == true => Approval::Interrupted,
            (Some("deny"), Some(message)) => Approval::Refused(message.to_owned()),
            (Some("deny"), None) if strict.is_empty() => {
                Approval::Refused("Permission denied by hook".into())
            }
            _ if self.session.version.is_new() => Approval::Refused(MALFORMED.into()),
            _ => Approval::Refused("Tool permission request failed: ZodError: invalid_union".into()),
        }
    }

    /// Whether a question needs an answer, because its input has none yet.
    pub(super) fn needs_answer(call: &Value) -> bool {
        call["name"] == QUESTION && !call["input"]["answers"].is_object()
    }

    fn print_denied(&mut self, call: &Value, reason: Option<&str>, message: &str) -> Result<(), Halt> {
        if !self.session.version.is_new() {
            return Ok(());
        }
        let mut more = json!({"tool_name": call["name"], "tool_use_id": call["id"], "message": message});
        if let Some(reason) = reason {
            more["decision_reason_type"] = "hook".into();
            more["decision_reason"] = reason.into();
        } else if call["name"] == "Bash" {
            more["decision_reason_type"] = "other".into();
            more["decision_reason"] = message.into();
        }
        let line = lines::system(&self.session, "permission_denied", &more);
        self.print(&line)
    }
}
