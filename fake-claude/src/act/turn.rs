//! One turn of the conversation: the model's messages, its calls, and the `result`.
//!
//! Input: a prompt, or a deferred call. Output: the turn's lines, and whether it failed.

use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use sys::error::Failure;

use super::actor::Actor;
use super::background::Task;
use super::decision::HookExit;
use super::failure::Answer;
use super::hooks::Outcome;
use super::lines;
use super::session::unique;
use crate::live::inbox::Halt;

/// The message after a deferred call was made.
const CONTINUE: &str = "Continue from where you left off.";
/// The message if the model's answer was empty.
const NOTHING_VISIBLE: &str =
    "[Your previous response had no visible output. Please continue and produce a user-visible response.]";

/// The counts of a turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    /// The number of `user` lines.
    pub(super) users: usize,
    pub(super) denials: Vec<Value>,
    /// The number of messages from the model.
    pub(super) said: usize,
    /// The trigger of a turn without a prompt.
    pub(super) origin: Value,
}

/// How a turn continues after the calls of a message.
#[derive(Debug, PartialEq)]
pub(super) enum Performed {
    Done,
    /// A hook stopped it.
    Stopped,
    /// The last deferred call.
    Deferred(Value),
    Interrupted,
}

impl Turn {
    /// Records a call that was denied.
    pub(super) fn deny(&mut self, call: &Value) {
        self.denials.push(json!({"tool_name": call["name"], "tool_use_id": call["id"],
            "tool_input": call["input"]}));
    }
}

