//! `murmur agent list`, `murmur agent task`: how the hosts, pulses and session files of an Env are shown.

mod chat;
mod hosted;
mod one;
mod table;
mod task;
mod terminal;
pub(crate) mod watch;

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::env::Env;

/// The time `seconds` ago, in the form of pulses.
fn ago(seconds: i64) -> String {
    (sys::clock::now() - SignedDuration::from_secs(seconds)).to_string()
}

/// A dead process.
fn dead() -> u32 {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

/// A pulse of `id` from `seconds` ago, with an unknown process.
pub(crate) fn pulse(id: &str, seconds: i64) -> Value {
    json!({ "timestamp": ago(seconds), "agent_id": id, "tool_name": "Bash", "last_action": "cargo test --workspace",
        "current_task": "Mend the build", "git_branch": "main", "workspace": format!("/srv/{id}"),
        "session_id": format!("session-of-{id}"), "state": "running" })
}

/// `value` extended by `more`.
fn with(mut value: Value, more: &Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

impl Env {
    fn pulses(&self) -> PathBuf {
        let folder = self.create_data().join("heartbeats");
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Writes the pulse as hooks do.
    pub(crate) fn beats(&self, pulse: &Value) {
        let name = format!("{}.json", pulse["agent_id"].as_str().unwrap());
        let new = self.pulses().join(".new");
        std::fs::write(&new, pulse.to_string()).unwrap();
        std::fs::rename(new, self.pulses().join(name)).unwrap();
    }

    /// Writes the session file of the process `pid`, whose conversation was last written `seconds` ago.
    fn session(&self, id: &str, pid: u32, seconds: i64, more: &Value) {
        let claude = self.home().join(".claude");
        for folder in ["sessions", "projects/-srv-app"] {
            std::fs::create_dir_all(claude.join(folder)).unwrap();
        }
        let conversation = claude.join(format!("projects/-srv-app/{id}.jsonl"));
        let file = std::fs::File::create(conversation).unwrap();
        let at: Timestamp = ago(seconds).parse().unwrap();
        file.set_modified(at.into()).unwrap();
        let began = sys::clock::now().as_millisecond();
        let session = json!({ "pid": pid, "sessionId": id, "cwd": "/srv/app", "startedAt": began });
        std::fs::write(claude.join(format!("sessions/{pid}.json")), with(session, more).to_string()).unwrap();
    }

    /// The agents of `murmur agent list --json`.
    fn listed(&self) -> Vec<Value> {
        self.murmur(["agents", "--json"]).json()["agents"].as_array().unwrap().clone()
    }

    /// Each agent on a line: id, state, health, source.
    fn in_short(&self) -> String {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let line =
            |agent: &Value| ["agent_id", "state", "health", "source"].map(|key| text(&agent[key])).join(" ");
        self.listed().iter().map(line).collect::<Vec<_>>().join("\n")
    }
}
