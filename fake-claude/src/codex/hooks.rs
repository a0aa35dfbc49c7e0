//! Codex's hooks: their configuration, whether they are trusted, and their decisions.
//!
//! Input: the configuration, an event, and how a hook ended. Output: hooks, and decisions. A call is denied only by a
//! hook's denial: a hook that fails in any other way lets it run, and an untrusted one doesn't run at all. Measured on
//! 0.169.0.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use regex::Regex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sys::process::{Signal, signal_group};

use super::config::Config;
use super::{Codex, thread};
use crate::faults::Fault;
use crate::rpc::{Halt, HookEnd, RpcEvent};
use sys::error::Failure;

const DEFAULT_TIMEOUT: u64 = 600;

/// An event that has hooks: its name in files, in keys and in messages.
pub(super) type EventName = (&'static str, &'static str, &'static str);
pub(super) const PRE_TOOL_USE: EventName = ("PreToolUse", "pre_tool_use", "preToolUse");
pub(super) const SESSION_START: EventName = ("SessionStart", "session_start", "sessionStart");
pub(super) const USER_PROMPT_SUBMIT: EventName =
    ("UserPromptSubmit", "user_prompt_submit", "userPromptSubmit");
pub(super) const POST_TOOL_USE: EventName = ("PostToolUse", "post_tool_use", "postToolUse");
pub(super) const STOP: EventName = ("Stop", "stop", "stop");
pub(super) const SESSION_END: EventName = ("SessionEnd", "session_end", "sessionEnd");
const EVENTS: [EventName; 6] =
    [PRE_TOOL_USE, SESSION_START, USER_PROMPT_SUBMIT, POST_TOOL_USE, STOP, SESSION_END];

/// A hook.
#[derive(Debug, Clone)]
pub(super) struct Hook {
    event: EventName,
    command: String,
    timeout: u64,
    matcher: Option<String>,
    path: String,
    source: &'static str,
    key: String,
    hash: String,
    trusted: bool,
    enabled: bool,
    order: usize,
}

/// Returns the hooks of all sources.
pub(super) fn all(config: &Config) -> Vec<Hook> {
    let mut found = Vec::new();
    for (path, source, hooks) in &config.sources {
        for event in EVENTS {
            let groups = hooks[event.0].as_array().map(Vec::as_slice).unwrap_or_default();
            for (number, group) in groups.iter().enumerate() {
                let entries = group["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
                for (index, entry) in entries.iter().enumerate() {
                    let key = format!("{path}:{}:{number}:{index}", event.1);
                    found.extend(Hook::read(config, event, group, entry, (path, source, key), found.len()));
                }
            }
        }
    }
    found
}

/// The commands of the hooks of `event` that would run.
pub(super) fn commands(config: &Config, event: EventName) -> Vec<String> {
    let hooks = all(config).into_iter().filter(|hook| hook.event == event && hook.trusted && hook.enabled);
    hooks.map(|hook| hook.command).collect()
}

/// Codex's warnings: hooks of `SessionEnd`, which never run here, may not take long.
pub(super) fn warnings(config: &Config) -> Vec<String> {
    let clamped = all(config).into_iter().filter(|hook| hook.event == SESSION_END && hook.timeout > 3);
    clamped.map(|hook| format!("clamping SessionEnd hook timeout to 3s in {}", hook.path)).collect()
}

impl Hook {
    fn read(
        config: &Config,
        event: EventName,
        group: &Value,
        entry: &Value,
        (path, source, key): (&str, &'static str, String),
        order: usize,
    ) -> Option<Self> {
        let command = entry["command"].as_str()?.to_owned();
        let timeout = entry["timeout"].as_u64().unwrap_or(DEFAULT_TIMEOUT);
        let matcher = group["matcher"].as_str().map(str::to_owned);
        let mut identity = json!({"event_name": event.1,
            "hooks": [{"async": false, "command": command, "timeout": timeout, "type": "command"}]});
        if let Some(matcher) = &matcher {
            identity["matcher"] = matcher.as_str().into();
        }
        // Compact, and with sorted keys.
        let digest = Sha256::digest(identity.to_string().as_bytes());
        let hash = digest.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"));
        let state = |name: &str| config.get(&["hooks", "state", &key, name]).clone();
        let trusted = state("trusted_hash") == hash.as_str() || config.flags["bypass_hook_trust"] == true;
        let enabled = state("enabled") != false;
        Some(Self {
            event,
            command,
            timeout,
            matcher,
            path: path.into(),
            source,
            key,
            hash,
            trusted,
            enabled,
            order,
        })
    }

    /// The entry of `hooks/list`.
    pub(super) fn listed(&self) -> Value {
        json!({"key": self.key, "eventName": self.event.2, "handlerType": "command", "command": self.command,
            "async": false, "matcher": self.matcher, "timeoutSec": self.timeout, "statusMessage": null,
            "additionalContextLimit": null, "sourcePath": self.path, "source": self.source, "pluginId": null,
            "environmentId": null, "displayOrder": self.order, "enabled": self.enabled, "isManaged": false,
            "currentHash": self.hash, "trustStatus": if self.trusted { "trusted" } else { "untrusted" }})
    }

    fn matches(&self, tool: Option<&str>) -> bool {
        match (self.matcher.as_deref(), tool) {
            (None | Some("" | "*"), _) | (_, None) => true,
            (Some(matcher), Some(tool)) => {
                Regex::new(&format!("^(?:{matcher})$")).is_ok_and(|matcher| matcher.is_match(tool))
            }
        }
    }
}

/// The decision of a hook that ended.
fn decide(end: Option<&HookEnd>, timeout: u64) -> (&'static str, Value, Option<String>) {
    let blocked =
        |reason: &str| ("blocked", json!([{"kind": "feedback", "text": reason}]), Some(reason.to_owned()));
    let failed = |text: String| ("failed", json!([{"kind": "error", "text": text}]), None);
    let Some(end) = end else { return failed(format!("hook timed out after {timeout}s")) };
    match end.code {
        Some(0) => {
            let said: Value = serde_json::from_str(end.stdout.trim()).unwrap_or_default();
            let specific = &said["hookSpecificOutput"];
            if specific["permissionDecision"] == "deny" {
                return blocked(specific["permissionDecisionReason"].as_str().unwrap_or_default());
            }
            if said["decision"] == "block" {
                return blocked(said["reason"].as_str().unwrap_or_default());
            }
            ("completed", json!([]), None)
        }
        Some(2) if !end.stderr.trim().is_empty() => blocked(end.stderr.trim()),
        Some(2) => {
            failed("PreToolUse hook exited with code 2 but did not write a blocking reason to stderr".into())
        }
        Some(code) => failed(format!("hook exited with code {code}")),
        None => failed("hook exited without a status code".into()),
    }
}

impl Codex<'_> {
    /// Runs the hooks of an event with this input. Returns why they deny the call, if one does.
    pub(super) fn run_hooks(
        &mut self,
        event: EventName,
        tool: Option<(&str, &str)>,
        input: &Value,
    ) -> Result<Option<String>, Halt> {
        let off = *self.config.get(&["features", "hooks"]) == false;
        if off || self.instructions.faults.has(Fault::NoHooks) {
            return Ok(None);
        }
        let mut denied = None;
        for hook in all(&self.config) {
            let fits = hook.event == event && hook.matches(tool.map(|(name, _)| name));
            if fits && hook.trusted && hook.enabled {
                denied = self.run_hook(&hook, tool.map(|(_, call)| call), input)?.or(denied);
            }
        }
        Ok(denied)
    }

    fn run_hook(&mut self, hook: &Hook, call: Option<&str>, input: &Value) -> Result<Option<String>, Halt> {
        let name = hook.event.1.replace('_', "-");
        let call = call.map(|call| format!(":{call}")).unwrap_or_default();
        let scope = if hook.event == SESSION_START { "thread" } else { "turn" };
        let begun = thread::milliseconds() / 1000;
        let mut run = json!({"id": format!("{name}:{}:{}{call}", hook.order, hook.path), "eventName": hook.event.2,
            "handlerType": "command", "executionMode": "sync", "scope": scope, "sourcePath": hook.path,
            "source": hook.source, "displayOrder": hook.order, "status": "running", "statusMessage": null,
            "startedAt": begun, "completedAt": null, "durationMs": null, "entries": []});
        self.notify("hook/started", json!({"run": run}))?;
        let end = self.execute(hook, input)?;
        let (status, entries, denied) = decide(end.as_ref(), hook.timeout);
        run["status"] = status.into();
        run["entries"] = entries;
        run["completedAt"] = begun.into();
        run["durationMs"] = 1.into();
        self.notify("hook/completed", json!({"run": run}))?;
        Ok(denied)
    }

    /// Runs a hook to its end; `None` if it takes too long.
    fn execute(&mut self, hook: &Hook, input: &Value) -> Result<Option<HookEnd>, Halt> {
        let wrong = |error: std::io::Error| Failure::from(format!("cannot run a hook: {error}"));
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(&hook.command).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(wrong)?;
        let group = child.id();
        if let Some(mut stdin) = child.stdin.take() {
            let text = input.to_string();
            // A hook that doesn't read its input only blocks this thread.
            std::thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
        }
        let sender = self.peer.sender.clone();
        std::thread::spawn(move || {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let end = match child.wait_with_output() {
                Ok(output) => HookEnd {
                    code: output.status.code(),
                    stdout: text(&output.stdout),
                    stderr: text(&output.stderr),
                },
                Err(error) => HookEnd { code: None, stdout: String::new(), stderr: error.to_string() },
            };
            drop(sender.send(RpcEvent::Hook(end)));
        });
        let due = Instant::now() + Duration::from_secs(hook.timeout);
        self.hook = None;
        let waited = loop {
            if self.hook.is_some() || Instant::now() >= due {
                break Ok(());
            }
            if let Err(halt) = self.wait(Some(due)) {
                break Err(halt);
            }
        };
        if self.hook.is_none() {
            signal_group(group, Signal::KILL);
        }
        waited.map(|()| self.hook.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_hash_is_that_of_the_real_one() {
        // From `hooks/list` of Codex 0.169.0.
        let command = "timeout -s KILL 20 /opt/hook PreToolUse; r=$?; [ $r = 0 ] && exit 0; echo \\\"x: $r\\\" >&2; exit 2";
        let words =
            [format!("hooks.PreToolUse=[{{hooks=[{{type=\"command\",command=\"{command}\",timeout=30}}]}}]")];
        let hooks = all(&Config::read(&words, Path::new("/none")).unwrap());
        assert_eq!(hooks[0].hash, "sha256:4a74256c269cd0e9f755a5e9f79f23ee962fcde30073be4d22fb659285bedab4");
        assert_eq!(hooks[0].key, "/<session-flags>/config.toml:pre_tool_use:0:0");
        assert!(!hooks[0].trusted && hooks[0].enabled);
    }

    #[test]
    fn only_a_denial_denies() {
        let end = |code, stdout: &str, stderr: &str| {
            let end = HookEnd { code, stdout: stdout.into(), stderr: stderr.into() };
            let (status, _, denied) = decide(Some(&end), 2);
            (status, denied)
        };
        let deny = r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
        assert_eq!(end(Some(0), deny, ""), ("blocked", Some("no".into())));
        assert_eq!(end(Some(0), r#"{"decision":"block","reason":"no"}"#, ""), ("blocked", Some("no".into())));
        assert_eq!(end(Some(2), "", "no\n"), ("blocked", Some("no".into())));
        for (code, stdout) in [(Some(1), deny), (Some(2), ""), (None, "")] {
            assert_eq!(end(code, stdout, ""), ("failed", None));
        }
        assert_eq!(end(Some(0), "garbage", ""), ("completed", None));
        assert_eq!(decide(None, 2).1[0]["text"], "hook timed out after 2s");
    }
}
