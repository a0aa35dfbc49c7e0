//! A client of Codex's app-server.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::scenario::Scenario;
use super::shape::text;
use super::talk::{Protocol, State};

/// The protocol.
#[derive(Debug, Default)]
pub(super) struct Codex {
    turns: usize,
}

impl Codex {
    fn turn(&mut self, state: &mut State) -> Option<Vec<Value>> {
        let prompt = state.prompts.pop_front()?;
        self.turns += 1;
        let params = json!({"threadId": state.conversation, "input": [{"type": "text", "text": prompt}]});
        Some(vec![json!({"id": format!("turn-{}", self.turns), "method": "turn/start", "params": params})])
    }

    fn answer(line: &Value, state: &mut State) -> Vec<Value> {
        if state.interrupt.take_if(|when| when == "question").is_some() {
            return vec![interrupt(state)];
        }
        let key = if line["method"] == "mcpServer/elicitation/request" { "action" } else { "decision" };
        let answer = state.answers.pop_front().unwrap_or_else(|| "accept".into());
        let mut reply = json!({"id": line["id"]});
        if answer.is_string() {
            reply["result"] = json!({key: answer});
        } else {
            for (name, value) in answer.as_object().into_iter().flatten() {
                reply[name] = value.clone();
            }
        }
        vec![reply]
    }
}

fn interrupt(state: &State) -> Value {
    let params = json!({"threadId": state.conversation, "turnId": state.turn});
    json!({"id": "interrupt", "method": "turn/interrupt", "params": params})
}

