//! The session: the conversation's id, folder, flags and file.
//!
//! The file is `projects/<cwd with other characters than letters and digits replaced by ->/<id>.jsonl` in
//! `$CLAUDE_CONFIG_DIR`, or else in `$HOME/.claude`. It has the parts of Claude Code's format that hooks and
//! `--resume` read.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use sys::error::Failure;
use sys::pause::pause;
use uuid::Builder;

use super::version::Version;

const TIME: &str = "2026-01-01T00:00:00.000Z";

/// A conversation.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) cwd: PathBuf,
    pub(crate) version: Version,
    /// Every call is allowed unless something denies it.
    pub(crate) skips: bool,
    pub(crate) transcript: PathBuf,
    /// The conversation before this process, if it is resumed.
    pub(crate) before: Vec<Value>,
    /// Whether a deferred call is being resumed: it belongs to no prompt, and its hooks appear in the stream.
    pub(crate) resumes: bool,
    /// Whether it is in plan mode.
    pub(crate) plans: bool,
    /// The running subagent.
    pub(crate) within: Option<ActiveSubagent>,
    /// The MCP servers, in their listed form.
    pub(crate) servers: Vec<Value>,
    prompt_id: String,
}

/// A subagent, as in its lines and hooks.
#[derive(Debug)]
pub(crate) struct ActiveSubagent {
    /// The call that started it.
    pub(crate) call: String,
    pub(crate) agent: String,
    pub(crate) kind: String,
    pub(crate) description: String,
}

/// Returns a new id.
pub(crate) fn unique() -> Result<String, Failure> {
    let bytes = sys::random::bytes().map_err(|error| Failure::new("cannot create an id").because(&error))?;
    Ok(Builder::from_random_bytes(bytes).into_uuid().to_string())
}

fn append(path: &Path, text: &str) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| Failure::new(path.display().to_string()).because(&error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(wrong)?;
    }
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(wrong)
}

impl Session {
    /// Opens the session with this id, or a new one. `claude` is Claude Code's own folder.
    pub(crate) fn open(
        id: Option<&str>,
        claude: &Path,
        cwd: PathBuf,
        version: Version,
        skips: bool,
    ) -> Result<Self, Failure> {
        let id = id.map_or_else(unique, |id| Ok(id.to_owned()))?;
        let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
        let project: String = cwd.to_string_lossy().chars().map(plain).collect();
        let folder = claude.join("projects").join(project);
        let transcript = folder.join(format!("{id}.jsonl"));
        let (before, resumes, prompt_id) = (Vec::new(), false, unique()?);
        let (plans, within) = (false, None);
        Ok(Self {
            id,
            cwd,
            version,
            skips,
            transcript,
            before,
            resumes,
            plans,
            within,
            servers: Vec::new(),
            prompt_id,
        })
    }

    /// Loads the earlier conversation. Returns false if it doesn't exist.
    pub(crate) fn load(&mut self) -> bool {
        let Ok(text) = std::fs::read_to_string(&self.transcript) else { return false };
        self.before = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        true
    }

    pub(crate) fn mode(&self) -> &'static str {
        match (self.plans, self.skips) {
            (true, _) => "plan",
            (false, true) => "bypassPermissions",
            (false, false) => "default",
        }
    }

    /// Appends a line to the conversation's file.
    pub(crate) fn keep(&self, line: &Value) -> Result<(), Failure> {
        if self.within.is_some() {
            // A subagent's conversation has its own file, which nothing here reads.
            return Ok(());
        }
        append(&self.transcript, &self.whole(line)?)
    }

    /// Appends lines after a delay. Join the returned handle before the next append.
    pub(crate) fn keep_after(
        &self,
        delay: Duration,
        lines: &[Value],
    ) -> Result<JoinHandle<Result<(), Failure>>, Failure> {
        let text = lines.iter().map(|line| self.whole(line)).collect::<Result<String, _>>()?;
        let path = self.transcript.clone();
        Ok(std::thread::spawn(move || {
            pause(delay);
            append(&path, &text)
        }))
    }

    fn whole(&self, line: &Value) -> Result<String, Failure> {
        let mut whole = json!({"parentUuid": null, "isSidechain": false, "uuid": unique()?, "timestamp": TIME,
            "userType": "external", "cwd": self.cwd.to_string_lossy(), "sessionId": self.id,
            "version": self.version.text()});
        for (name, value) in line.as_object().into_iter().flatten() {
            whole[name] = value.clone();
        }
        Ok(format!("{whole}\n"))
    }

    /// The input of every hook, with `more` added.
    pub(crate) fn hook_input(&self, event: &str, more: &Value) -> String {
        let mut input = json!({"session_id": self.id, "transcript_path": self.transcript.to_string_lossy(),
            "cwd": self.cwd.to_string_lossy()});
        let resumed = self.resumes && matches!(event, "PreToolUse" | "PostToolUse" | "PostToolUseFailure");
        if event != "SessionStart" && !resumed {
            input["prompt_id"] = self.prompt_id.clone().into();
        }
        if !matches!(event, "SessionStart" | "SessionEnd" | "StopFailure") {
            input["permission_mode"] = self.mode().into();
        }
        if !matches!(event, "SessionStart" | "SessionEnd" | "UserPromptSubmit") {
            input["effort"] = json!({"level": if self.version.is_new() { "medium" } else { "high" }});
        }
        if let Some(within) = &self.within {
            input["agent_id"] = within.agent.as_str().into();
            input["agent_type"] = within.kind.as_str().into();
        }
        input["hook_event_name"] = event.into();
        for (name, value) in more.as_object().into_iter().flatten() {
            input[name] = value.clone();
        }
        format!("{input}\n")
    }

    /// The number of messages from the model.
    pub(crate) fn messages(&self) -> usize {
        let of_model = self.before.iter().filter(|line| line["type"] == "assistant");
        let mut ids: Vec<&str> = of_model.filter_map(|line| line["message"]["id"].as_str()).collect();
        ids.dedup();
        ids.len()
    }

    /// Returns the deferred call that has no result yet.
    pub(crate) fn deferred(&self) -> Option<Value> {
        let at = self.before.iter().rposition(|line| line["attachment"]["type"] == "hook_deferred_tool")?;
        let marker = &self.before[at]["attachment"];
        let is_result = |block: &Value| block["tool_use_id"] == marker["toolUseID"];
        let contents = self.before[at..].iter().filter_map(|line| line["message"]["content"].as_array());
        if contents.flatten().any(is_result) {
            return None;
        }
        Some(json!({"type": "tool_use", "id": marker["toolUseID"], "name": marker["toolName"],
            "input": marker["toolInput"]}))
    }
}
