//! A turn: the model's messages according to the script, until one without a call.
//!
//! Input: the prompt's request. Output: updates, and its response.

use std::time::Duration;

use fake_claude::native;
use serde_json::{Value, json};

use super::{Acp, session, updated};
use crate::rpc::Halt;
use crate::script::{ErrorTurn, Play};

/// How many tokens each message of fake-model counts as.
const TOKENS: [u64; 2] = [10, 20];
/// Delays before retries, in seconds.
const WAITS: [f64; 5] = [2.0, 4.0, 8.0, 16.0, 30.0];

/// How a turn ends.
pub(super) enum Outcome {
    Ended,
    Cancelled,
    /// With this message.
    Failed(String),
}

/// How the turn continues after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Model,
    /// The user has rejected the call.
    End,
}

/// The error if the model's API closes the connection.
const LOST: &str = "Cannot connect to API: The socket connection was closed unexpectedly. For more information, pass \
                    `verbose: true` in the second argument to fetch()";

impl Acp<'_> {
    /// Answers a prompt.
    pub(super) fn answer(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        let name = params["sessionId"].as_str().unwrap_or_default().to_owned();
        self.running = Some(name.clone());
        self.cancelled = false;
        let prompt = params["prompt"].as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<&str> = prompt.iter().filter_map(|block| block["text"].as_str()).collect();
        let text = texts.join("\n");
        self.keep_user(&text)?;
        let mut counted = false;
        let outcome = match self.play(&text, &mut counted) {
            Ok(outcome) => outcome,
            Err(Halt::Interrupted) => Outcome::Cancelled,
            Err(halt) => return Err(halt),
        };
        let [input, output] = if matches!(outcome, Outcome::Ended) && counted { TOKENS } else { [0, 0] };
        let usage = updated(&name, "usage_update", self.usage(input));
        self.peer.say(&usage)?;
        let counts = json!({"inputTokens": input, "outputTokens": output, "totalTokens": input + output});
        let result = |reason: &str| json!({"stopReason": reason, "usage": counts, "_meta": {}});
        let mut answer = json!({"jsonrpc": "2.0", "id": id});
        match outcome {
            Outcome::Ended => answer["result"] = result("end_turn"),
            Outcome::Cancelled => answer["result"] = result("cancelled"),
            Outcome::Failed(message) => {
                answer["error"] = json!({"code": -32603, "message": format!("Internal error: {message}"),
                    "data": {"service": "session", "errorName": "APIError"}});
            }
        }
        self.peer.say_last(&answer, |size| {
            let content = json!({"type": "text", "text": "x".repeat(size)});
            updated(&name, "agent_message_chunk", json!({"messageId": "msg_huge", "content": content}))
        })?;
        self.running = None;
        Ok(())
    }

    fn play(&mut self, prompt: &str, counted: &mut bool) -> Result<Outcome, Halt> {
        let mut failures = 0;
        loop {
            let done = self.session().map_or(0, |session| session.messages);
            let (content, end_delay) = match self.script {
                None => (echo(done, prompt), Duration::ZERO),
                Some(script) => {
                    let (delay, play) = script.after(done);
                    self.pass(delay)?;
                    match play {
                        Play::Content(content, end_delay, _) => (content.to_vec(), end_delay),
                        Play::Error(error) => match self.fail(error, failures)? {
                            Some(outcome) => return Ok(outcome),
                            None => {
                                failures += 1;
                                continue;
                            }
                        },
                    }
                }
            };
            failures = 0;
            if let Some(session) = self.session() {
                session.messages += 1;
            }
            let mut updates = Vec::new();
            let said = self.say(&content, &mut updates);
            let cancelled = matches!(said, Err(Halt::Interrupted));
            if let Some(session) = self.session() {
                session.paid += usize::from(!cancelled);
                session.keep(&json!({"role": "assistant", "updates": updates, "cancelled": cancelled}))?;
            }
            let (calls, ends) = said?;
            self.pass(end_delay)?;
            *counted = true;
            if !calls || ends && !self.config.continues() {
                return Ok(Outcome::Ended);
            }
        }
    }

    /// Sends a message and makes its calls. Returns whether there are any, and whether one ends the turn.
    fn say(&mut self, content: &[Value], updates: &mut Vec<Value>) -> Result<(bool, bool), Halt> {
        let message = session::unique("msg");
        let (mut calls, mut ends) = (false, false);
        for block in content {
            let said =
                |key: &str| json!({"messageId": message, "content": {"type": "text", "text": block[key]}});
            match block["type"].as_str() {
                Some("tool_use") => {
                    calls = true;
                    let name = block["name"].as_str().unwrap_or_default();
                    let (tool, input) = native::opencode(name, &block["input"]);
                    ends |= self.call(&block["id"], &tool, &input, updates)? == Next::End;
                }
                Some("client") => {
                    // The model continues after each, as after a call of its own.
                    calls = true;
                    let text = self.ask_client(block)?;
                    self.update(
                        "agent_message_chunk",
                        json!({"messageId": message, "content": {"type": "text", "text": text}}),
                    )?;
                }
                Some("thinking") => self.update("agent_thought_chunk", said("thinking"))?,
                _ => {
                    self.update("agent_message_chunk", said("text"))?;
                    let mut kept = said("text");
                    kept["sessionUpdate"] = "agent_message_chunk".into();
                    updates.push(kept);
                }
            }
        }
        Ok((calls, ends))
    }

    /// The session whose turn runs.
    pub(super) fn session(&mut self) -> Option<&mut session::Session> {
        self.sessions.get_mut(self.running.as_ref()?)
    }

    fn keep_user(&mut self, text: &str) -> Result<(), Halt> {
        let content = json!({"type": "text", "text": text});
        let update = json!({"sessionUpdate": "user_message_chunk", "messageId": session::unique("msg"),
            "content": content});
        if let Some(session) = self.session() {
            session.keep(&json!({"role": "user", "updates": [update]}))?;
        }
        Ok(())
    }

    /// The tokens in use, and what the session cost so far.
    fn usage(&mut self, used: u64) -> Value {
        let (messages, model) = match self.session() {
            Some(session) => (session.paid, session.model.clone()),
            None => (0, String::new()),
        };
        let settings = self.config.of_model(&model);
        let price = |key: &str| settings["cost"][key].as_f64().unwrap_or_default() / 1e6;
        let [input, output] = TOKENS.map(|tokens| f64::from(u32::try_from(tokens).unwrap_or_default()));
        let messages = f64::from(u32::try_from(messages).unwrap_or_default());
        let amount = messages * (input * price("input") + output * price("output"));
        let size = settings["limit"]["context"].as_u64().unwrap_or(200_000);
        json!({"used": used, "size": size, "cost": {"amount": amount, "currency": "USD"}})
    }

    /// Waits before a retry after so many failures. Returns how the turn ends if there is none.
    fn fail(&mut self, error: &ErrorTurn, failures: usize) -> Result<Option<Outcome>, Halt> {
        let retries = matches!(error.status, 0 | 429 | 500..);
        let wait = WAITS.get(failures).filter(|_| retries);
        let Some(wait) = wait else {
            let unnamed = if error.status == 0 { LOST } else { "request failed" };
            let message = error.error["message"].as_str().unwrap_or(unnamed);
            return Ok(Some(Outcome::Failed(message.to_owned())));
        };
        let named = error.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
        let wait = named.and_then(|(_, value)| value.parse().ok()).unwrap_or(*wait);
        match self.pass(Duration::from_secs_f64(wait * self.instructions.scale)) {
            // It reports the end of the turn.
            Err(Halt::Interrupted) => Ok(Some(Outcome::Ended)),
            passed => passed.map(|()| None),
        }
    }
}

fn echo(done: usize, prompt: &str) -> Vec<Value> {
    vec![json!({"type": "text", "text": format!("turn {}: {prompt}", done + 1)})]
}
