//! Generated turns that repeat the message: each contains its number, its prompt and the previous one.
//!
//! Input: messages. Output: for each a turn as the real Claude Code prints it, reduced to what a host needs.

use std::collections::BTreeMap;

use fake_claude::replay::{End, FORMAT, Fixture, Run, lines};
use serde_json::{Value, json};

/// The session id of generated turns.
pub(crate) const SESSION: &str = "00000000-0000-4000-8000-000000000001";

/// A conversation.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    turns: u64,
    before: Option<String>,
}

impl Echo {
    /// Returns the next turn. `replayed` is the message's content if it has to be printed again.
    pub(crate) fn turn(&mut self, version: &str, asked: &str, replayed: Option<&Value>) -> Fixture {
        self.turns += 1;
        let number = self.turns;
        let mut said = format!("turn {number}: {asked}");
        if let Some(before) = self.before.replace(asked.to_owned()) {
            said += &format!(" (before: {before})");
        }
        let cwd = std::env::current_dir().unwrap_or_default();
        let version_number = version.split(' ').next().unwrap_or_default();
        let mut made = vec![json!({"type": "system", "subtype": "init", "cwd": cwd.to_string_lossy(),
            "session_id": SESSION, "tools": [], "mcp_servers": [], "model": "fake",
            "permissionMode": "bypassPermissions", "slash_commands": [], "apiKeySource": "none",
            "claude_code_version": version_number, "output_style": "default"})];
        if let Some(content) = replayed {
            made.push(json!({"type": "user", "message": {"role": "user", "content": content},
                "session_id": SESSION, "parent_tool_use_id": null, "isReplay": true}));
        }
        made.push(json!({"type": "assistant", "parent_tool_use_id": null, "session_id": SESSION,
            "message": {"id": format!("msg_turn_{number}"), "type": "message", "role": "assistant",
                "model": "fake", "content": [{"type": "text", "text": said}], "stop_reason": null,
                "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 1}}}));
        made.push(json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
            "result": said, "stop_reason": "end_turn", "terminal_reason": "completed",
            "session_id": SESSION, "duration_ms": 1, "duration_api_ms": 1, "total_cost_usd": 0,
            "usage": {"input_tokens": 10, "output_tokens": 20}, "permission_denials": []}));
        let text: String = made.iter().map(|line| format!("{line}\n")).collect();
        let mut turn = blank(version);
        turn.stdout = text.into_bytes();
        turn.times = vec![0; lines(&turn.stdout).count()];
        turn
    }
}

/// An empty run that succeeded.
pub(crate) fn blank(version: &str) -> Fixture {
    let run = Run {
        format: FORMAT,
        program: "claude".into(),
        version: version.into(),
        argv: Vec::new(),
        cwd: "/workspace".into(),
        env: BTreeMap::new(),
        end: End::Code(0),
        duration_ms: 0,
    };
    Fixture { run, stdin: Vec::new(), stdout: Vec::new(), stderr: Vec::new(), times: Vec::new() }
}
