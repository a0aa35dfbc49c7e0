//! The decision of a hook, based on its output and exit status, and the combined decision of several hooks.
//!
//! Pure. Input: how the hooks ran. Output: the decision about the tool. Measured on 2.1.197 and 2.1.329.

use serde_json::Value;

use super::settings::Hook;
use super::version::Version;

/// How a hook ran.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) how: HookExit,
}

/// How a hook ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookExit {
    Exited(i32),
    Killed,
    TimedOut,
}

/// The decision about a tool, by ascending precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Decision {
    Nothing,
    Allow,
    Ask(String),
    Defer,
    /// With the message for the model.
    Deny(String),
}

/// The decision of one hook or of several combined.
#[derive(Debug, PartialEq)]
pub(crate) struct CombinedDecision {
    pub(crate) decision: Decision,
    pub(crate) input: Option<Value>,
    /// One entry for each hook that failed to decide; true for a timeout.
    pub(crate) failed: Vec<bool>,
    /// `"continue":false`: the turn ends after the tool.
    pub(crate) stop: bool,
}

impl CombinedDecision {
    fn new(decision: Decision) -> Self {
        Self { decision, input: None, failed: Vec::new(), stop: false }
    }

    /// Combines the decisions of the hooks of `event` about `tool`.
    pub(crate) fn of(ran: &[(Hook, Ran)], event: &str, tool: &str, version: &Version) -> Self {
        let context = DecisionContext { event, tool, version };
        ran.iter().map(|(hook, ran)| context.one(hook, ran)).fold(Self::new(Decision::Nothing), Self::and)
    }

    fn and(mut self, other: Self) -> Self {
        self.failed.extend(other.failed);
        let input = other.input.or(self.input);
        let decision = self.decision.max(other.decision);
        Self { decision, input, failed: self.failed, stop: self.stop || other.stop }
    }
}

/// The context of a decision.
struct DecisionContext<'a> {
    event: &'a str,
    tool: &'a str,
    version: &'a Version,
}

/// Parsed hook output.
enum Read {
    Object(Value),
    Nothing,
    Invalid(String),
}

impl DecisionContext<'_> {
    fn one(&self, hook: &Hook, ran: &Ran) -> CombinedDecision {
        let code = match ran.how {
            HookExit::TimedOut => return self.failed(hook, "timed out", "", Some(true)),
            HookExit::Killed => None,
            HookExit::Exited(2) => {
                let said = if ran.stderr.is_empty() { "No stderr output" } else { &ran.stderr };
                let text = format!("{}[{}]: {said}", self.prefix(), hook.command);
                return CombinedDecision::new(Decision::Deny(text));
            }
            HookExit::Exited(code) => Some(code),
        };
        match self.read(&ran.stdout) {
            Read::Object(answer) => self.answered(&answer),
            Read::Nothing if code == Some(0) => CombinedDecision::new(Decision::Nothing),
            // Show the shell's message if it could not run the command, but not a failure of the hook itself.
            Read::Nothing => {
                let is_from_shell = code.is_none_or(|code| code >= 126);
                self.failed(hook, "failed", ran.stderr.trim_end(), is_from_shell.then_some(false))
            }
            Read::Invalid(why) => self.failed(hook, "failed", &why, Some(false)),
        }
    }

    /// A JSON object counts whatever the exit code is. Text before or after it turns everything into plain text,
    /// which decides nothing.
    fn read(&self, stdout: &str) -> Read {
        let text = stdout.trim();
        if !text.starts_with('{') || !text.ends_with('}') {
            return Read::Nothing;
        }
        let Ok(answer) = serde_json::from_str::<Value>(text) else {
            return Read::Invalid("Hook output looks like a JSON object but is not valid JSON".into());
        };
        let specific = &answer["hookSpecificOutput"];
        if specific.is_null() {
            return Read::Object(answer);
        }
        if specific["hookEventName"] != self.event {
            let got = specific["hookEventName"].as_str().unwrap_or("undefined");
            let expected = self.event;
            let why = format!("Hook returned incorrect event name: expected '{expected}' but got '{got}'.");
            return Read::Invalid(format!("Failed to run: {why}"));
        }
        let decision = &specific["permissionDecision"];
        let known = ["allow", "deny", "ask", "defer"].iter().any(|word| decision == word);
        if !decision.is_null() && !known {
            let expected = r#"expected one of "allow"|"deny"|"ask"|"defer""#;
            let at = "hookSpecificOutput.permissionDecision";
            return Read::Invalid(format!(
                "Hook JSON output validation failed — {at}: Invalid option: {expected}"
            ));
        }
        Read::Object(answer)
    }

    fn answered(&self, answer: &Value) -> CombinedDecision {
        let specific = &answer["hookSpecificOutput"];
        let reason = specific["permissionDecisionReason"].as_str();
        let decision = match (specific["permissionDecision"].as_str(), answer["decision"].as_str()) {
            (Some("allow"), _) => Decision::Allow,
            (Some("ask"), _) => Decision::Ask(reason.unwrap_or_default().to_owned()),
            (Some("defer"), _) => Decision::Defer,
            (Some(_), _) => Decision::Deny(self.denied(reason)),
            (None, Some("block")) => Decision::Deny(self.denied(answer["reason"].as_str())),
            (None, Some("approve")) => Decision::Allow,
            (None, _) => Decision::Nothing,
        };
        let input = specific.get("updatedInput").filter(|input| input.is_object()).cloned();
        let stop = answer["continue"] == false;
        CombinedDecision { decision, input, failed: Vec::new(), stop }
    }

    fn denied(&self, reason: Option<&str>) -> String {
        match reason.filter(|reason| !reason.is_empty()) {
            Some(reason) if self.version.is_new() => format!("{}{reason}", self.prefix()),
            Some(reason) => reason.to_owned(),
            None if self.version.is_new() => format!("{}Blocked by hook", self.prefix()),
            None => format!("Hook {}:{} denied this tool", self.event, self.tool),
        }
    }

    fn prefix(&self) -> String {
        format!("{}:{} hook error: ", self.event, self.tool)
    }

    /// A hook that failed to decide: the tool runs unless `onFailure` blocks it and the version supports that.
    fn failed(&self, hook: &Hook, how: &str, why: &str, told: Option<bool>) -> CombinedDecision {
        if !hook.blocks_on_failure || !self.version.is_new() {
            let failed = told.filter(|_| self.version.is_new()).into_iter().collect();
            return CombinedDecision { failed, ..CombinedDecision::new(Decision::Nothing) };
        }
        let mut text =
            format!("{}[{}]: {how}; blocking because onFailure is \"block\"", self.prefix(), hook.command);
        if told != Some(true) {
            text += &format!("\n{}", if why.is_empty() { "No stderr output" } else { why });
        }
        CombinedDecision::new(Decision::Deny(text))
    }
}
