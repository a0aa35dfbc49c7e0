//! The response to `thread/start` and `thread/resume`: the conversation, and how Codex will ask about its calls.

use super::environment::elsewhere;
use super::line::CodexMessage;
use super::report;
use crate::event::Event;
use serde::Deserialize;

/// The ids of murmur's requests.
pub(super) const INITIALIZE: &str = "initialize";
pub(super) const HOOKS: &str = "hooks";
pub(super) const THREAD: &str = "thread";
pub(super) const TURN: &str = "turn";
pub(super) const INTERRUPT: &str = "interrupt";
pub(super) const LIMITS: &str = "limits";
pub(super) const CLEAN: &str = "clean";

/// The policy with which Codex asks about every command, patch and MCP call. Others let most calls run without a
/// decision.
pub(super) const ASK_ALWAYS: &str = "untrusted";

/// The policy with which Codex asks only about calls that would leave the sandbox, and about MCP calls.
pub(super) const ASK_OUTSIDE_SANDBOX: &str = "on-request";

/// What the response says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread {
    thread: Identity,
    #[serde(default)]
    model: String,
    #[serde(default)]
    approval_policy: serde_json::Value,
    #[serde(default)]
    sandbox: Sandbox,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    id: String,
    #[serde(default)]
    cli_version: String,
    /// Where its calls may run; unset in versions before environments.
    #[serde(default)]
    environments: Option<Vec<serde_json::Value>>,
}

#[derive(Deserialize, Default)]
struct Sandbox {
    #[serde(rename = "type", default)]
    kind: String,
}

impl Thread {
    /// Reads a response; `None` if it has another form.
    pub(super) fn read(line: &CodexMessage<'_>) -> Option<Self> {
        serde_json::from_str(line.result?.get()).ok()
    }

    /// The thread's id.
    pub(super) fn id(&self) -> &str {
        &self.thread.id
    }

    /// Why no turn may run in it; `None` if Codex agreed to ask about every call, and to run each on this machine.
    pub(super) fn refusal(&self) -> Option<String> {
        let policy = &self.approval_policy;
        if policy != ASK_ALWAYS {
            return Some(format!(
                "Codex would not ask before it runs calls: its approval policy is {policy}, not {ASK_ALWAYS:?}; use a \
                 version that murmur was tested with"
            ));
        }
        let environments = self.thread.environments.iter().flatten();
        environments.map(|one| elsewhere(&one["environmentId"])).find_map(|why| why).map(|why| {
            format!("{why}; unset CODEX_EXEC_SERVER_URL and remove environments.toml from Codex's folder")
        })
    }

    /// The sandbox that calls run in, and that an approved call would leave, as `sandbox_mode` calls it; `None` without
    /// one.
    pub(super) fn sandbox(&self) -> Option<String> {
        match self.sandbox.kind.as_str() {
            "dangerFullAccess" => None,
            "readOnly" => Some("read-only".to_owned()),
            "workspaceWrite" => Some("workspace-write".to_owned()),
            other => Some(other.to_owned()),
        }
    }

    pub(super) fn emit(&self, sink: &mut impl FnMut(Event<'_>)) {
        sink(Event::Session {
            id: self.id().into(),
            model: self.model.as_str().into(),
            version: self.thread.cli_version.as_str().into(),
            permission_mode: "".into(),
            mcp_servers: Vec::new(),
        });
        if let Some(why) = self.refusal() {
            sink(report::failed(why, None));
        }
    }
}
