//! Records beats of a real agent with murmur's side of the conversation, for tests/it/backends/recorded.rs:
//! `record codex/beats acp/beats`.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::beats::{Agent, text};
use crate::permits::call;

/// The beats of an agent: a name, and what the model answers.
fn beats(is_codex: bool) -> Vec<(&'static str, Value)> {
    let message = "refused for a test";
    let failure = |status: u16| json!({ "status": status, "error": { "type": "t", "message": message } });
    let mut beats = vec![
        ("ok", json!([text("HEARTBEAT_OK")])),
        ("attention", json!([text("ATTENTION: the disk is full")])),
        ("command", json!([call("call_1", "echo hi"), text("HEARTBEAT_OK")])),
        ("denied", json!([call("call_1", "sudo ls"), text("HEARTBEAT_OK")])),
        ("bad-request", json!([failure(400)])),
        ("unauthorized", json!([failure(401)])),
        ("rate-limit", json!([failure(429)])),
        ("server-error", json!([failure(500)])),
        ("unreachable", json!([{ "status": 0 }])),
    ];
    if is_codex {
        let error = json!({ "type": "usage_limit_reached", "message": message, "resets_at": 1_999_999_999 });
        let headers = json!({ "x-codex-primary-used-percent": "100", "x-codex-primary-window-minutes": "300",
            "x-codex-primary-reset-at": "1999999999" });
        let quota = json!({ "type": "insufficient_quota", "code": "insufficient_quota", "message": message });
        beats.extend([
            ("usage-limit", json!([{ "status": 429, "error": error, "headers": headers }])),
            ("usage-limit-without-window", json!([{ "status": 429, "error": error }])),
            ("quota", json!([{ "status": 429, "error": quota }])),
        ]);
    }
    beats
}

/// Records the beats of an agent, which `new` makes, into folders of `into`.
pub(super) fn record(
    new: impl Fn() -> Result<Agent>,
    is_codex: bool,
    into: &Path,
    say: impl Fn(&str),
) -> Result<()> {
    for (name, script) in beats(is_codex) {
        let mut agent = new()?;
        agent.prepare(&script, "off")?;
        let folder = into.display().to_string();
        let output = agent.place.murmur(&["record", name, "--into", &folder, "--beat", "."]).output()?;
        let recorded = into.join(name).join("run.json");
        ensure!(recorded.is_file(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        if name == "denied" {
            // Codex reports no input of a call that a hook blocked.
            let scenario = json!({ "about": "the guard denies a call", "model": script });
            std::fs::write(into.join(name).join("scenario.json"), format!("{scenario:#}\n"))?;
        }
        say(&format!("recorded {}: {}", recorded.display(), output.status));
    }
    Ok(())
}
