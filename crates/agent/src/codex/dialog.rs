//! What murmur writes to the app-server's stdin: the handshake, messages, interrupts, and answers to its requests.
//!
//! Without a sandbox Codex asks about every call, and gets the decision that the hook has recorded; no decision is a
//! denial. In a sandbox it asks about calls that would leave it, which murmur always declines: an approved call runs
//! without any sandbox (measured on 0.169.0), and the hook was not told that it would. `consent` handles what else it
//! asks a person.

use super::consent::Consents;
use super::environment::elsewhere;
use super::hello::hello;
use super::hooks;
use super::line::CodexMessage;
use super::mcp_call::McpCalls;
use super::thread::{
    ASK_ALWAYS, ASK_OUTSIDE_SANDBOX, CLEAN, HOOKS, INITIALIZE, INTERRUPT, LIMITS, THREAD, TURN, Thread,
};
use crate::client_call::ClientStep;
use crate::dialog::{CallDecision, Conversation, Dialog, Overruled};
use crate::event::MAX_LINE;
use crate::event::PermissionRequest;
use serde_json::{Value, json};
use sys::lines::{LineBuffer, LineRead};

/// How far the conversation is.
#[derive(Debug, Default)]
enum Stage {
    /// The handshake is under way.
    #[default]
    Opening,
    /// There is a thread.
    Ready {
        /// Its id.
        thread: String,
        /// The name of the sandbox that its calls run in, unless they run without one.
        sandbox: Option<String>,
    },
    /// There is none, or it is not usable; the next message retries.
    Failed,
}

/// The dialog with Codex's app-server.
#[derive(Debug)]
pub struct CodexDialog {
    conversation: Conversation,
    stage: Stage,
    /// Messages that wait for the thread.
    queued: Vec<String>,
    /// The id of the current turn, once it has started: Codex refuses an earlier interrupt.
    turn: Option<String>,
    /// Whether to interrupt the turn when it starts.
    is_interrupted: bool,
    output: LineBuffer,
    asked: Vec<Asked>,
    overruled: Vec<Overruled>,
    mcp_calls: McpCalls,
    consents: Consents,
}

/// A request for approval.
#[derive(Debug)]
struct Asked {
    /// Its id, as JSON.
    id: String,
    /// The call.
    item: String,
    /// Whether the answer has the form of an MCP elicitation.
    is_elicitation: bool,
}

impl CodexDialog {
    /// A dialog that begins or resumes `conversation`.
    #[must_use]
    pub fn new(conversation: Conversation) -> Self {
        Self {
            conversation,
            stage: Stage::Opening,
            queued: Vec::new(),
            turn: None,
            is_interrupted: false,
            output: LineBuffer::new(MAX_LINE),
            asked: Vec::new(),
            overruled: Vec::new(),
            mcp_calls: McpCalls::default(),
            consents: Consents::default(),
        }
    }

    /// Asks whether murmur's hooks will run. Codex says nothing if it skips them.
    fn ask_about_hooks(&self) -> Vec<u8> {
        request(HOOKS, "hooks/list", &json!({ "cwds": [self.conversation.cwd] }))
    }

    /// Gives up the messages that wait: their turn has ended with an error.
    fn fail(&mut self) {
        self.stage = Stage::Failed;
        self.queued.clear();
    }

    /// Begins or resumes the thread.
    fn begin(&self) -> Vec<u8> {
        let Conversation { cwd, model, resume, .. } = &self.conversation;
        // The user's configuration decides on the sandbox, and on the model if none is given. A folder named here would
        // become trusted, in the user's settings, if the sandbox may write; the process is in the right one anyway.
        let mut params = json!({ "approvalPolicy": ASK_ALWAYS, "approvalsReviewer": "user" });
        if let Some(model) = model {
            params["model"] = model.as_str().into();
        }
        match resume {
            None => request(THREAD, "thread/start", &params),
            Some(thread) => {
                params["threadId"] = thread.as_str().into();
                // Otherwise it stays in the folder where it began.
                params["cwd"] = json!(cwd);
                // The turns so far would be one long line.
                params["excludeTurns"] = true.into();
                request(THREAD, "thread/resume", &params)
            }
        }
    }

    fn start_turn(&mut self, text: &str) -> Vec<u8> {
        self.is_interrupted = false;
        let Stage::Ready { thread, sandbox } = &self.stage else { return Vec::new() };
        let policy = if sandbox.is_some() { ASK_OUTSIDE_SANDBOX } else { ASK_ALWAYS };
        let input = json!([{ "type": "text", "text": text }]);
        request(TURN, "turn/start", &json!({ "threadId": thread, "input": input, "approvalPolicy": policy }))
    }

