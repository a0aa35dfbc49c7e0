//! A thread, Codex's conversation, and its file: `sessions/2026/01/01/rollout-…-ID.jsonl` in Codex's folder.
//!
//! The file has the messages of the conversation, for `thread/resume`: one per line.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use sys::error::Failure;

/// A conversation.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) id: String,
    pub(super) path: PathBuf,
    pub(super) cwd: String,
    pub(super) model: String,
    /// `approvalPolicy` and `sandbox`, in the form of responses.
    pub(super) approval: Value,
    pub(super) sandbox: Value,
    pub(super) ephemeral: bool,
    /// The number of messages from the model.
    pub(super) messages: usize,
    /// Before its first turn here: how it began, `startup` or `resume`.
    pub(super) source: Option<&'static str>,
    /// Commands that are approved for the session.
    pub(super) approved: bool,
}

/// The time.
pub(super) fn milliseconds() -> u64 {
    u64::try_from(sys::clock::now().as_millisecond()).unwrap_or_default()
}

/// A new id that starts with the time, like Codex's.
pub(super) fn unique() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The file of the thread with this id.
pub(super) fn find(home: &Path, id: &str) -> Option<PathBuf> {
    let end = format!("-{id}.jsonl");
    let mut folders = vec![home.join("sessions")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if entry.file_name().to_string_lossy().ends_with(&end) {
                return Some(path);
            }
        }
    }
    None
}

impl Thread {
    /// Appends a line to its file.
    pub(super) fn keep(&self, line: &Value) -> Result<(), Failure> {
        if self.ephemeral {
            return Ok(());
        }
        let wrong = |error: std::io::Error| Failure::from(format!("{}: {error}", self.path.display()));
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(wrong)?;
        }
        let file = OpenOptions::new().append(true).create(true).open(&self.path);
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).map_err(wrong)
    }

    /// The name of a sandbox in responses.
    pub(super) fn sandbox_of(name: &str) -> Value {
        match name {
            "danger-full-access" => json!({"type": "dangerFullAccess"}),
            "workspace-write" => {
                json!({"type": "workspaceWrite", "writableRoots": [], "networkAccess": false,
                "excludeTmpdirEnvVar": false, "excludeSlashTmp": false})
            }
            _ => json!({"type": "readOnly", "networkAccess": false}),
        }
    }

    /// Where calls run: in a server that the environment names, or here.
    fn environments(&self) -> Value {
        let one =
            |id: &str| json!([{"environmentId": id, "cwd": self.cwd, "runtimeWorkspaceRoots": [self.cwd]}]);
        match std::env::var("CODEX_EXEC_SERVER_URL").as_deref() {
            Err(_) | Ok("") => one("local"),
            Ok("none") => json!([]),
            Ok(_) => one("remote"),
        }
    }

    /// The thread in responses.
    pub(super) fn shown(&self, version: &str, provider: &str, originator: &str) -> Value {
        let now = milliseconds() / 1000;
        json!({"id": self.id, "environments": self.environments(), "extra": null, "sessionId": self.id, "forkedFromId": null,
            "attachedToThreadId": null, "parentThreadId": null, "preview": "", "ephemeral": self.ephemeral,
            "section": null, "sectionEnteredAt": null, "projectId": null, "historyMode": "paginated",
            "modelProvider": provider, "model": self.model, "reasoningEffort": null, "createdAt": now,
            "updatedAt": now, "recencyAt": now, "status": {"type": "idle"}, "path": self.path, "cwd": self.cwd,
            "cliVersion": version, "originator": originator, "source": "vscode", "canAcceptDirectInput": true,
            "threadSource": null, "agentNickname": null, "agentRole": null, "gitInfo": null, "name": null,
            "daybreakEnabled": null, "turns": []})
    }

    /// The response to `thread/start` and `thread/resume`.
    pub(super) fn opened(&self, version: &str, provider: &str, originator: &str) -> Value {
        json!({"thread": self.shown(version, provider, originator), "model": self.model, "modelProvider": provider,
            "serviceTier": null, "disabledPluginIds": [], "cwd": self.cwd, "runtimeWorkspaceRoots": [self.cwd],
            "instructionSources": [], "approvalPolicy": self.approval, "approvalsReviewer": "user",
            "sandbox": self.sandbox, "activePermissionProfile": null, "reasoningEffort": null,
            "multiAgentMode": "explicitRequestOnly"})
    }
}
