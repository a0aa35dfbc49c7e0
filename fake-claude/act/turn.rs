//! One turn of the conversation: what the model says, its calls, and the `result`.
//!
//! In comes a prompt, or a call that was put off; out go the turn's lines, and whether it failed.

use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::actor::Actor;
use super::hooks::Outcome;
use super::lines;
use super::session::unique;
use super::verdict::How;
use crate::instructions::Wrong;
use crate::live::inbox::Halt;
use crate::script::Play;

/// What the model is told when a call that was put off has been made.
const GO_ON: &str = "Continue from where you left off.";

/// What has happened in a turn.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// Lines of type `user`.
    pub(super) users: usize,
    denials: Vec<Value>,
    /// Messages of the model.
    said: usize,
}

/// How a turn goes on after the calls of a message.
#[derive(Debug, PartialEq)]
pub(super) enum Performed {
    Done,
    /// A hook wants no more of it.
    Stopped,
    /// The last call that was put off.
    Deferred(Value),
    Interrupted,
}

impl Turn {
    /// Counts a call that was not allowed.
    pub(super) fn deny(&mut self, call: &Value) {
        self.denials.push(json!({"tool_name": call["name"], "tool_use_id": call["id"],
            "tool_input": call["input"]}));
    }
}

impl Actor<'_> {
    /// Answers a message.
    pub(super) fn answer(&mut self, content: &Value, replayed: bool) -> Result<bool, Halt> {
        self.begin()?;
        let prompt = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        self.run_hooks("UserPromptSubmit", None, &json!({"prompt": prompt}))?;
        self.session.keep(&json!({"type": "user", "message": {"role": "user", "content": content}}))?;
        self.print(&lines::init(&self.session, self.asks))?;
        if replayed {
            let mut line = lines::user(&self.session, content, &Value::Null);
            line["isReplay"] = true.into();
            self.print(&line)?;
        }
        self.go_on(Turn::default())
    }

    /// Makes the call that was put off, and goes on from there.
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
                // The result does not count as a turn here.
                turn.users = 0;
                self.run_hooks("UserPromptSubmit", None, &json!({"prompt": GO_ON}))?;
                let go_on = json!({"role": "user", "content": GO_ON});
                self.session.keep(&json!({"type": "user", "isMeta": true, "message": go_on}))?;
                self.print(&lines::init(&self.session, self.asks))?;
                self.go_on(turn)?
            }
            performed => self.break_off(performed, &turn, true)?,
        };
        lifecycle.iter().try_for_each(|[_, completed]| self.print(completed))?;
        Ok(failed)
    }

    /// The model speaks, its calls are made, and again, until it has nothing more to say.
    fn go_on(&mut self, mut turn: Turn) -> Result<bool, Halt> {
        let mut stopped_before = false;
        loop {
            if let Some(most) = self.asked.max_turns.filter(|most| turn.said >= *most) {
                return self.end(
                    &turn,
                    &json!({"subtype": "error_max_turns", "is_error": true,
                    "stop_reason": "tool_use", "terminal_reason": "max_turns",
                    "errors": [format!("Reached maximum number of turns ({most})")]}),
                );
            }
            let script = self.script;
            let (delay, play) = script.after(self.done);
            self.think(delay)?;
            if self.inbox.is_interrupted() {
                return self.break_off_speech(&turn);
            }
            turn.said += 1;
            let (content, end_delay) = match play {
                Play::Content(content, end_delay) => (content, end_delay),
                Play::Error(error) => return self.fail(error.status, &error.error, &turn),
            };
            let calls: Vec<Value> =
                content.iter().filter(|block| block["type"] == "tool_use").map(said).collect();
            self.say(content, end_delay, !calls.is_empty())?;
            let text = content.iter().rev().find_map(|block| block["text"].as_str()).unwrap_or_default();
            if calls.is_empty() {
                if self.is_sent_back(text, stopped_before, &mut turn)? {
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
                performed => return self.break_off(performed, &turn, false),
            }
        }
    }

    /// Prints a message, a line for each block. It is kept when it is over, and its calls begin before that.
    fn say(&mut self, content: &[Value], end_delay: Duration, calls: bool) -> Result<(), Halt> {
        let stop = if calls { "tool_use" } else { "end_turn" };
        let kept =
            |block| json!({"type": "assistant", "message": lines::message(self.done, &block, Some(stop))});
        let kept: Vec<Value> = content.iter().map(said).map(kept).collect();
        self.kept = Some(self.session.keep_after(end_delay, &kept)?);
        if end_delay.is_zero() {
            self.settle()?;
        }
        for block in content.iter().map(said) {
            let message = lines::message(self.done, &block, None);
            self.print(&lines::assistant(&self.session, &message))?;
        }
        self.done += 1;
        Ok(())
    }

    /// Waits until the message is over and kept.
    pub(super) fn settle(&mut self) -> Result<(), Halt> {
        match self.kept.take().map(JoinHandle::join) {
            Some(Ok(kept)) => Ok(kept?),
            Some(Err(_)) => Err(Wrong("a message could not be kept".into()).into()),
            None => Ok(()),
        }
    }

    /// Whether a `Stop` hook wants the model to go on, which is then told why.
    fn is_sent_back(&mut self, text: &str, before: bool, turn: &mut Turn) -> Result<bool, Halt> {
        let told = json!({"stop_hook_active": before, "last_assistant_message": text, "background_tasks": [],
            "session_crons": []});
        let Outcome::Ran(ran) = self.run_hooks("Stop", None, &told)? else { return Ok(false) };
        let blocking = ran.iter().find_map(|(hook, ran)| {
            let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
            match ran.how {
                How::Exited(2) => Some(format!("[{}]: {}", hook.command, ran.stderr)),
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

    /// The end of a turn whose calls were not all made.
    fn break_off(&mut self, performed: Performed, turn: &Turn, resumed: bool) -> Result<bool, Halt> {
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
                self.end(
                    &Turn { users: turn.users + 1, denials: turn.denials.clone(), said: turn.said },
                    &more,
                )
            }
            Performed::Stopped | Performed::Done => {
                self.end(turn, &json!({"stop_reason": "tool_use", "result": ""}))
            }
        }
    }

    fn break_off_speech(&mut self, turn: &Turn) -> Result<bool, Halt> {
        let content = json!([{"type": "text", "text": "[Request interrupted by user]"}]);
        self.print(&lines::user(&self.session, &content, &Value::Null))?;
        let why = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null";
        let more = json!({"subtype": "error_during_execution", "is_error": true, "stop_reason": null,
            "terminal_reason": "aborted_streaming", "errors": [why]});
        self.end(&Turn { users: turn.users + 1, denials: turn.denials.clone(), said: turn.said }, &more)
    }

    /// The API has refused.
    fn fail(&mut self, status: u16, error: &Value, turn: &Turn) -> Result<bool, Halt> {
        let message = error["message"].as_str().unwrap_or_default();
        let (text, kind) = match status {
            403 => (format!("Failed to authenticate. API Error: 403 {message}"), "authentication_failed"),
            429 => (format!("API Error: Request rejected (429) · {message}"), "rate_limit"),
            _ => (format!("API Error: {status} {message}"), "unknown"),
        };
        let block = json!({"type": "text", "text": text});
        let message = lines::message(self.done, &block, Some("stop_sequence"));
        let mut line = lines::assistant(&self.session, &message);
        line["message"]["model"] = "<synthetic>".into();
        line["is_api_error_message"] = true.into();
        self.print(&line)?;
        // Whatever these say, the turn is over.
        self.run_hooks("StopFailure", Some(kind), &json!({"error": kind, "last_assistant_message": text}))?;
        self.end(
            turn,
            &json!({"is_error": true, "stop_reason": "stop_sequence", "terminal_reason": "api_error",
            "api_error_status": status, "api_error_type": error["type"], "result": text}),
        )
    }

    fn end(&mut self, turn: &Turn, more: &Value) -> Result<bool, Halt> {
        let line = lines::result(&self.session, 1 + turn.users, &turn.denials, more);
        self.print(&line)?;
        Ok(line["is_error"] == true)
    }
}

/// A block as the model says it, without what the script says about its result.
fn said(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(fields) = block.as_object_mut() {
        fields.remove("result");
        fields.remove("is_error");
    }
    block
}