impl Actor<'_> {
    /// Answers a message.
    pub(super) fn answer(&mut self, content: &Value, replayed: bool) -> Result<bool, Halt> {
        self.begin_turn(content, replayed, Turn::default())
    }

    /// Starts a turn and runs it to its end.
    pub(super) fn begin_turn(&mut self, content: &Value, replayed: bool, turn: Turn) -> Result<bool, Halt> {
        self.begin()?;
        let prompt = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        self.run_hooks("UserPromptSubmit", None, &json!({"prompt": prompt}))?;
        self.session.keep(&json!({"type": "user", "message": {"role": "user", "content": content}}))?;
        self.print(&lines::init(&self.session, self.asks, self.logged_in))?;
        if replayed {
            let mut line = lines::user(&self.session, content, &Value::Null);
            line["isReplay"] = true.into();
            self.print(&line)?;
        }
        self.continue_turn(turn)
    }

    /// Makes the deferred call and continues the turn.
    pub(super) fn resume(&mut self, call: &Value) -> Result<bool, Halt> {
        self.begin()?;
        let lifecycle = lines::lifecycle(&self.session, &unique()?);
        lifecycle.iter().try_for_each(|[started, _]| self.print(started))?;
        let mut turn = Turn::default();
        self.session.resumes = true;
        let performed = self.perform(std::slice::from_ref(call), &mut turn)?;
        self.session.resumes = false;
        let failed = match performed {
            Performed::Done => {
                // The result is not counted as a turn here.
                turn.users = 0;
                self.run_hooks("UserPromptSubmit", None, &json!({"prompt": CONTINUE}))?;
                let continue_turn = json!({"role": "user", "content": CONTINUE});
                self.session.keep(&json!({"type": "user", "isMeta": true, "message": continue_turn}))?;
                self.print(&lines::init(&self.session, self.asks, self.logged_in))?;
                self.continue_turn(turn)?
            }
            performed => self.end_early(performed, &turn, true)?,
        };
        lifecycle.iter().try_for_each(|[_, completed]| self.print(completed))?;
        Ok(failed)
    }

    /// Alternates between the model's messages and its calls until the turn is complete.
    fn continue_turn(&mut self, mut turn: Turn) -> Result<bool, Halt> {
        let (mut stopped_before, mut asked_again) = (false, false);
        loop {
            if let Some(most) = self.asked.max_turns.filter(|most| turn.said >= *most) {
                return self.end(
                    &turn,
                    &json!({"subtype": "error_max_turns", "is_error": true,
                    "stop_reason": "tool_use", "terminal_reason": "max_turns",
                    "errors": [format!("Reached maximum number of turns ({most})")]}),
                );
            }
            let (content, end_delay) = match self.request(self.done, false)? {
                Answer::Said(content, end_delay) => (content, end_delay),
                Answer::Failed(failure) => return self.fail(&failure, &turn),
                Answer::Interrupted => return self.end_interrupted_message(&turn),
            };
            turn.said += 1;
            let calls: Vec<Value> =
                content.iter().filter(|block| block["type"] == "tool_use").map(without_result).collect();
            if content.iter().all(is_silent) {
                self.print_thinking(content)?;
                if !std::mem::replace(&mut asked_again, true) {
                    self.ask_again(&mut turn)?;
                    continue;
                }
            } else {
                self.say(content, end_delay, !calls.is_empty())?;
            }
            self.spent += self.cost;
            if let Some(most) = self.over_budget() {
                self.settle()?;
                let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
                return self.end(
                    &turn,
                    &json!({"subtype": "error_max_budget_usd", "is_error": true, "stop_reason": stop,
                    "terminal_reason": "budget_exhausted",
                    "errors": [format!("Reached maximum budget (${most})")]}),
                );
            }
            let text = content.iter().rev().find_map(|block| block["text"].as_str()).unwrap_or_default();
            if calls.is_empty() {
                if self.stop_hook_continues(text, stopped_before, &mut turn)? {
                    stopped_before = true;
                    continue;
                }
                return self.end(
                    &turn,
                    &json!({"stop_reason": "end_turn", "terminal_reason": "completed",
                    "api_error_status": null, "result": text}),
                );
            }
            match self.perform(&calls, &mut turn)? {
                Performed::Done => {}
                performed => return self.end_early(performed, &turn, false),
            }
        }
    }

    /// The limit of `--max-budget-usd`, if more than that was spent.
    fn over_budget(&self) -> Option<String> {
        let most = self.asked.max_budget.as_deref()?;
        most.parse::<f64>().is_ok_and(|dollars| self.spent > dollars).then(|| most.to_owned())
    }

    /// Prints a message, one line per block. Its calls start before the message is complete and saved.
    fn say(&mut self, content: &[Value], end_delay: Duration, calls: bool) -> Result<(), Halt> {
        let stop = if calls { "tool_use" } else { "end_turn" };
        let kept =
            |block| json!({"type": "assistant", "message": lines::message(self.done, &block, Some(stop))});
        let kept: Vec<Value> = content.iter().map(without_result).map(kept).collect();
        self.kept = Some(self.session.keep_after(end_delay, &kept)?);
        if end_delay.is_zero() {
            self.settle()?;
        }
        self.print_thinking(content)?;
        self.done += 1;
        Ok(())
    }

    /// Prints the blocks that are not empty.
    fn print_thinking(&mut self, content: &[Value]) -> Result<(), Halt> {
        for block in content.iter().map(without_result).filter(|block| block["text"] != "") {
            if let Some(thought) =
                block["thinking"].as_str().filter(|_| self.session.version.is_at_least(160))
            {
                self.print(&lines::thinking(&self.session, thought))?;
            }
            let message = lines::message(self.done, &block, None);
            self.print(&lines::assistant(&self.session, &message))?;
        }
        Ok(())
    }

    /// Tells the model that its answer had no visible output.
    fn ask_again(&mut self, turn: &mut Turn) -> Result<(), Halt> {
        let content = json!([{"type": "text", "text": NOTHING_VISIBLE}]);
        turn.users += 1;
        let mut line = lines::user(&self.session, &content, &Value::Null);
        line["isSynthetic"] = true.into();
        self.print(&line)
    }

    /// Waits until the message is complete and saved.
    pub(super) fn settle(&mut self) -> Result<(), Halt> {
        match self.kept.take().map(JoinHandle::join) {
            Some(Ok(kept)) => Ok(kept?),
            Some(Err(_)) => Err(Failure::new("cannot save a message").into()),
            None => Ok(()),
        }
    }

    /// Whether a `Stop` hook makes the model continue. If so, tells it why.
    fn stop_hook_continues(&mut self, text: &str, before: bool, turn: &mut Turn) -> Result<bool, Halt> {
        let mut told = json!({"stop_hook_active": before, "last_assistant_message": text,
            "background_tasks": self.hook_tasks(), "session_crons": []});
        if let (true, Some(fields)) = (text.is_empty(), told.as_object_mut()) {
            fields.remove("last_assistant_message");
        }
        let Outcome::Ran(ran) = self.run_hooks("Stop", None, &told)? else { return Ok(false) };
        let blocking = ran.iter().find_map(|(hook, ran)| {
            let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
            match ran.how {
                HookExit::Exited(2) => Some(format!("[{}]: {}", hook.command, ran.stderr)),
                _ if answer["decision"] == "block" => answer["reason"].as_str().map(str::to_owned),
                _ => None,
            }
        });
        let Some(why) = blocking else { return Ok(false) };
        let content = json!([{"type": "text", "text": format!("Stop hook feedback:\n{why}")}]);
        self.session.keep(&json!({"type": "user", "message": {"role": "user", "content": content}}))?;
        turn.users += 1;
        self.print(&lines::user(&self.session, &content, &Value::Null))?;
        Ok(true)
    }

    /// Ends a turn early, before all its calls were made.
    fn end_early(&mut self, performed: Performed, turn: &Turn, resumed: bool) -> Result<bool, Halt> {
        self.settle()?;
        match performed {
            Performed::Deferred(call) => {
                let marker = json!({"type": "hook_deferred_tool", "toolUseID": call["id"],
                    "toolName": call["name"], "toolInput": call["input"], "hookName": "settings",
                    "hookEvent": "PreToolUse", "permissionMode": self.session.mode()});
                self.session.keep(&json!({"type": "attachment", "attachment": marker}))?;
                if resumed {
                    self.print(&lines::attachment(&self.session, &marker))?;
                }
                let named = json!({"id": call["id"], "name": call["name"], "input": call["input"]});
                let mut more =
                    json!({"stop_reason": "tool_deferred", "result": "", "deferred_tool_use": named});
                if !resumed {
                    more["terminal_reason"] = "tool_deferred".into();
                }
                self.end(turn, &more)
            }
            Performed::Interrupted => {
                let content = json!([{"type": "text", "text": "[Request interrupted by user for tool use]"}]);
                self.print(&lines::user(&self.session, &content, &Value::Null))?;
                let why = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use";
                let more = json!({"subtype": "error_during_execution", "is_error": true,
                    "stop_reason": "tool_use", "terminal_reason": "aborted_tools", "errors": [why]});
                self.end(&Turn { users: turn.users + 1, ..turn.clone() }, &more)
            }
            Performed::Stopped | Performed::Done => {
                self.end(turn, &json!({"stop_reason": "tool_use", "result": ""}))
            }
        }
    }

    fn end_interrupted_message(&mut self, turn: &Turn) -> Result<bool, Halt> {
        let content = json!([{"type": "text", "text": "[Request interrupted by user]"}]);
        self.print(&lines::user(&self.session, &content, &Value::Null))?;
        let why = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null";
        let more = json!({"subtype": "error_during_execution", "is_error": true, "stop_reason": null,
            "terminal_reason": "aborted_streaming", "errors": [why]});
        self.end(&Turn { users: turn.users + 1, ..turn.clone() }, &more)
    }

    pub(super) fn end(&mut self, turn: &Turn, more: &Value) -> Result<bool, Halt> {
        let mut line = lines::result(&self.session, 1 + turn.users, &turn.denials, more);
        if !turn.origin.is_null() {
            line["origin"] = turn.origin.clone();
        }
        if self.spent > 0.0 {
            line["total_cost_usd"] = self.spent.into();
        }
        let failed = line["is_error"] == true;
        self.held.push(line);
        // Claude Code holds back a result while subagents work.
        if !self.tasks.iter().any(Task::is_subagent) {
            for line in std::mem::take(&mut self.held) {
                self.print(&line)?;
            }
        }
        Ok(failed)
    }
}

/// Whether a block has no visible content.
fn is_silent(block: &Value) -> bool {
    match block["type"].as_str() {
        Some("text") => block["text"].as_str().is_none_or(str::is_empty),
        other => other == Some("thinking"),
    }
}

/// A block without the script's fields about its result.
pub(super) fn without_result(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(fields) = block.as_object_mut() {
        fields.remove("result");
        fields.remove("is_error");
        fields.remove("ends_after_ms");
    }
    if block["type"] == "thinking" {
        block["signature"] = "signed".into();
    }
    block
}