    /// The next step for a response to one of murmur's requests.
    fn continue_from(&mut self, id: &str, line: &CodexMessage<'_>) -> Vec<u8> {
        match id {
            INITIALIZE if line.error.is_some() => self.fail(),
            INITIALIZE => {
                return [message(&json!({ "method": "initialized" })), self.ask_about_hooks()].concat();
            }
            HOOKS if !hooks::will_run(line) => self.fail(),
            HOOKS => return self.begin(),
            THREAD => match Thread::read(line).filter(|begun| begun.refusal().is_none()) {
                None => self.fail(),
                Some(begun) => {
                    let thread = begun.id().to_owned();
                    // A later message continues this thread, also if it has to be loaded again.
                    self.conversation.resume = Some(thread.clone());
                    self.stage = Stage::Ready { thread, sandbox: begun.sandbox() };
                    let queued = std::mem::take(&mut self.queued);
                    let turns = queued.iter().flat_map(|text| self.start_turn(text));
                    // Last, so that no turn waits for the answer. Without a ChatGPT login it is an error, which says
                    // nothing.
                    let limits = request(LIMITS, "account/rateLimits/read", &Value::Null);
                    return turns.chain(limits).collect();
                }
            },
            _ => {}
        }
        Vec::new()
    }

    /// What a notification calls for.
    fn notice(&mut self, method: &str, line: &CodexMessage<'_>) -> Vec<u8> {
        match method {
            "turn/started" => {
                let params: Value = line.params().unwrap_or_default();
                // Not the turn of a subagent's thread.
                let is_own = matches!(&self.stage, Stage::Ready { thread, .. } if params["threadId"] == thread.as_str());
                if is_own {
                    self.turn = params["turn"]["id"].as_str().map(str::to_owned);
                    return if self.is_interrupted { self.interrupt() } else { Vec::new() };
                }
            }
            "item/started" => self.mcp_calls.begin(line),
            "serverRequest/resolved" => {
                let params: Option<Value> = line.params();
                self.consents.withdraw(&params.unwrap_or_default()["requestId"].to_string());
            }
            "turn/completed" => {
                self.turn = None;
                self.mcp_calls.clear();
                self.consents.end_turn();
                let params: Option<Value> = line.params();
                let is_interrupted = params.is_some_and(|params| params["turn"]["status"] == "interrupted");
                // Commands that the turn started keep running in background terminals.
                if let (true, Stage::Ready { thread, .. }) = (is_interrupted, &self.stage) {
                    return request(
                        CLEAN,
                        "thread/backgroundTerminals/clean",
                        &json!({ "threadId": thread }),
                    );
                }
            }
            _ => {}
        }
        Vec::new()
    }

    /// Takes a request of the app-server. Returns the answer, unless it depends on the decision on a call.
    fn asks(&mut self, method: &str, id: &str, line: &CodexMessage<'_>) -> Vec<u8> {
        let params: Value = line.params().unwrap_or_default();
        let sandbox = match &self.stage {
            Stage::Ready { sandbox, .. } => sandbox.clone(),
            Stage::Opening | Stage::Failed => Some("unknown".to_owned()),
        };
        if let Some(answer) = self.consents.take(method, id, &params, sandbox.as_deref()) {
            return answer;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let is_elicitation = method == "mcpServer/elicitation/request";
        let elsewhere = elsewhere(&params["environmentId"]);
        let mut is_refused = (sandbox.is_some() || elsewhere.is_some()) && !is_elicitation;
        let asked = match method {
            "item/commandExecution/requestApproval" => (!is_refused).then(|| text(&params["itemId"])),
            "item/fileChange/requestApproval" => {
                is_refused |= params.get("grantRoot").is_some_and(|folder| !folder.is_null());
                (!is_refused).then(|| text(&params["itemId"]))
            }
            "mcpServer/elicitation/request" => {
                let call = self.mcp_calls.take(&params);
                if let (Some(call), Some(reason)) = (&call, &elsewhere) {
                    self.overruled.push(Overruled { tool_use_id: call.clone(), reason: reason.clone() });
                } else if call.is_none() {
                    self.consents.refuse_unknown(id, &params);
                }
                call.filter(|_| elsewhere.is_none())
            }
            _ => {
                let error = json!({ "code": -32601, "message": format!("murmur does not answer {method}") });
                return answer(id, "error", &error);
            }
        };
        if is_refused {
            let folder =
                || "Codex asked to write to a whole folder, not only to what the hook saw".to_owned();
            let reason = elsewhere.or_else(|| sandbox.as_deref().map(outside)).unwrap_or_else(folder);
            self.overruled.push(Overruled { tool_use_id: text(&params["itemId"]), reason });
        }
        match asked {
            Some(item) => {
                self.asked.push(Asked { id: id.to_owned(), item, is_elicitation });
                Vec::new()
            }
            None => decision(id, is_elicitation, false),
        }
    }

    fn take(&mut self, line: &str) -> Vec<u8> {
        let Some(line) = CodexMessage::read(line) else { return Vec::new() };
        match (line.method(), line.id) {
            (Some(method), Some(id)) => self.asks(&method, id.get(), &line),
            (Some(method), None) => self.notice(&method, &line),
            (None, _) => match line.own_id() {
                Some(id) => self.continue_from(&id, &line),
                None => Vec::new(),
            },
        }
    }
}

impl Dialog for CodexDialog {
    fn open(&mut self) -> Vec<u8> {
        hello()
    }

