//! Asks the `PreToolUse` hook in `--settings` about each call before it is played, as the real run did: observers
//! expect that every call was decided. The answer changes nothing, because the result is already recorded.

use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::{Command, Stdio};

/// The hook to ask, if any.
#[derive(Debug, Default, Clone)]
pub struct Asking {
    command: Option<String>,
    env: Vec<(String, String)>,
}

impl Asking {
    /// Finds the hook in these arguments.
    #[must_use]
    pub fn of(args: &[String]) -> Self {
        let given = args.iter().position(|arg| arg == "--settings").and_then(|at| args.get(at + 1));
        let settings: Value = given.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str();
        let env = settings["env"].as_object().into_iter().flatten();
        let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Self { command: command.map(str::to_owned), env: env.collect() }
    }

    /// Asks about the calls in `line`.
    pub fn ask(&self, line: &[u8]) {
        let Some(command) = &self.command else { return };
        if memchr::memmem::find(line, b"\"tool_use\"").is_none() {
            return;
        }
        let Ok(line) = serde_json::from_slice::<Value>(line) else { return };
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_use" && line["type"] == "assistant" {
                // A hook that doesn't run has no effect, as in the real one.
                let _unasked = self.ask_about(command, &line["session_id"], block);
            }
        }
    }

    fn ask_about(&self, command: &str, session: &Value, call: &Value) -> io::Result<()> {
        let input = json!({
            "session_id": session.as_str().unwrap_or_default(),
            "cwd": std::env::current_dir()?,
            "hook_event_name": "PreToolUse",
            "tool_name": call["name"],
            "tool_input": call["input"],
            "tool_use_id": call["id"],
        });
        let mut hook = Command::new("/bin/sh");
        hook.arg("-c").arg(command).envs(self.env.iter().map(|(name, value)| (name, value)));
        hook.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut hook = hook.spawn()?;
        if let Some(mut stdin) = hook.stdin.take() {
            stdin.write_all(input.to_string().as_bytes())?;
        }
        hook.wait().map(drop)
    }
}

/// A writer that asks about each line passed to it.
#[derive(Debug)]
pub struct AskingWriter<W>(pub Asking, pub W);

impl<W: Write> Write for AskingWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.ask(line);
        self.1.write_all(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.flush()
    }
}
