//! What is special about the real codex-acp: a denial cancels the turn.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::codex::ENVIRONMENTS;
use super::{Agent, HOSTED, text};
use crate::permits::call;

/// Calls run here, whatever the environment says. If a file of Codex says that they may run elsewhere, nothing runs.
pub(super) fn here(agent: &mut Agent) -> Result<()> {
    agent.prepare(&json!([call("call_1", "touch ran"), text("HEARTBEAT_OK")]), agent.checker)?;
    let beat = agent.place.murmur(&["beat"]).env("CODEX_EXEC_SERVER_URL", "ws://127.0.0.1:9").output()?;
    let root = agent.place.folder.path().to_path_buf();
    ensure!(root.join("site/ran").exists(), "{beat:?}");
    std::fs::remove_file(root.join("site/ran"))?;
    std::fs::write(
        root.join(ENVIRONMENTS),
        "[[environments]]\nid = \"remote\"\nurl = \"ws://127.0.0.1:9\"\n",
    )?;
    agent.prepare(&json!([call("call_1", "touch ran"), text("HEARTBEAT_OK")]), agent.checker)?;
    agent.place.murmur(&["beat"]).output()?;
    let line = agent.line()?;
    let error = line["error"].as_str().unwrap_or_default();
    ensure!(error.starts_with("the guard cannot check calls in the environments of "), "{line}");
    ensure!(!root.join("site/ran").exists(), "{line}");
    Ok(())
}

/// Of a hosted agent, people are told which call was denied and why.
pub(super) fn denied(agent: &mut Agent) -> Result<()> {
    agent.prepare(&json!([agent.asks("sudo ls"), text("HEARTBEAT_OK")]), agent.checker)?;
    agent.place.run(&["agent", "start", "--backend", agent.name, "--agent-id", HOSTED, "Go"])?;
    let follow = ["attach", HOSTED, "--from", "0", "--json"];
    let mut attached = agent.place.murmur(&follow).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(attached.stdout.take().context("no stdout")?).lines();
    let is_idle = |line: std::io::Result<String>| -> bool {
        let line: Value = line.ok().and_then(|line| serde_json::from_str(&line).ok()).unwrap_or_default();
        line["event_type"] == "state" && line["payload"]["state"] == "idle" && line["payload"]["turns"] == 1
    };
    let has_ended = lines.by_ref().any(is_idle);
    drop((attached.kill(), attached.wait()));
    ensure!(has_ended, "the turn has no end");
    for args in [&["agent", "list"][..], &["agent", "show", HOSTED]] {
        let shown = String::from_utf8_lossy(&agent.place.run(args)?.stdout).into_owned();
        let said = "the turn was canceled, after murmur denied Bash(sudo ls): `sudo ls` is refused";
        ensure!(shown.contains(said), "{args:?}: {shown}");
    }
    agent.place.run(&["agent", "stop", HOSTED]).map(drop)
}
