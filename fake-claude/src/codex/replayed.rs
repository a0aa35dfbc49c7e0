//! Asks the trusted `PreToolUse` hooks about each recorded command before it is played, as the real run did: observers expect
//! that every call was decided. The answer changes nothing, because the result is already recorded. A call that a hook blocked
//! is in no recording, so nobody asks about it.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::config::Config;
use super::hooks;

/// The commands of the hooks to ask.
pub(super) struct ReplayedHooks(Vec<String>);

impl ReplayedHooks {
    pub(super) fn of(config: &Config) -> Self {
        Self(hooks::commands(config, hooks::PRE_TOOL_USE))
    }

    /// Asks about the command that `line` begins, if it does.
    pub(super) fn ask(&self, line: &Value) {
        let item = &line["params"]["item"];
        if line["method"] != "item/started" || item["type"] != "commandExecution" {
            return;
        }
        // In the line that starts a shell.
        let shown = item["command"].as_str().unwrap_or_default();
        let command = shown.strip_prefix("/bin/bash -lc ").unwrap_or(shown).trim_matches('\'');
        let input = json!({
            "session_id": line["params"]["threadId"],
            "cwd": std::env::current_dir().unwrap_or_default(),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": { "command": command },
            "tool_use_id": item["id"],
        });
        for hook in &self.0 {
            // A hook that doesn't run has no effect, as in the real one.
            let _unasked = run(hook, &input);
        }
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
