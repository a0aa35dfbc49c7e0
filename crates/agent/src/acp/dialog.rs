//! The dialog with an agent: handshake, prompts, and answers to its requests.
//!
//! After `initialize`, the conversation is begun or resumed, the mode and the model are set, and then prompts are sent
//! one at a time. `client` handles the calls that the agent is offered to delegate; otherwise it makes them itself.

use super::call::{Call, Fields};
use super::client::Client;
use super::handshake::{hello, version};
use super::line;
use super::message::{Message, RequestTag, encode, object, text_at};
use super::outcome::{VERSION, is_in_mode, model, option};
use super::program::Program;
use crate::client_call::{ClientError, ClientReply, ClientStep};
use crate::dialog::{CallDecision, Conversation, Dialog, Overruled};
use crate::event::MAX_LINE;
use crate::event::PermissionRequest;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use sys::lines::{LineBuffer, LineRead};

/// JSON-RPC's code for a method that the receiver doesn't have.
const NO_METHOD: i64 = -32601;

/// How many calls without a result to remember; one is dropped for a new one.
const MAX_CALLS: usize = 256;

/// How many requests may wait for an answer; further ones are denied.
const MAX_ASKED: usize = 256;

/// The dialog with an ACP agent.
#[derive(Debug)]
pub struct AcpDialog {
    pub(super) program: Program,
    conversation: Conversation,
    state: State,
    /// Messages that wait for the handshake or the current turn.
    messages: VecDeque<String>,
    /// The number of prompts so far.
    prompts: u64,
    /// The agent's requests without an answer, by id.
    pub(super) asked: BTreeMap<String, Asked>,
    /// What the agent has said about calls without a result, by id.
    pub(super) calls: BTreeMap<String, Fields>,
    /// Calls that could not be allowed, and why.
    overruled: Vec<Overruled>,
    client: Client,
    lines: LineBuffer,
}

