//! Answers the client's requests except prompts.
//!
//! Input: a request or notification. Output: its immediate response. Invalid input is ignored, as in OpenCode.

use serde_json::{Value, json};

use super::session::{self, Session};
use super::{Acp, updated};
use crate::faults::Fault;
use crate::rpc::Halt;

const NOT_FOUND: i32 = -32601;
const INVALID: i32 = -32602;
const INTERNAL: i32 = -32603;
const LOGIN: i32 = -32000;

impl Acp<'_> {
    /// Handles a request or notification.
    pub(super) fn hear(&mut self, message: &Value) -> Result<(), Halt> {
        let (id, params) = (&message["id"], &message["params"]);
        let method = message["method"].as_str().unwrap_or_default();
        match method {
            "session/cancel" => {
                let named = params["sessionId"].as_str();
                self.cancelled |= self.running.is_some() && self.running.as_deref() == named;
                Ok(())
            }
            _ if id.is_null() => Ok(()),
            "initialize" => self.initialize(id, params),
            "authenticate" => self.reply(id, &json!({})),
            "session/new" => self.start(id, params),
            "session/load" | "session/resume" => self.load(id, params, method == "session/load"),
            "session/prompt" => self.queue(id, params),
            "session/list" => self.list(id, params),
            "session/close" => {
                self.sessions.remove(params["sessionId"].as_str().unwrap_or_default());
                self.reply(id, &json!({}))
            }
            "session/set_mode" => self.mode(id, params),
            "session/set_config_option" => self.configure(id, params),
            _ => {
                let text = format!("\"Method not found\": {method}");
                self.refuse(id, NOT_FOUND, &text, &json!({"method": method}))
            }
        }
    }

    fn initialize(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        if !params["protocolVersion"].is_number() {
            let expected = "Invalid input: expected number, received string";
            let data = json!({"_errors": [], "protocolVersion": {"_errors": [expected]}});
            return self.refuse(id, INVALID, "Invalid params", &data);
        }
        self.client = params["clientCapabilities"].clone();
        let version = self.version.clone();
        self.reply(
            id,
            &json!({"protocolVersion": 1,
            "agentCapabilities": {"loadSession": true, "mcpCapabilities": {"http": true, "sse": true},
                "promptCapabilities": {"embeddedContext": true, "image": true},
                "sessionCapabilities": {"close": {}, "fork": {}, "list": {}, "resume": {}}},
            "authMethods": [{"description": "Run `opencode auth login` in the terminal",
                "name": "Login with opencode", "id": "opencode-login"}],
            "agentInfo": {"name": "OpenCode", "version": version}}),
        )
    }

    /// Whether a session request is refused because of a missing login, as by some agents.
    fn locked(&mut self, id: &Value) -> Result<bool, Halt> {
        let locked = self.instructions.faults.has(Fault::NotLoggedIn);
        if locked {
            self.refuse(id, LOGIN, "Authentication required", &Value::Null)?;
        }
        Ok(locked)
    }

    fn start(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        let Some(cwd) = params["cwd"].as_str() else {
            let missing = |kind: &str| json!({"_errors": [format!("Invalid input: expected {kind}, received undefined")]});
            let data = json!({"_errors": [], "cwd": missing("string"), "mcpServers": missing("array")});
            return self.refuse(id, INVALID, "Invalid params", &data);
        };
        if self.locked(id)? {
            return Ok(());
        }
        let name = session::unique("ses");
        let session = Session {
            path: session::place(&self.home, &name),
            cwd: cwd.to_owned(),
            model: self.config.model().to_owned(),
            mode: "build".into(),
            messages: 0,
            paid: 0,
            allowed: Vec::new(),
        };
        session.keep(&json!({"cwd": session.cwd, "model": session.model}))?;
        self.reply(id, &json!({"sessionId": name, "configOptions": session.options()}))?;
        self.sessions.insert(name.clone(), session);
        self.commands(&name)
    }

    fn load(&mut self, id: &Value, params: &Value, replays: bool) -> Result<(), Halt> {
        let name = params["sessionId"].as_str().unwrap_or_default();
        let path = session::place(&self.home, name);
        let Some(lines) = Session::read(&path).filter(|_| !name.is_empty()) else {
            let data = json!({"service": "session"});
            return self.refuse(id, INTERNAL, "Internal error: OpenCode service failure", &data);
        };
        if self.locked(id)? {
            return Ok(());
        }
        let meta = lines.first().cloned().unwrap_or_default();
        let word = |key: &str| meta[key].as_str().unwrap_or_default().to_owned();
        let said = lines.iter().filter(|line| line["role"] == "assistant");
        let session = Session {
            path,
            cwd: params["cwd"].as_str().map_or_else(|| word("cwd"), str::to_owned),
            model: word("model"),
            mode: "build".into(),
            messages: said.clone().count(),
            paid: said.filter(|line| line["cancelled"] != true).count(),
            allowed: Vec::new(),
        };
        for update in lines.iter().flat_map(|line| line["updates"].as_array()).flatten().filter(|_| replays) {
            let kind = update["sessionUpdate"].as_str().unwrap_or_default();
            self.peer.say(&updated(name, kind, update.clone()))?;
        }
        self.reply(id, &json!({"configOptions": session.options()}))?;
        self.sessions.insert(name.to_owned(), session);
        self.commands(name)
    }

    fn commands(&mut self, name: &str) -> Result<(), Halt> {
        let commands = json!([{"name": "init", "description": "guided AGENTS.md setup"}]);
        self.peer.say(&updated(name, "available_commands_update", json!({"availableCommands": commands})))
    }

    fn queue(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        let name = params["sessionId"].as_str().unwrap_or_default();
        if !self.sessions.contains_key(name) {
            let text = format!("Invalid params: session not found: {name}");
            return self.refuse(id, INVALID, &text, &json!({"sessionId": name}));
        }
        self.queued.push_back((id.clone(), params.clone()));
        Ok(())
    }

    fn list(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        let cwd = params["cwd"].as_str();
        let shown = |(name, session): (&String, &Session)| json!({"sessionId": name, "cwd": session.cwd, "title": "ok", "updatedAt": "2026-01-01T00:00:00.000Z"});
        let fits = self.sessions.iter().filter(|(_, session)| cwd.is_none_or(|cwd| session.cwd == cwd));
        let sessions: Vec<Value> = fits.map(shown).collect();
        self.reply(id, &json!({"sessions": sessions}))
    }

    fn mode(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        let mode = params["modeId"].as_str().unwrap_or_default();
        // Under the names of other agents it has every mode.
        if crate::name() == "opencode" && !matches!(mode, "build" | "plan") {
            let text = format!("Invalid params: mode not found: {mode}");
            return self.refuse(id, INVALID, &text, &json!({"mode": mode}));
        }
        if let Some(session) = self.sessions.get_mut(params["sessionId"].as_str().unwrap_or_default()) {
            session.mode = mode.to_owned();
        }
        self.reply(id, &json!({}))
    }

    fn configure(&mut self, id: &Value, params: &Value) -> Result<(), Halt> {
        let option = params["configId"].as_str().unwrap_or_default();
        let value = params["value"].as_str().unwrap_or_default().to_owned();
        let found = self.sessions.get_mut(params["sessionId"].as_str().unwrap_or_default());
        let options = match (option, found) {
            ("model", Some(session)) => {
                session.model = value;
                session.options()
            }
            ("mode", Some(session)) => {
                session.mode = value;
                session.options()
            }
            _ => {
                let text = format!("Invalid params: unknown config option: {option}");
                return self.refuse(id, INVALID, &text, &json!({"configId": option}));
            }
        };
        self.reply(id, &json!({"configOptions": options}))
    }
}
