//! A session and its file: `sessions/ID.jsonl` in OpenCode's folder, with a line for each message and each result.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use sys::error::Failure;

/// A conversation.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) path: PathBuf,
    pub(super) cwd: String,
    pub(super) model: String,
    pub(super) mode: String,
    /// The number of messages from the model.
    pub(super) messages: usize,
    /// How many of them cost something: those that were not canceled.
    pub(super) paid: usize,
    /// Whether the client has always allowed a tool.
    pub(super) allowed: Vec<String>,
}

/// A new id with this prefix.
pub(super) fn unique(begin: &str) -> String {
    let id = uuid::Uuid::now_v7().simple().to_string();
    format!("{begin}_{}", &id[..26])
}

/// The file of the session with this id.
pub(super) fn place(home: &Path, id: &str) -> PathBuf {
    home.join("sessions").join(format!("{id}.jsonl"))
}

impl Session {
    /// Reads the lines of the session's file; `None` if there is none.
    pub(super) fn read(path: &Path) -> Option<Vec<Value>> {
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Appends a line to its file.
    pub(super) fn keep(&self, line: &Value) -> Result<(), Failure> {
        let wrong = |error: std::io::Error| Failure::from(format!("{}: {error}", self.path.display()));
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(wrong)?;
        }
        let file = OpenOptions::new().append(true).create(true).open(&self.path);
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).map_err(wrong)
    }

    /// What can be configured.
    pub(super) fn options(&self) -> Value {
        json!([
            {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": self.model,
                "options": [{"value": "opencode/big-pickle", "name": "OpenCode Zen/Big Pickle"},
                    {"value": self.model, "name": self.model}]},
            {"id": "mode", "name": "Session Mode", "category": "mode", "type": "select", "currentValue": self.mode,
                "options": [
                    {"value": "build", "name": "build",
                        "description": "The default agent. Executes tools based on configured permissions."},
                    {"value": "plan", "name": "plan", "description": "Plan mode. Disallows all edit tools."}]}
        ])
    }
}