    fn read(&mut self, output: &[u8]) -> Vec<u8> {
        self.output.space().extend_from_slice(output);
        let mut replies = Vec::new();
        while let Some(found) = self.output.find() {
            if found == LineRead::Line {
                let line = String::from_utf8_lossy(self.output.line()).into_owned();
                replies.extend(self.take(&line));
            }
        }
        replies
    }

    fn has_begun(&self) -> bool {
        matches!(self.stage, Stage::Ready { .. })
    }

    fn send(&mut self, text: &str) -> Vec<u8> {
        match self.stage {
            Stage::Ready { .. } => self.start_turn(text),
            Stage::Opening => {
                self.queued.push(text.to_owned());
                Vec::new()
            }
            Stage::Failed => {
                self.queued.push(text.to_owned());
                self.stage = Stage::Opening;
                self.ask_about_hooks()
            }
        }
    }

    fn answer(&mut self, request: &PermissionRequest, decision: &CallDecision) -> Vec<u8> {
        self.consents.decided(&request.request_id, matches!(decision, CallDecision::Allow { .. }))
    }

    fn client_steps(&mut self) -> Vec<ClientStep> {
        self.consents.steps()
    }

    fn repeat_decisions(&mut self, is_allowed: &mut dyn FnMut(&str) -> bool) -> Vec<u8> {
        let asked = std::mem::take(&mut self.asked);
        asked
            .iter()
            .flat_map(|asked| decision(&asked.id, asked.is_elicitation, is_allowed(&asked.item)))
            .collect()
    }

    fn overruled(&mut self) -> Vec<Overruled> {
        std::mem::take(&mut self.overruled)
    }

    fn withdraw(&mut self) -> bool {
        self.queued.pop().is_some()
    }

    fn interrupt(&mut self) -> Vec<u8> {
        self.is_interrupted = self.turn.is_none();
        let (Stage::Ready { thread, .. }, Some(turn)) = (&self.stage, &self.turn) else { return Vec::new() };
        request(INTERRUPT, "turn/interrupt", &json!({ "threadId": thread, "turnId": turn }))
    }

    fn outlives_turn(&self) -> bool {
        true
    }

    fn is_decided_at_start(&self) -> bool {
        true
    }

    /// It never asks about tools of MCP servers that say they only read.
    fn asks_before(&self, call: &str) -> bool {
        matches!(self.stage, Stage::Ready { sandbox: None, .. }) && !call.starts_with("mcp__")
    }
}

/// Why a call is declined that would leave `sandbox`.
pub(super) fn outside(sandbox: &str) -> String {
    format!("Codex's sandbox ({sandbox}) does not allow it; set sandbox_mode in its config.toml")
}

/// The answer to a request for approval. `cancel` would end the turn.
pub(super) fn decision(id: &str, is_elicitation: bool, is_allowed: bool) -> Vec<u8> {
    let word = if is_allowed { "accept" } else { "decline" };
    let result = match (is_elicitation, is_allowed) {
        (true, true) => json!({ "action": word, "content": {} }),
        (true, false) => json!({ "action": word }),
        (false, _) => json!({ "decision": word }),
    };
    answer(id, "result", &result)
}

/// An answer to the request with this id, which is JSON.
pub(super) fn answer(id: &str, kind: &str, value: &Value) -> Vec<u8> {
    format!("{{\"id\":{id},\"{kind}\":{value}}}\n").into_bytes()
}

fn request(id: &str, method: &str, params: &Value) -> Vec<u8> {
    message(&json!({ "method": method, "id": id, "params": params }))
}

fn message(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}
