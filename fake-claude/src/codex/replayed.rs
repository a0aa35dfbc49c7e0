//! Asks the trusted `PreToolUse` hooks about each recorded command before it is played, as the real run did: observers
//! expect that every call was decided. The answer changes nothing, because the result is already recorded. A call that
//! a hook blocked is in no recording, only its id; it is taken from the scenario of the recording, if there is one.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::config::Config;
use super::hooks;

/// The hooks to ask.
pub(super) struct ReplayedHooks {
    /// Their commands.
    commands: Vec<String>,
    /// The recording's scenario.
    scenario: Value,
}

impl ReplayedHooks {
    /// The hooks of `config` for the recording in `folder`.
    pub(super) fn of(config: &Config, folder: Option<&Path>) -> Self {
        let text = folder.and_then(|folder| std::fs::read_to_string(folder.join("scenario.json")).ok());
        let scenario = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Self { commands: hooks::commands(config, hooks::PRE_TOOL_USE), scenario }
    }

    /// Asks about the command that `line` begins, if it does, or about the call that a hook blocked then.
    pub(super) fn ask(&self, line: &Value) {
        let Some((id, tool, tool_input)) = self.call(line) else { return };
        let input = json!({
            "session_id": line["params"]["threadId"],
            "cwd": std::env::current_dir().unwrap_or_default(),
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": tool_input,
            "tool_use_id": id,
        });
        for hook in &self.commands {
            // A hook that doesn't run has no effect, as in the real one.
            let _unasked = run(hook, &input);
        }
    }

    /// The call that `line` is about: its id, tool and input.
    fn call(&self, line: &Value) -> Option<(String, Value, Value)> {
        let (item, hook) = (&line["params"]["item"], &line["params"]["run"]);
        match line["method"].as_str()? {
            "item/started" if item["type"] == "commandExecution" => {
                // In the line that starts a shell.
                let shown = item["command"].as_str().unwrap_or_default();
                let command = shown.strip_prefix("/bin/bash -lc ").unwrap_or(shown).trim_matches('\'');
                Some((item["id"].as_str()?.to_owned(), "Bash".into(), json!({ "command": command })))
            }
            "hook/completed" if hook["status"] == "blocked" && hook["eventName"] == "preToolUse" => {
                let id = hook["id"].as_str()?.rsplit(':').next()?;
                let call = tool_use(&self.scenario["model"], id)?;
                Some((id.to_owned(), call["name"].clone(), call["input"].clone()))
            }
            _ => None,
        }
    }
}

/// The model's call `id`, anywhere in its script.
fn tool_use<'a>(script: &'a Value, id: &str) -> Option<&'a Value> {
    match script {
        Value::Object(_) if script["type"] == "tool_use" && script["id"] == id => Some(script),
        Value::Object(members) => members.values().find_map(|value| tool_use(value, id)),
        Value::Array(values) => values.iter().find_map(|value| tool_use(value, id)),
        _ => None,
    }
}

fn run(hook: &str, input: &Value) -> io::Result<()> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(hook).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.to_string().as_bytes())?;
    }
    child.wait().map(drop)
}
