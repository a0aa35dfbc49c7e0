//! Makes the tool calls of a message: hooks, rules, approvals and scripted results.
//!
//! Input: the blocks. Output: `user` lines, and how the turn continues. Hooks of read-only calls run in parallel;
//! any other call waits for the one before it.

use serde_json::{Value, json};

use super::actor::Actor;
use super::approval::Approval;
use super::decision::{CombinedDecision, Decision, HookExit, Ran};
use super::hooks::{self, Outcome};
use super::settings::Hook;
use super::subagent::is_subagent;
use super::tools;
use super::turn::Turn;
use super::{background, lines, plan, turn::Performed};
use crate::live::inbox::Halt;

const EVENT: &str = "PreToolUse";

/// The result for a call.
enum CallResult {
    Runs(Value),
    /// The message for the model. Denials are counted, invalid calls are not.
    Refused {
        text: String,
        denied: bool,
    },
    Deferred,
    Interrupted,
}

impl Actor<'_> {
    /// Makes these calls. If several are deferred, only the last one is remembered, as in Claude Code.
    pub(super) fn perform(&mut self, calls: &[Value], turn: &mut Turn) -> Result<Performed, Halt> {
        let (mut deferred, mut stop) = (None, false);
        let mut rest = calls;
        while let Some(first) = rest.first() {
            let is_parallel = |call: &Value| tools::is_parallel(&name(call), &call["input"]);
            let beside = rest.iter().take_while(|call| is_parallel(call)).count();
            let batch;
            (batch, rest) = rest.split_at(beside.max(1));
            debug_assert_eq!(batch.first(), Some(first), "the first call is part of the batch");
            let Some(decisions) = self.decide(batch)? else {
                self.reject(batch.iter().chain(rest), turn)?;
                return Ok(Performed::Interrupted);
            };
            for (at, (call, decision)) in batch.iter().zip(decisions).enumerate() {
                stop |= decision.as_ref().is_some_and(|decision| decision.stop);
                match self.result_of(call, decision)? {
                    CallResult::Runs(input) => self.run(call, &input, turn)?,
                    CallResult::Refused { text, denied } => self.refuse(call, &text, denied, turn)?,
                    CallResult::Deferred => deferred = Some(call.clone()),
                    CallResult::Interrupted => {
                        turn.deny(call);
                        self.reject(batch[at..].iter().chain(rest), turn)?;
                        return Ok(Performed::Interrupted);
                    }
                }
            }
        }
        Ok(match deferred {
            Some(call) => Performed::Deferred(call),
            None if stop => Performed::Stopped,
            None => Performed::Done,
        })
    }

    /// Runs the hooks of calls that are made in parallel. The decision is `None` for an invalid call, and the
    /// result is `None` if they were interrupted.
    fn decide(&mut self, batch: &[Value]) -> Result<Option<Vec<Option<CombinedDecision>>>, Halt> {
        let mut jobs = Vec::new();
        let mut counts = Vec::new();
        for call in batch {
            let is_call = self.refusal(call).is_none();
            let told =
                json!({"tool_name": call["name"], "tool_input": call["input"], "tool_use_id": call["id"]});
            let own = if is_call { self.jobs(EVENT, call["name"].as_str(), &told) } else { Vec::new() };
            counts.push(is_call.then_some(own.len()));
            jobs.extend(own);
        }
        self.announce(&batch[0], EVENT, jobs.len())?;
        let ran = match hooks::run(jobs, self.session.version.is_new(), &mut self.inbox)? {
            Outcome::Ran(ran) => ran,
            Outcome::Interrupted => return Ok(None),
        };
        let mut ran = ran.into_iter();
        let (mut decisions, mut shown) = (Vec::new(), Vec::new());
        for (call, count) in batch.iter().zip(counts) {
            let Some(count) = count else {
                decisions.push(None);
                continue;
            };
            let own: Vec<(Hook, Ran)> = ran.by_ref().take(count).collect();
            let decision = CombinedDecision::of(&own, EVENT, &name(call), &self.session.version);
            if self.session.resumes && !matches!(decision.decision, Decision::Deny(_)) {
                shown.extend(own.iter().filter_map(|ran| self.shown(EVENT, call, ran)));
            }
            decisions.push(Some(decision));
        }
        for line in &shown {
            self.print(line)?;
        }
        Ok(Some(decisions))
    }

    /// Older versions print when the hooks of a resumed call start.
    fn announce(&mut self, call: &Value, event: &str, hooks: usize) -> Result<(), Halt> {
        if !self.session.resumes || self.session.version.is_new() || hooks == 0 {
            return Ok(());
        }
        self.print(&lines::progress(&self.session, call, event))
    }

    /// The line about a hook that succeeded.
    fn shown(&self, event: &str, call: &Value, (hook, ran): &(Hook, Ran)) -> Option<Value> {
        let done = json!({"type": "hook_success", "hookName": format!("{event}:{}", name(call)),
            "toolUseID": call["id"], "hookEvent": event, "content": "", "stdout": ran.stdout,
            "stderr": ran.stderr, "exitCode": 0, "command": hook.command, "durationMs": 1});
        (ran.how == HookExit::Exited(0)).then(|| lines::attachment(&self.session, &done))
    }

    fn refusal(&self, call: &Value) -> Option<String> {
        if self.asks && call["name"] == plan::EXIT && !self.session.plans {
            return Some(format!("<tool_use_error>{}</tool_use_error>", plan::NOT_IN_IT));
        }
        tools::refusal(&name(call), &call["input"], self.asks, &self.session.version)
    }

    fn result_of(&mut self, call: &Value, decision: Option<CombinedDecision>) -> Result<CallResult, Halt> {
        let Some(decision) = decision else {
            let text = self.refusal(call).unwrap_or_default();
            return Ok(CallResult::Refused { text, denied: false });
        };
        for timed_out in &decision.failed {
            self.print_failed(call, *timed_out)?;
        }
        let allows = decision.decision == Decision::Allow;
        let reason = match decision.decision {
            Decision::Deny(text) => return Ok(CallResult::Refused { text, denied: true }),
            Decision::Defer => return Ok(CallResult::Deferred),
            Decision::Ask(reason) => Some(reason),
            Decision::Allow | Decision::Nothing => None,
        };
        let mut call = call.clone();
        if let Some(input) = decision.input {
            if let Some(issue) = tools::invalid(&name(&call), &input) {
                return Ok(CallResult::Refused {
                    text: self.invalid_input(&call, &issue),
                    denied: self.session.version.is_at_least(160),
                });
            }
            call["input"] = input;
        }
        if let Some(text) = self.disallowed(&call)? {
            return Ok(CallResult::Refused { text, denied: true });
        }
        let skips = self.session.skips || allows;
        let why = match &reason {
            Some(reason) if reason.is_empty() => {
                Some(format!("Hook {EVENT}:{} asked for confirmation for this tool", name(&call)))
            }
            Some(reason) => Some(reason.clone()),
            None if Self::needs_answer(&call) => Some("Answer questions?".into()),
            None if self.planning_asks(&call).is_some() => self.planning_asks(&call),
            None if skips => None,
            None => tools::needs_approval(&name(&call), &call["input"]),
        };
        let Some(why) = why else { return Ok(CallResult::Runs(call["input"].clone())) };
        Ok(match self.ask(&call, reason.as_deref(), &why)? {
            Approval::Allowed(input) => CallResult::Runs(input),
            Approval::Refused(text) => CallResult::Refused { text, denied: true },
            Approval::Broken(text) => CallResult::Refused { text, denied: false },
            Approval::Interrupted => CallResult::Interrupted,
        })
    }

    fn invalid_input(&self, call: &Value, issue: &str) -> String {
        let text = format!(
            "{EVENT} hook for {} returned updatedInput that failed schema validation: {issue}",
            name(call)
        );
        if self.session.version.is_new() {
            return format!(
                "{text}\nThe tool input from the model was valid; the hook's rewrite of it was not."
            );
        }
        text
    }

    /// Returns the message if a rule in the arguments denies the call, even if a hook allowed it.
    fn disallowed(&mut self, call: &Value) -> Result<Option<String>, Halt> {
        let rules = &self.asked.disallowed;
        if !rules.iter().any(|rule| tools::is_disallowed(rule, &name(call), &call["input"])) {
            return Ok(None);
        }
        let command = call["input"]["command"].as_str().unwrap_or_default();
        let text = format!("Permission to use {} with command {command} has been denied.", name(call));
        if self.session.version.is_new() {
            let more = json!({"tool_name": call["name"], "tool_use_id": call["id"],
                "decision_reason_type": "subcommandResults", "message": text});
            self.print(&lines::system(&self.session, "permission_denied", &more))?;
        }
        Ok(Some(text))
    }

    fn print_failed(&mut self, call: &Value, timed_out: bool) -> Result<(), Halt> {
        let how = if timed_out { "A hook didn't answer in time" } else { "A hook gave no usable answer" };
        let more = json!({"content": format!("{how}, so it didn't check this action."), "level": "warning",
            "tag": "hook_no_verdict", "hook_no_verdict":
                {"hook_event": EVENT, "tool_use_id": call["id"], "timed_out": timed_out}});
        self.print(&lines::system(&self.session, "informational", &more))
    }

    /// Pretends to run the tool, with the result from the script.
    fn run(&mut self, call: &Value, input: &Value, turn: &mut Turn) -> Result<(), Halt> {
        let (said, result, is_error) = self.carry_out(call, input)?;
        let mut told = json!({"tool_name": call["name"], "tool_input": input, "tool_use_id": call["id"],
            "duration_ms": 1});
        let event = if is_error {
            told["error"] = said.clone();
            told["is_interrupt"] = false.into();
            "PostToolUseFailure"
        } else {
            told["tool_response"] = result.clone();
            "PostToolUse"
        };
        // These hooks run too late to affect the tool.
        let jobs = self.jobs(event, call["name"].as_str(), &told);
        let count = jobs.len();
        let ran = hooks::run(jobs, self.session.version.is_new(), &mut self.inbox)?;
        self.report(call, &said, is_error, &result, turn)?;
        self.announce(call, event, count)?;
        if let (true, Outcome::Ran(ran)) = (self.session.resumes, ran) {
            let shown: Vec<Value> = ran.iter().filter_map(|ran| self.shown(event, call, ran)).collect();
            shown.iter().try_for_each(|line| self.print(line))?;
        }
        Ok(())
    }

    /// Returns the tool's message for the model, its `tool_use_result`, and whether it failed.
    fn carry_out(&mut self, call: &Value, input: &Value) -> Result<(Value, Value, bool), Halt> {
        let name = name(call);
        let mut called = call.clone();
        called["input"] = input.clone();
        if background::is_background(&called) {
            let (text, result) = self.begin_command(&called)?;
            return Ok((text.into(), result, false));
        }
        if is_subagent(&name) {
            let (blocks, result) = self.delegate(&called)?;
            return Ok((blocks, result, false));
        }
        if let Some((text, result)) = self.switch_plan(&name)? {
            return Ok((text.into(), result, false));
        }
        let (mut text, mut result) = tools::yielded(&name, input, &self.session.version);
        let scripted = self.script.result(&call["id"]);
        let failure = tools::failure(&name, input).filter(|_| scripted.is_none());
        let is_error = failure.is_some() || scripted.as_ref().is_some_and(|scripted| scripted.is_error);
        if let Some(said) = failure.or(scripted.and_then(|scripted| scripted.text)) {
            result = if is_error { format!("Error: {said}").into() } else { result };
            text = said;
        }
        Ok((text.into(), result, is_error))
    }

    fn refuse(&mut self, call: &Value, text: &str, denied: bool, turn: &mut Turn) -> Result<(), Halt> {
        if denied {
            turn.deny(call);
        }
        let plain = text.trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
        let result = if denied { format!("Error: {plain}") } else { plain.to_owned() };
        self.report(call, &text.into(), true, &result.into(), turn)
    }

    /// Reports calls that were not made because the turn was interrupted.
    fn reject<'a>(&mut self, calls: impl Iterator<Item = &'a Value>, turn: &mut Turn) -> Result<(), Halt> {
        for call in calls {
            self.report(call, &lines::REJECTED.into(), true, &"User rejected tool use".into(), turn)?;
        }
        Ok(())
    }

    fn report(
        &mut self,
        call: &Value,
        said: &Value,
        is_error: bool,
        result: &Value,
        turn: &mut Turn,
    ) -> Result<(), Halt> {
        self.settle()?;
        let content = json!([lines::tool_result(call, said, is_error)]);
        self.session.keep(&json!({"type": "user", "message": {"role": "user", "content": content},
            "toolUseResult": result}))?;
        turn.users += 1;
        self.print(&lines::user(&self.session, &content, result))
    }
}

fn name(call: &Value) -> String {
    call["name"].as_str().unwrap_or_default().to_owned()
}
