//! What is special about the real codex-acp: a denial cancels the turn.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Agent, HOSTED, text};

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
