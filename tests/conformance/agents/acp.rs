//! A client of an agent that uses the Agent Client Protocol: OpenCode.

use serde_json::{Value, json};

use super::scenario::Scenario;
use super::shape::text;
use super::talk::{Protocol, State};

/// The protocol.
#[derive(Debug, Default)]
pub(super) struct Acp {
    prompts: usize,
}

impl Acp {
    fn prompt(&mut self, state: &mut State) -> Option<Vec<Value>> {
        let prompt = state.prompts.pop_front()?;
        self.prompts += 1;
        let params = json!({"sessionId": state.conversation, "prompt": [{"type": "text", "text": prompt}]});
        Some(vec![request(&format!("prompt-{}", self.prompts), "session/prompt", &params)])
    }

    fn answer(line: &Value, state: &mut State) -> Vec<Value> {
        let mut reply = json!({"jsonrpc": "2.0", "id": line["id"]});
        if line["method"] != "session/request_permission" {
            reply["error"] = json!({"code": -32601, "message": "Method not found"});
            return vec![reply];
        }
        if state.interrupt.take_if(|when| when == "question").is_some() {
            return vec![cancel(state)];
        }
        match state.answers.pop_front().unwrap_or_else(|| "once".into()) {
            Value::String(word) if word == "cancelled" => {
                reply["result"] = json!({"outcome": {"outcome": "cancelled"}});
            }
            Value::String(word) => {
                reply["result"] = json!({"outcome": {"outcome": "selected", "optionId": word}});
            }
            answer => {
                for (name, value) in answer.as_object().into_iter().flatten() {
                    reply[name] = value.clone();
                }
            }
        }
        vec![reply]
    }
}

fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn cancel(state: &State) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": state.conversation}})
}

impl Protocol for Acp {
    fn argv(&self, _: &Scenario, _: u16) -> Vec<String> {
        vec!["acp".to_owned()]
    }

    fn env(&self, scenario: &Scenario, port: u16) -> Vec<(&'static str, String)> {
        // No key is needed, and there is none to remove.
        let options = json!({"baseURL": format!("http://127.0.0.1:{port}/v1")});
        let model = json!({"name": "m1", "tool_call": true, "cost": {"input": 3, "output": 15, "cache_read": 0.3},
            "limit": {"context": 200_000, "output": 8000}});
        let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": options, "models": {"m1": model}});
        let mut config = json!({"model": "fake/m1", "provider": {"fake": provider}});
        for (name, value) in scenario.settings.as_object().into_iter().flatten() {
            config[name] = value.clone();
        }
        let mut env = vec![
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
            ("OPENCODE_DISABLE_PROJECT_CONFIG", "1".to_owned()),
            ("OPENCODE_CONFIG_CONTENT", config.to_string()),
        ];
        if !scenario.asks.is_null() {
            env.push(("OPENCODE_PERMISSION", scenario.asks.to_string()));
        }
        env
    }

    fn open(&mut self, _: &mut State) -> Vec<Value> {
        let params = json!({"protocolVersion": 1, "clientCapabilities": {},
            "clientInfo": {"name": "murmur", "version": "0.1.0"}});
        vec![request("initialize", "initialize", &params)]
    }

    fn receive(&mut self, line: &Value, state: &mut State) -> Option<Vec<Value>> {
        let method = line["method"].as_str().unwrap_or_default();
        let update = &line["params"]["update"];
        match (method, line["id"].as_str()) {
            ("", Some("initialize")) => {
                let mut params = json!({"cwd": state.cwd, "mcpServers": []});
                let mut method = "session/new";
                if let Some(session) = &state.resume {
                    method = "session/load";
                    params["sessionId"] = session.as_str().into();
                }
                Some(vec![request("session", method, &params)])
            }
            ("", Some("session")) => {
                line["result"].as_object()?;
                let new = line["result"]["sessionId"].as_str().map(str::to_owned);
                state.conversation = new.or_else(|| state.resume.clone());
                self.prompt(state)
            }
            ("", Some(_)) => self.prompt(state),
            // The output exists when the command runs.
            ("session/update", _) if update["status"] == "in_progress" && update["content"].is_array() => {
                let now = state.interrupt.take_if(|when| when == "command").is_some();
                Some(if now { vec![cancel(state)] } else { Vec::new() })
            }
            (method, _) if !method.is_empty() && !line["id"].is_null() => Some(Self::answer(line, state)),
            _ => Some(Vec::new()),
        }
    }

    fn shape(&self, line: &Value) -> Option<String> {
        let (method, params) = (line["method"].as_str().unwrap_or_default(), &line["params"]);
        let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let shown = match method {
            "" if line["error"].is_object() => format!("{} refused: {}", word(&line["id"]), line["error"]),
            "" => {
                let result = &line["result"];
                format!("{}: {} {}", word(&line["id"]), result["stopReason"], result["usage"])
            }
            "session/update" => {
                let update = &params["update"];
                let kind = word(&update["sessionUpdate"]);
                match kind.as_str() {
                    // It arrives when the agent has them.
                    "available_commands_update" => return None,
                    "usage_update" => format!(
                        "{kind} {} {} {:.5}",
                        update["used"],
                        update["size"],
                        update["cost"]["amount"].as_f64()?
                    ),
                    "tool_call" | "tool_call_update" => {
                        // The output so far, repeated any number of times.
                        let is_over = update["status"] != "in_progress";
                        let output = if is_over { content(&update["content"]) } else { String::new() };
                        let exit = &update["rawOutput"]["metadata"]["exit"];
                        format!(
                            "{kind} {} {} {} {} {} {output} exit {exit}",
                            update["toolCallId"],
                            update["status"],
                            update["kind"],
                            title(&update["title"]),
                            update["rawInput"],
                        )
                    }
                    _ => format!("{kind} {}", text(&update["content"]["text"])),
                }
            }
            "session/request_permission" => {
                let call = &params["toolCall"];
                let options: Vec<String> = params["options"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|option| format!("{}={}", option["optionId"], option["kind"]))
                    .collect();
                let mut input = call["rawInput"].clone();
                // Its form is not part of a contract.
                if let Some(fields) = input.as_object_mut() {
                    fields.remove("diff");
                }
                format!(
                    "{method} {} {} {} {} {} {} {}",
                    call["toolCallId"],
                    call["status"],
                    call["kind"],
                    text(&call["title"]),
                    input,
                    content(&call["content"]),
                    options.join(" ")
                )
            }
            method => format!("{method} {} {}", params["path"], params["content"]),
        };
        Some(shown)
    }
}

fn content(blocks: &Value) -> String {
    let one = |block: &Value| match block["type"].as_str() {
        Some("diff") => format!("diff {} {} {}", block["path"], block["oldText"], block["newText"]),
        _ => {
            let said = &block["content"]["text"];
            // The listed rules include the built-in ones.
            let short =
                said.as_str().and_then(|said| said.split_once(" Here are some of the relevant rules"));
            short.map_or_else(|| text(said), |(begin, _)| text(&begin.into()))
        }
    };
    blocks.as_array().map(Vec::as_slice).unwrap_or_default().iter().map(one).collect::<Vec<_>>().join(" ")
}

/// A title; a path in it is relative to a folder that differs between runs.
fn title(title: &Value) -> String {
    let rest = title.as_str().and_then(|title| title.split_once("/workspace/"));
    rest.map_or_else(|| text(title), |(_, rest)| rest.to_owned())
}
