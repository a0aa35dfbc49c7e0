//! Answers the client's requests except turns.
//!
//! Input: a request or notification. Output: its answer, at once, and what follows from it.

use serde_json::{Value, json};

use super::thread::{self, Thread};
use super::{Codex, hooks};
use crate::rpc::Halt;

const INVALID: i32 = -32600;

impl Codex<'_> {
    /// Handles a request or notification.
    pub(super) fn hear(&mut self, message: &Value) -> Result<(), Halt> {
        let (id, params) = (&message["id"], &message["params"]);
        let method = message["method"].as_str().unwrap_or_default();
        if self.client.is_null() && method != "initialize" {
            return if id.is_null() { Ok(()) } else { self.refuse(id, INVALID, "Not initialized") };
        }
        match method {
            "initialize" => self.initialize(id, params),
            "initialized" => {
                let params = json!({"status": "disabled", "serverName": "fake", "installationId": thread::unique(),
                    "environmentId": null});
                let message = self.notification("remoteControl/status/changed", params);
                self.peer.say(&message)
            }
            "thread/start" => self.start(id, params),
            "thread/resume" => self.resume(id, params),
            "turn/start" => self.queue(id, params),
            "turn/interrupt" => self.interrupt(id, params),
            "turn/steer" => self.steer(id, params),
            "hooks/list" => {
                let listed: Vec<Value> = hooks::all(&self.config).iter().map(hooks::Hook::listed).collect();
                let cwd =
                    params["cwds"][0].as_str().map_or_else(|| self.cwd.display().to_string(), str::to_owned);
                self.reply(
                    id,
                    &json!({"data": [{"cwd": cwd, "hooks": listed, "warnings": [], "errors": []}]}),
                )
            }
            "account/read" => {
                let needs = self.config.provider("env_key").is_null();
                self.reply(id, &json!({"account": null, "userId": null, "requiresOpenaiAuth": needs}))
            }
            "account/rateLimits/read" if self.instructions.limits.is_some() => {
                let limits = self.limits_of(&Value::Null);
                self.reply(id, &limits)
            }
            "account/rateLimits/read" | "account/usage/read" => {
                self.refuse(id, INVALID, "codex account authentication required to read rate limits")
            }
            "thread/backgroundTerminals/list" => self.reply(id, &json!({"data": [], "nextCursor": null})),
            "thread/backgroundTerminals/clean" | "thread/unsubscribe" | "thread/archive" => {
                self.reply(id, &json!({}))
            }
            _ if id.is_null() => Ok(()),
            _ => self.refuse(id, INVALID, &format!("Invalid request: unknown variant `{method}`")),
        }
    }

    fn initialize(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        if !self.client.is_null() {
            return self.refuse(id, INVALID, "Already initialized");
        }
        let info = &params["clientInfo"];
        let word = |key: &str| info[key].as_str().unwrap_or_default().to_owned();
        let (name, version) = (word("name"), word("version"));
        self.client = if info.is_object() { info.clone() } else { json!({}) };
        let agent = format!("{name}/{} (Debian 12.0.0; x86_64) dumb ({name}; {version})", self.version);
        self.reply(
            id,
            &json!({"userAgent": agent, "codexHome": self.home, "platformFamily": "unix",
            "platformOs": "linux"}),
        )
    }

    fn start(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        self.config.add(&params["config"]);
        let thread = thread::unique();
        let path = format!("sessions/2026/01/01/rollout-2026-01-01T00-00-00-{thread}.jsonl");
        let cwd = params["cwd"].as_str().map_or_else(|| self.cwd.display().to_string(), str::to_owned);
        let mut thread = Thread {
            path: self.home.join(path),
            id: thread,
            cwd,
            model: self.config.model().to_owned(),
            approval: "on-request".into(),
            sandbox: Thread::sandbox_of("read-only"),
            ephemeral: params["ephemeral"] == true,
            messages: 0,
            source: Some("startup"),
            approved: false,
        };
        set(&mut thread, params);
        thread.keep(&json!({"type": "session_meta", "cwd": thread.cwd, "model": thread.model,
            "approval": thread.approval, "sandbox": thread.sandbox}))?;
        self.open(id, thread, true)
    }

    fn resume(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        self.config.add(&params["config"]);
        let name = params["threadId"].as_str().unwrap_or_default();
        let Some(path) = thread::find(&self.home, name) else {
            return self.refuse(id, INVALID, &format!("no rollout found for thread id {name}"));
        };
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let meta = lines.first().cloned().unwrap_or_default();
        let mut thread = Thread {
            id: name.to_owned(),
            path,
            cwd: meta["cwd"].as_str().unwrap_or_default().to_owned(),
            model: meta["model"].as_str().unwrap_or_default().to_owned(),
            approval: meta["approval"].clone(),
            sandbox: meta["sandbox"].clone(),
            ephemeral: false,
            messages: lines.iter().filter(|line| line["type"] == "message").count(),
            source: Some("resume"),
            approved: false,
        };
        set(&mut thread, params);
        self.open(id, thread, false)
    }

    fn open(&mut self, id: &Value, thread: Thread, is_new: bool) -> Result<(), Halt> {
        let provider = self.config.text(&["model_provider"]).unwrap_or("openai").to_owned();
        let originator = self.client["name"].as_str().unwrap_or_default().to_owned();
        let say = |codex: &mut Self, method: &str, params: Value| {
            let message = codex.notification(method, params);
            codex.peer.say(&message)
        };
        if !is_new {
            say(self, "thread/status/changed", json!({"threadId": thread.id, "status": {"type": "idle"}}))?;
        }
        self.reply(id, &thread.opened(&self.version, &provider, &originator))?;
        if is_new {
            let shown = thread.shown(&self.version, &provider, &originator);
            say(self, "thread/started", json!({"thread": shown}))?;
            for message in hooks::warnings(&self.config) {
                say(self, "warning", json!({"threadId": thread.id, "message": message}))?;
            }
        } else {
            if thread.messages > 0 {
                let usage = super::turn::usage(thread.messages);
                let usage = json!({"threadId": thread.id, "turnId": thread::unique(), "tokenUsage": usage});
                say(self, "thread/tokenUsage/updated", usage)?;
            }
            say(self, "thread/goal/cleared", json!({"threadId": thread.id}))?;
        }
        self.threads.insert(thread.id.clone(), thread);
        Ok(())
    }

    fn queue(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        let thread = params["threadId"].as_str().unwrap_or_default();
        if !self.threads.contains_key(thread) {
            return self.refuse(id, INVALID, &format!("thread not found: {thread}"));
        }
        self.queued.push_back((id.clone(), params.clone()));
        Ok(())
    }

    fn interrupt(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        let turn = params["turnId"].as_str().unwrap_or_default();
        if self.running.as_ref().is_some_and(|(_, running)| running == turn) {
            self.interrupt = Some(id.clone());
            return Ok(());
        }
        self.refuse(id, INVALID, "no active turn to interrupt")
    }

    fn steer(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        let turn = params["expectedTurnId"].as_str().unwrap_or_default().to_owned();
        if self.running.as_ref().is_none_or(|(_, running)| *running != turn) {
            return self.refuse(id, INVALID, "no active turn to steer");
        }
        self.steered.push(params["input"].clone());
        self.reply(id, &json!({"turnId": turn}))
    }
}

/// Applies the parameters of a thread or turn.
pub(super) fn set(thread: &mut Thread, params: &Value) {
    if params["approvalPolicy"].is_string() {
        thread.approval = params["approvalPolicy"].clone();
    }
    if let Some(sandbox) = params["sandbox"].as_str() {
        thread.sandbox = Thread::sandbox_of(sandbox);
    }
    if params["sandboxPolicy"].is_object() {
        thread.sandbox = params["sandboxPolicy"].clone();
    }
    for (key, field) in [("model", &mut thread.model), ("cwd", &mut thread.cwd)] {
        if let Some(text) = params[key].as_str() {
            *field = text.to_owned();
        }
    }
}