#[derive(Debug, PartialEq)]
enum State {
    /// Not opened, or the handshake failed.
    Closed,
    /// Waits for the response to `initialize`.
    Initializing,
    /// Waits for the conversation.
    Opening,
    /// Waits for the response to one request; the others follow.
    SettingUp { session: String, next: VecDeque<(RequestTag, &'static str, Value)> },
    /// Waits for messages.
    Idle { session: String },
    /// Waits for the response to the prompt with this number.
    Busy { session: String, prompt: u64 },
}

/// A request for permission.
#[derive(Debug)]
pub(super) struct Asked {
    /// Its id, as the agent wrote it.
    id: Value,
    call: Fields,
    options: Vec<Value>,
}

impl AcpDialog {
    /// A dialog that begins or resumes `conversation` with the program called `name`.
    #[must_use]
    pub fn new(name: &str, conversation: Conversation) -> Self {
        Self {
            program: Program::named(name),
            client: Client::new(conversation.offers),
            conversation,
            state: State::Closed,
            messages: VecDeque::new(),
            prompts: 0,
            asked: BTreeMap::new(),
            calls: BTreeMap::new(),
            overruled: Vec::new(),
            lines: LineBuffer::new(MAX_LINE),
        }
    }

    fn take(&mut self, message: Message) -> Vec<u8> {
        match message {
            Message::Response(own, response) => self.responded(&own, response),
            Message::Request { id, method, params } if method == "session/request_permission" => {
                self.ask(id, params)
            }
            Message::Request { id, method, params } => {
                if let Some(reply) = self.client.take(&id, &method, &params) {
                    return reply;
                }
                let message = format!("murmur has no {method}");
                encode(
                    &json!({ "jsonrpc": "2.0", "id": id, "error": { "code": NO_METHOD, "message": message } }),
                )
            }
            Message::Notification { method, params } if method == "$/cancel_request" => {
                let id = params.get("requestId").unwrap_or(&Value::Null).to_string();
                self.asked.remove(&id);
                self.client.withdraw(&id);
                Vec::new()
            }
            Message::Update(update) => {
                self.update(update);
                Vec::new()
            }
            Message::Notification { .. } | Message::UnknownResponse | Message::Other => Vec::new(),
        }
    }

    /// Takes the next step after a response. Responses that nobody waits for change nothing.
    fn responded(&mut self, own: &RequestTag, response: Result<Value, Value>) -> Vec<u8> {
        match (own, &mut self.state, response) {
            (RequestTag::Prompt { number, .. }, State::Busy { session, prompt }, _) if number == prompt => {
                self.state = State::Idle { session: std::mem::take(session) };
                self.asked.clear();
                self.calls.clear();
                let mut replies = self.client.interrupt();
                replies.extend(self.next_prompt());
                replies
            }
            (RequestTag::Initialize, State::Initializing, Ok(result))
                if result.get("protocolVersion").and_then(Value::as_u64) == Some(VERSION) =>
            {
                self.state = State::Opening;
                self.session_request(&result)
            }
            (RequestTag::Session { .. } | RequestTag::Load { .. }, State::Opening, Ok(result)) => {
                let resumed = self.conversation.resume.clone().unwrap_or_default();
                let id = text_at(Some(&result), &["sessionId"]);
                let id = if id.is_empty() { &resumed } else { id };
                if id.is_empty() {
                    return self.fail();
                }
                let mut next = self.settings(id, &result);
                if let RequestTag::Load { version, session } = own {
                    let (version, session) = (version.clone(), session.clone());
                    let params = json!({ "sessionId": id, "modeId": self.program.mode });
                    next.push_back((RequestTag::Loaded { version, session }, "session/set_mode", params));
                }
                self.state = State::SettingUp { session: id.to_owned(), next };
                self.next_setting()
            }
            (own, State::SettingUp { .. }, Ok(_)) if own.is_setting() => self.next_setting(),
            (RequestTag::Initialize, State::Initializing, _)
            | (RequestTag::Session { .. } | RequestTag::Load { .. }, State::Opening, _) => self.fail(),
            (own, State::SettingUp { .. }, _) if own.is_setting() => self.fail(),
            _ => Vec::new(),
        }
    }

    /// Gives up the handshake. The turn that the messages were for has ended with an error.
    fn fail(&mut self) -> Vec<u8> {
        self.state = State::Closed;
        self.messages.clear();
        Vec::new()
    }

    fn session_request(&self, initialized: &Value) -> Vec<u8> {
        let mut params = json!({ "cwd": self.conversation.cwd, "mcpServers": [] });
        if let Some(meta) = self.program.session_meta(self.conversation.hides_claude_files) {
            params["_meta"] = meta;
        }
        let (version, resumed) = (version(initialized), self.conversation.resume.clone());
        let method = match &resumed {
            None => "session/new",
            Some(session) => {
                params["sessionId"] = session.as_str().into();
                let offered = initialized.get("agentCapabilities");
                let can_resume =
                    offered.and_then(|offered| offered.get("sessionCapabilities")?.get("resume"));
                let can_load =
                    offered.and_then(|offered| offered.get("loadSession")?.as_bool()) == Some(true);
                // An agent that can do neither says so in its response.
                let loads = can_load && can_resume.is_none_or(Value::is_null);
                if loads && self.program.repeats_late {
                    let session = session.clone();
                    return RequestTag::Load { version, session }.request("session/load", &params);
                }
                if loads { "session/load" } else { "session/resume" }
            }
        };
        RequestTag::Session { version, resumed }.request(method, &params)
    }

    /// What to set in a conversation that the agent has described as `begun`.
    fn settings(&self, session: &str, begun: &Value) -> VecDeque<(RequestTag, &'static str, Value)> {
        let mut settings = VecDeque::new();
        if let Some(mode) = self.program.mode.filter(|mode| !is_in_mode(begun, mode)) {
            let params = json!({ "sessionId": session, "modeId": mode });
            settings.push_back((RequestTag::Mode(mode.to_owned()), "session/set_mode", params));
        }
        if let Some(wanted) = self.conversation.model.as_deref().filter(|wanted| model(begun) != *wanted) {
            let own = RequestTag::Model(wanted.to_owned());
            let option = option(begun, "model").map(|option| text_at(Some(option), &["id"]));
            settings.push_back(match option {
                Some(option) => {
                    let params = json!({ "sessionId": session, "configId": option, "value": wanted });
                    (own, "session/set_config_option", params)
                }
                None => (own, "session/set_model", json!({ "sessionId": session, "modelId": wanted })),
            });
        }
        settings
    }

    fn next_setting(&mut self) -> Vec<u8> {
        let State::SettingUp { session, next } = &mut self.state else { return Vec::new() };
        match next.pop_front() {
            Some((own, method, params)) => own.request(method, &params),
            None => {
                self.state = State::Idle { session: std::mem::take(session) };
                // Calls of a loaded conversation have ended.
                self.calls.clear();
                self.next_prompt()
            }
        }
    }

    fn next_prompt(&mut self) -> Vec<u8> {
        let State::Idle { session } = &self.state else { return Vec::new() };
        let Some(text) = self.messages.pop_front() else { return Vec::new() };
        self.prompts += 1;
        let own = RequestTag::Prompt { number: self.prompts, is_counted: self.program.is_counted };
        let text = self.program.message(text);
        let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        self.state = State::Busy { session: session.clone(), prompt: self.prompts };
        own.request("session/prompt", &params)
    }

    /// Remembers a request for permission, which is answered later.
    fn ask(&mut self, id: Value, mut params: Fields) -> Vec<u8> {
        let options = match params.remove("options") {
            Some(Value::Array(options)) => options,
            _ => Vec::new(),
        };
        let asked = Asked { call: object(params.remove("toolCall")), options, id };
        if self.asked.len() >= MAX_ASKED {
            return asked.reject();
        }
        self.asked.insert(asked.id.to_string(), asked);
        Vec::new()
    }

    /// Remembers what an update says about a call, until it is over.
    fn update(&mut self, mut update: Fields) {
        if !["tool_call", "tool_call_update"].contains(&text_at(update.get("sessionUpdate"), &[])) {
            return;
        }
        let id = text_at(update.get("toolCallId"), &[]).to_owned();
        if ["completed", "failed"].contains(&text_at(update.get("status"), &[])) {
            self.calls.remove(&id);
            return;
        }
        if !self.calls.contains_key(&id) && self.calls.len() >= MAX_CALLS {
            self.calls.pop_first();
        }
        let known = self.calls.entry(id).or_default();
        for key in ["toolCallId", "name", "title", "kind", "_meta"] {
            // The first title is the tool's; later ones describe the call, and a model may have written them.
            if let Some(value) = update.remove(key).filter(|_| !known.contains_key(key)) {
                known.insert(key.to_owned(), value);
            }
        }
        for key in ["rawInput", "locations", "content"] {
            let is_empty = |value: &Value| match value {
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => fields.is_empty(),
                _ => true,
            };
            if let Some(value) = update.remove(key).filter(|value| !is_empty(value)) {
                known.insert(key.to_owned(), value);
            }
        }
    }
}

impl Dialog for AcpDialog {
    fn open(&mut self) -> Vec<u8> {
        self.state = State::Initializing;
        hello(self.conversation.offers)
    }

    fn read(&mut self, output: &[u8]) -> Vec<u8> {
        self.lines.space().extend_from_slice(output);
        let mut replies = Vec::new();
        while let Some(found) = self.lines.find() {
            let message = (found == LineRead::Line).then(|| Message::read(self.lines.line())).flatten();
            replies.extend(message.map(|message| self.take(message)).unwrap_or_default());
        }
        replies
    }

    fn has_begun(&self) -> bool {
        matches!(self.state, State::Idle { .. } | State::Busy { .. })
    }

    fn send(&mut self, text: &str) -> Vec<u8> {
        self.messages.push_back(text.to_owned());
        match self.state {
            State::Closed => self.open(),
            _ => self.next_prompt(),
        }
    }

    fn complete(&self, request: &mut PermissionRequest) -> bool {
        let Some(asked) = self.asked.get(&request.request_id) else { return true };
        let Some(known) = self.calls.get(&request.tool_use_id) else { return true };
        *request = line::request(&asked.id, &[&asked.call, known]);
        Call::read(&[known]).is_shown
    }

    fn answer(&mut self, request: &PermissionRequest, decision: &CallDecision) -> Vec<u8> {
        let Some(asked) = self.asked.remove(&request.request_id) else {
            return self.client.decided(request, decision).unwrap_or_default();
        };
        let why = match decision {
            CallDecision::Deny { .. } => return asked.reject(),
            CallDecision::Allow { input: Some(input) } if *input != request.input => {
                "the agent cannot run the call with another input"
            }
            // `allow_always` would also allow later calls.
            CallDecision::Allow { .. } => match asked.select("allow_once") {
                Some(allowed) => return allowed,
                None => "the agent cannot be told to allow this call only (it offers no allow_once)",
            },
        };
        let (tool_use_id, reason) = (request.tool_use_id.clone(), why.to_owned());
        self.overruled.push(Overruled { tool_use_id, reason });
        asked.reject()
    }

    fn overruled(&mut self) -> Vec<Overruled> {
        std::mem::take(&mut self.overruled)
    }

    fn withdraw(&mut self) -> bool {
        !self.has_begun() && self.messages.pop_back().is_some()
    }

    fn interrupt(&mut self) -> Vec<u8> {
        let State::Busy { session, .. } = &self.state else { return Vec::new() };
        let params = json!({ "sessionId": session });
        let mut bytes = encode(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
        // Some agents wait for these answers before they cancel.
        for (_, asked) in std::mem::take(&mut self.asked) {
            bytes.extend(asked.cancelled());
        }
        bytes.extend(self.client.interrupt());
        bytes
    }

    fn client_steps(&mut self) -> Vec<ClientStep> {
        self.client.steps()
    }

    fn reply(&mut self, request: &str, result: Result<ClientReply, ClientError>) -> Vec<u8> {
        self.client.reply(request, result)
    }

    fn outlives_turn(&self) -> bool {
        true
    }
}

impl Asked {
    /// The answer with the option of this kind, if the agent offers it.
    fn select(&self, kind: &str) -> Option<Vec<u8>> {
        let option = self.options.iter().find(|option| text_at(Some(option), &["kind"]) == kind);
        let option = option.and_then(|option| option.get("optionId"))?;
        Some(self.outcome(&json!({ "outcome": "selected", "optionId": option })))
    }

    /// The answer that denies the call. Without an option for that, the request is canceled, which denies it, too.
    fn reject(&self) -> Vec<u8> {
        let rejected = self.select("reject_once").or_else(|| self.select("reject_always"));
        rejected.unwrap_or_else(|| self.cancelled())
    }

    fn cancelled(&self) -> Vec<u8> {
        self.outcome(&json!({ "outcome": "cancelled" }))
    }

    fn outcome(&self, outcome: &Value) -> Vec<u8> {
        encode(&json!({ "jsonrpc": "2.0", "id": self.id, "result": { "outcome": outcome } }))
    }
}
