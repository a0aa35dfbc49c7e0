//! A turn: the model's messages according to the script, until one without a call.
//!
//! Input: the request to start it. Output: its notifications, the last one `turn/completed`.

use fake_claude::native;
use serde_json::{Value, json};

use super::{Codex, hooks, requests, thread};
use crate::rpc::Halt;
use crate::script::Play;

/// How many tokens each message of fake-model counts as.
const TOKENS: [usize; 2] = [10, 20];

/// How a turn ends.
pub(super) enum Outcome {
    Completed,
    Interrupted,
    Failed(Value),
}

/// The token usage after this number of messages.
pub(super) fn usage(messages: usize) -> Value {
    let of = |times: usize| {
        let [input, output] = TOKENS.map(|tokens| tokens * times);
        json!({"totalTokens": input + output, "inputTokens": input, "cachedInputTokens": 0,
            "cacheWriteInputTokens": 0, "outputTokens": output, "reasoningOutputTokens": 0})
    };
    json!({"total": of(messages), "last": of(1), "modelContextWindow": 258_400})
}

impl Codex<'_> {
    /// Runs a turn.
    pub(super) fn answer(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        let name = params["threadId"].as_str().unwrap_or_default().to_owned();
        let turn = thread::unique();
        self.running = Some((name.clone(), turn.clone()));
        self.interrupt = None;
        if let Some(thread) = self.threads.get_mut(&name) {
            requests::set(thread, params);
        }
        let mut shown = json!({"id": turn, "rootTurnId": turn, "items": [], "itemsView": "notLoaded",
            "status": "inProgress", "error": null, "startedAt": null, "completedAt": null, "durationMs": null});
        self.reply(id, &json!({"turn": shown}))?;
        let begun = thread::milliseconds();
        shown["startedAt"] = (begun / 1000).into();
        let mut said = None;
        let outcome = match self.play(&shown, &params["input"], &mut said) {
            Ok(outcome) => outcome,
            Err(Halt::Interrupted) => Outcome::Interrupted,
            Err(halt) => return Err(halt),
        };
        if let Some(id) = self.interrupt.take() {
            self.reply(&id, &json!({}))?;
        }
        let (status, error) = match outcome {
            Outcome::Completed => ("completed", Value::Null),
            Outcome::Interrupted => ("interrupted", Value::Null),
            Outcome::Failed(error) => ("failed", error),
        };
        if status != "failed" {
            let idle = self.notification("thread/status/changed", json!({"status": {"type": "idle"}}));
            self.peer.say(&idle)?;
        }
        let finished = thread::milliseconds();
        if let Some(item) = said.filter(|_| status == "completed") {
            shown["items"] = json!([item]);
            shown["itemsView"] = "summary".into();
        }
        shown["status"] = status.into();
        shown["error"] = error;
        shown["completedAt"] = (finished / 1000).into();
        shown["durationMs"] = (finished - begun).into();
        let last = self.notification("turn/completed", json!({"turn": shown}));
        let delta = self.notification("item/agentMessage/delta", json!({"itemId": "msg_huge", "delta": ""}));
        self.peer.say_last(&last, |size| {
            let mut delta = delta.clone();
            delta["params"]["delta"] = "x".repeat(size).into();
            delta
        })?;
        if let Some(id) = self.unanswered.take() {
            let resolved = self.notification("serverRequest/resolved", json!({"requestId": id}));
            self.peer.say(&resolved)?;
        }
        self.running = None;
        Ok(())
    }

    fn play(&mut self, shown: &Value, input: &Value, said: &mut Option<Value>) -> Result<Outcome, Halt> {
        self.status(&json!({"type": "active", "activeFlags": []}))?;
        self.notify("turn/started", json!({"turn": shown}))?;
        if let Some(source) = self.thread().and_then(|thread| thread.source.take()) {
            let mut payload = self.hook_input(hooks::SESSION_START);
            payload["source"] = source.into();
            if let Some(fields) = payload.as_object_mut() {
                fields.remove("turn_id");
            }
            self.run_hooks(hooks::SESSION_START, None, &payload)?;
        }
        let mut payload = self.hook_input(hooks::USER_PROMPT_SUBMIT);
        payload["prompt"] = input[0]["text"].clone();
        if self.run_hooks(hooks::USER_PROMPT_SUBMIT, None, &payload)?.is_some() {
            return Ok(Outcome::Completed);
        }
        self.user(input)?;
        if let Some(error) = self.keyless()? {
            return Ok(Outcome::Failed(error));
        }
        let mut failures = 0;
        loop {
            let done = self.thread().map_or(0, |thread| thread.messages);
            let (content, end_delay) = match self.script {
                None => (vec![self.echo(input)], std::time::Duration::ZERO),
                Some(script) => {
                    let (delay, play) = script.after(done);
                    self.pass(delay)?;
                    match play {
                        Play::Content(content, end_delay, _) => (content.to_vec(), end_delay),
                        Play::Error(error) => {
                            failures += 1;
                            match self.fail(error, failures)? {
                                Some(error) => return Ok(Outcome::Failed(error)),
                                None => continue,
                            }
                        }
                    }
                }
            };
            failures = 0;
            if let Some(thread) = self.thread() {
                thread.messages += 1;
                let line = json!({"type": "message", "content": content});
                thread.keep(&line)?;
            }
            let (mut calls, mut halted) = (false, Ok(()));
            for (number, block) in content.iter().enumerate() {
                halted = match block["type"].as_str() {
                    Some("tool_use") => {
                        calls = true;
                        let (tool, input) =
                            native::codex(block["name"].as_str().unwrap_or_default(), &block["input"]);
                        self.call(&block["id"], &tool, &input)
                    }
                    Some("client") => {
                        calls = true;
                        self.ask(block["method"].as_str().unwrap_or_default(), block["params"].clone())
                            .and_then(|reply| {
                                self.text(&format!("msg_{done}_{number}"), &reply.to_string().into())
                            })
                            .map(drop)
                    }
                    Some("thinking") => self.thought(&format!("rs_{done}_{number}")),
                    _ => self
                        .text(&format!("msg_{done}_{number}"), &block["text"])
                        .map(|item| *said = Some(item)),
                };
                if halted.is_err() {
                    break;
                }
            }
            if let Err(halt) = halted {
                if matches!(halt, Halt::Interrupted) {
                    self.counted()?;
                }
                return Err(halt);
            }
            self.pass(end_delay)?;
            self.counted()?;
            let steered = std::mem::take(&mut self.steered);
            for input in &steered {
                self.user(input)?;
            }
            if !calls && steered.is_empty() {
                let mut payload = self.hook_input(hooks::STOP);
                payload["stop_hook_active"] = false.into();
                payload["last_assistant_message"] =
                    said.as_ref().map_or(Value::Null, |item| item["text"].clone());
                self.run_hooks(hooks::STOP, None, &payload)?;
                return Ok(Outcome::Completed);
            }
        }
    }

    /// The thread whose turn runs.
    pub(super) fn thread(&mut self) -> Option<&mut thread::Thread> {
        let (name, _) = self.running.as_ref()?;
        self.threads.get_mut(name)
    }

    /// The fields in the input of every hook.
    pub(super) fn hook_input(&mut self, event: hooks::EventName) -> Value {
        let turn = self.running.as_ref().map(|(_, turn)| turn.clone());
        let Some(thread) = self.thread() else { return json!({}) };
        let mode = if thread.approval == "never" { "bypassPermissions" } else { "default" };
        json!({"session_id": thread.id, "turn_id": turn, "transcript_path": thread.path, "cwd": thread.cwd,
            "hook_event_name": event.0, "model": thread.model, "permission_mode": mode})
    }

    /// Reports an item that has started or ended.
    pub(super) fn item(&mut self, event: &str, item: &Value) -> Result<(), Halt> {
        let now = thread::milliseconds();
        let mut item = item.clone();
        let ended = event == "completed";
        item["startedAtMs"] = now.into();
        item["completedAtMs"] = if ended { now.into() } else { Value::Null };
        let mut params = json!({"item": item});
        if ended {
            params["contentTokenCount"] = Value::Null;
            params["completedAtMs"] = now.into();
        } else {
            params["startedAtMs"] = now.into();
        }
        self.notify(&format!("item/{event}"), params)
    }

    fn user(&mut self, input: &Value) -> Result<(), Halt> {
        let mut content = input.clone();
        for block in content.as_array_mut().into_iter().flatten().filter(|block| block["type"] == "text") {
            block["text_elements"] = json!([]);
        }
        let item =
            json!({"type": "userMessage", "id": thread::unique(), "clientId": null, "content": content});
        self.item("started", &item)?;
        self.item("completed", &item)
    }

    fn text(&mut self, id: &str, text: &Value) -> Result<Value, Halt> {
        let mut item = json!({"type": "agentMessage", "moderation": null, "id": id, "text": "", "phase": null,
            "memoryCitation": null, "delivery": null, "questions": null});
        self.item("started", &item)?;
        self.notify("item/agentMessage/delta", json!({"itemId": id, "delta": text}))?;
        item["text"] = text.clone();
        self.item("completed", &item)?;
        let now = thread::milliseconds();
        item["startedAtMs"] = now.into();
        item["completedAtMs"] = now.into();
        Ok(item)
    }

    fn thought(&mut self, id: &str) -> Result<(), Halt> {
        let item = json!({"type": "reasoning", "id": id, "summary": [], "content": []});
        self.item("started", &item)?;
        self.item("completed", &item)
    }

    fn echo(&mut self, input: &Value) -> Value {
        let turn = self.thread().map_or(0, |thread| thread.messages) + 1;
        let text = input[0]["text"].as_str().unwrap_or_default();
        json!({"type": "text", "text": format!("turn {turn}: {text}")})
    }

    /// Reports tokens and limits after a message.
    fn counted(&mut self) -> Result<(), Halt> {
        let messages = self.thread().map_or(0, |thread| thread.messages);
        self.notify("thread/tokenUsage/updated", json!({"tokenUsage": usage(messages)}))?;
        self.limits(&Value::Null)
    }

    /// Reports the limits of the login, or else this one.
    pub(super) fn limits(&mut self, primary: &Value) -> Result<(), Halt> {
        let params = self.limits_of(primary);
        let message = json!({"method": "account/rateLimits/updated", "params": params,
            "emittedAtMs": thread::milliseconds()});
        self.line(&message)
    }

    /// The limits, as Codex reports them.
    pub(super) fn limits_of(&self, primary: &Value) -> Value {
        let login = self.instructions.limits.as_ref();
        let window = |name: &str| login.map_or(Value::Null, |login| login[name].clone());
        let primary = if primary.is_null() { window("primary") } else { primary.clone() };
        json!({"rateLimits": {"limitId": "codex", "limitName": null, "normalModelSlug": null,
            "primary": primary, "secondary": window("secondary"), "credits": null, "individualLimit": null,
            "spendControlReached": null, "planType": null, "rateLimitReachedType": null}})
    }
}