/// A hook, and the hash by which it is trusted.
fn hook(event: &str, command: &str) -> (String, String) {
    let mut name = String::new();
    for character in event.chars() {
        if character.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(character.to_ascii_lowercase());
    }
    let identity = json!({"event_name": name,
        "hooks": [{"async": false, "command": command, "timeout": 20, "type": "command"}]});
    let digest = Sha256::digest(identity.to_string().as_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let state = format!(
        "\"/<session-flags>/config.toml:{name}:0:0\"={{trusted_hash=\"sha256:{hash}\",enabled=true}}"
    );
    let value =
        format!("hooks.{event}=[{{hooks=[{{type=\"command\",command={},timeout=20}}]}}]", json!(command));
    (value, state)
}

impl Protocol for Codex {
    fn argv(&self, scenario: &Scenario, port: u16) -> Vec<String> {
        let mut values = vec![
            "model=\"gpt-5.5\"".to_owned(),
            "model_provider=\"fake\"".to_owned(),
            "model_providers.fake.name=\"fake\"".to_owned(),
            format!("model_providers.fake.base_url=\"http://127.0.0.1:{port}/v1\""),
            "model_providers.fake.env_key=\"OPENAI_API_KEY\"".to_owned(),
            "model_providers.fake.wire_api=\"responses\"".to_owned(),
            "features.unbounded_connection_retries=false".to_owned(),
        ];
        let hooks = scenario.hook.iter().map(|command| hook("PreToolUse", command));
        let hooks = hooks.chain(scenario.pulses.iter().map(|event| hook(event, "true")));
        let (hooks, states): (Vec<String>, Vec<String>) = hooks.unzip();
        if !hooks.is_empty() && scenario.trusted {
            values.push(format!("hooks.state={{{}}}", states.join(",")));
        }
        values.extend(hooks);
        let own = scenario.settings.as_array().map(Vec::as_slice).unwrap_or_default();
        values.extend(own.iter().filter_map(Value::as_str).map(str::to_owned));
        let mut argv = vec!["app-server".to_owned()];
        argv.extend(values.into_iter().flat_map(|value| ["-c".to_owned(), value]));
        argv
    }

    fn env(&self, scenario: &Scenario, _: u16) -> Vec<(&'static str, String)> {
        let key = scenario.login.then(|| ("OPENAI_API_KEY", "sk-scripted-key".to_owned()));
        key.into_iter().collect()
    }

    fn open(&mut self, _: &mut State) -> Vec<Value> {
        let client = json!({"name": "murmur", "title": "murmur", "version": "0.1.0"});
        vec![json!({"id": "initialize", "method": "initialize", "params": {"clientInfo": client}})]
    }

    fn receive(&mut self, line: &Value, state: &mut State) -> Option<Vec<Value>> {
        let method = line["method"].as_str().unwrap_or_default();
        match (method, line["id"].as_str()) {
            ("", Some("initialize")) => {
                let policy = if state.asks.is_null() { json!("never") } else { state.asks.clone() };
                let mut params =
                    json!({"cwd": state.cwd, "approvalPolicy": policy, "sandbox": "danger-full-access"});
                let mut method = "thread/start";
                if let Some(thread) = &state.resume {
                    method = "thread/resume";
                    params["threadId"] = thread.as_str().into();
                    params["excludeTurns"] = true.into();
                }
                let open = json!({"id": "thread", "method": method, "params": params});
                Some(vec![json!({"method": "initialized"}), open])
            }
            ("", Some("thread")) => {
                state.conversation = Some(line["result"]["thread"]["id"].as_str()?.to_owned());
                self.turn(state)
            }
            ("", Some(id)) if id.starts_with("turn-") => {
                state.turn = line["result"]["turn"]["id"].as_str().map(str::to_owned);
                Some(Vec::new())
            }
            ("item/started", _) if line["params"]["item"]["type"] == "commandExecution" => {
                let now = state.interrupt.take_if(|when| when == "command").is_some();
                Some(if now { vec![interrupt(state)] } else { Vec::new() })
            }
            ("turn/completed", _) => self.turn(state),
            (method, _) if !method.is_empty() && !line["id"].is_null() => Some(Self::answer(line, state)),
            _ => Some(Vec::new()),
        }
    }

    fn shape(&self, line: &Value) -> Option<String> {
        let (method, params) = (line["method"].as_str().unwrap_or_default(), &line["params"]);
        let item = &params["item"];
        let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let failure = |error: &Value| {
            // The rest is about the plan and the local time.
            if word(&error["message"]).starts_with("You’ve hit your usage limit.") {
                return format!("usage limit {}", error["codexErrorInfo"]);
            }
            format!(
                "{} {} {}",
                text(&error["message"]),
                error["codexErrorInfo"],
                text(&error["additionalDetails"])
            )
        };
        let shown = match method {
            "" if line["error"].is_object() => {
                format!(
                    "{} refused: {} {}",
                    word(&line["id"]),
                    line["error"]["code"],
                    text(&line["error"]["message"])
                )
            }
            // Before or after what starts the turn.
            "" if word(&line["id"]).starts_with("turn-") => return None,
            "" => {
                let result = &line["result"];
                format!("{}: {} {}", word(&line["id"]), result["approvalPolicy"], result["sandbox"]["type"])
            }
            // Depends on the machine or the clock.
            "configWarning" | "deprecationNotice" | "item/commandExecution/outputDelta" => return None,
            "remoteControl/status/changed" | "mcpServer/startupStatus/updated" => return None,
            // For a hook's timeout, before or after the turn starts.
            "warning" => return None,
            // Repeated after every message.
            "turn/diff/updated" => return None,
            // Before or after the approved item.
            "thread/status/changed" if params["status"] == json!({"type": "active", "activeFlags": []}) => {
                return None;
            }
            "thread/status/changed" => format!("{method} {}", params["status"]),
            "item/started" | "item/completed" => {
                let changes = item["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
                let changes: Vec<String> = changes
                    .iter()
                    .map(|change| format!("{} {} {}", change["path"], change["kind"]["type"], change["diff"]))
                    .collect();
                format!(
                    "{method} {} {} {} {} exit {} {} {} {}",
                    word(&item["type"]),
                    if item["type"] == "commandExecution" { item["id"].clone() } else { Value::Null },
                    word(&item["status"]),
                    text(&item["command"]),
                    item["exitCode"],
                    text(&item["aggregatedOutput"]),
                    text(&item["text"]),
                    changes.join(" "),
                )
            }
            "item/commandExecution/requestApproval" => format!(
                "{method} {} {} {} {}",
                params["itemId"], params["command"], params["reason"], params["availableDecisions"]
            ),
            "item/fileChange/requestApproval" => format!("{method} {}", params["itemId"]),
            "hook/started" | "hook/completed" => {
                let run = &params["run"];
                format!("{method} {} {} {} {}", run["eventName"], run["scope"], run["status"], run["entries"])
            }
            "error" => format!("error {} {}", params["willRetry"], failure(&params["error"])),
            "thread/tokenUsage/updated" => format!("{method} {}", params["tokenUsage"]["total"]),
            "turn/completed" => {
                let turn = &params["turn"];
                let said = turn["items"][0]["text"].clone();
                format!("{method} {} {} {}", turn["status"], failure(&turn["error"]), text(&said))
            }
            method => method.to_owned(),
        };
        Some(shown)
    }
}
