//! Permissions, end to end: a beat or a hosted agent, the real hook, the daemon, and a person.
//!
//! The agent is fake-claude, which runs the hook of its `--settings` but no tools: the commands here are only data.

mod away;
mod broken;
mod broker;
mod closed;
mod defer;
mod flipped;
mod guard;
mod inbox;
mod intruder;
mod manager;
mod named;
mod plan;
mod questions;
mod record;
mod restart;
mod rules;
mod shown;
mod terminal;
mod time_limits;
mod undecided;
mod waits;

use std::io::{Seek, Write};
use std::process::Child;

use serde_json::{Value, json};

use crate::env::{Env, Run, Socket, Workspace};

/// The hook's executable.
const HOOK: &str = env!("CARGO_BIN_EXE_murmur-hook");

/// A call of the tool.
pub(crate) fn call(id: &str, tool: &str, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": id, "name": tool, "input": input })
}

pub(crate) fn bash(id: &str, command: &str) -> Value {
    call(id, "Bash", &json!({ "command": command }))
}

/// Instructions for an agent that makes these calls, one per message, and then answers ok.
fn acts(calls: &[Value]) -> Value {
    let mut script: Vec<Value> = calls.iter().map(|call| json!([call])).collect();
    script.push(json!([{ "type": "text", "text": "HEARTBEAT_OK" }]));
    json!({ "script": script })
}

/// What the model was told about a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolResult {
    call: String,
    is_error: bool,
    pub(crate) text: String,
}

impl ToolResult {
    /// Checks that the call ran, according to fake-claude.
    pub(crate) fn ran(&self) -> bool {
        !self.is_error
    }
}

impl Env {
    /// A workspace with this frontmatter, whose agent makes these calls.
    pub(crate) fn workspace_calling(&self, frontmatter: &str, calls: &[Value]) -> Workspace {
        let site = self.workspace("site", &format!("---\n{frontmatter}\n---\nDo it."));
        site.plays(&acts(calls));
        site
    }

    /// The lines of all conversations here, in the order in which they were stored.
    fn conversation(&self) -> Vec<Value> {
        let projects = self.home().join(".claude/projects");
        let folders = std::fs::read_dir(projects).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
        let texts = files.map(|file| std::fs::read_to_string(file.path()).unwrap());
        // The last line may be incomplete.
        let lines = |text: String| {
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<_>>()
        };
        texts.flat_map(lines).collect()
    }

    /// What the model was told about its calls.
    fn tool_results(&self) -> Vec<ToolResult> {
        let text = |block: &Value, key: &str| block[key].as_str().unwrap_or_default().to_owned();
        let lines = self.conversation();
        let blocks = lines.iter().filter_map(|line| line["message"]["content"].as_array()).flatten();
        let results = blocks.filter(|block| block["type"] == "tool_result");
        results
            .map(|block| ToolResult {
                call: text(block, "tool_use_id"),
                is_error: block["is_error"] == true,
                text: text(block, "content"),
            })
            .collect()
    }

    /// Waits until the model was told about so many calls.
    fn wait_for_tool_results(&self, count: usize) -> Vec<ToolResult> {
        // Its conversation is there before its first call.
        let folder = [".claude", "projects", ""].iter().fold(self.home(), |above, name| {
            self.wait(&above, || {
                let mut inner = std::fs::read_dir(&above).unwrap().map(|entry| entry.unwrap().path());
                inner.find(|path| path.is_dir() && (name.is_empty() || path.ends_with(name)))
            })
        });
        self.wait(&folder, || Some(self.tool_results()).filter(|told| told.len() >= count))
    }

    /// What the model was told about its only call.
    pub(crate) fn only_tool_result(&self) -> ToolResult {
        let mut told = self.tool_results();
        assert_eq!(told.len(), 1, "{told:#?}");
        told.remove(0)
    }

    /// The lines of decisions.jsonl.
    pub(crate) fn decisions(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.data().join("decisions.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Writes the user's own `name`, config.toml or permissions.toml.
    pub(crate) fn setting(&self, name: &str, text: &str) {
        self.write_into("config", name, text);
    }

    /// Writes the rules of a project.
    pub(crate) fn project_rules(&self, project: &str, rules: &str) {
        self.write_into(&format!("projects/{project}"), "permissions.toml", rules);
    }

    fn write_into(&self, folder: &str, name: &str, text: &str) {
        let folder = self.create_data().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
    }

    /// The hook, for `event`, with this on stdin, for an agent that murmur didn't start.
    fn hook(&self, event: &str, stdin: impl AsRef<[u8]>) -> Run {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(stdin.as_ref()).unwrap();
        file.rewind().unwrap();
        self.program(HOOK, [event]).stdin(file)
    }

    /// All events of the daemon, from its first one.
    fn events(&self) -> Socket {
        let mut events = self.connect();
        events.ask("attach", &json!({ "from": 0 }));
        events
    }

    /// Waits until a request is open, and returns the first one that this daemon opened.
    pub(crate) fn opened(&self) -> Value {
        self.events().until("request_opened")
    }

    /// Waits until a request is closed, and returns the first one that was.
    pub(crate) fn closed(&self) -> Value {
        self.events().until("request_closed")
    }

    /// Waits until no request is deferred any more.
    fn wait_for_no_approvals(&self) {
        let folder = self.data().join("approvals");
        self.wait(&folder, || self.names(&folder).is_empty().then_some(()));
    }

    /// Starts a manual beat.
    pub(crate) fn beat(&self) -> Child {
        self.murmur(["beat", "site", "--json"]).start()
    }

    /// Runs a manual beat to its end; returns its line.
    fn run_beat(&self) -> Value {
        line(self.beat())
    }
}

impl Socket {
    /// The payload of the next event of this type.
    fn until(&mut self, event_type: &str) -> Value {
        loop {
            let event = self.receive().unwrap();
            if event["event_type"] == event_type {
                return event["payload"].clone();
            }
        }
    }
}

/// Waits until the beat has ended; returns its line.
pub(crate) fn line(beat: Child) -> Value {
    let output = beat.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// A call of the tool, in the form of hook input.
fn told_to_hook(tool: &str, input: &Value) -> Value {
    json!({ "session_id": "s", "transcript_path": "/nowhere", "cwd": "/", "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": input, "tool_use_id": "t1" })
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key}: {value}"))
}
