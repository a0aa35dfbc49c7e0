//! Beats and hosted agents of the real OpenCode with agents in the user's settings that ask about nothing.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Agent, HOSTED, text};
use crate::permits::call;
use crate::place::MCP_SERVER;

/// Adds `more` to the user's `settings`.
fn set(agent: &Agent, settings: &Value, more: Value) -> Result<()> {
    let mut settings = settings.clone();
    for (key, value) in more.as_object().into_iter().flatten() {
        settings[key] = value.clone();
    }
    let path = agent.place.folder.path().join("home/.config/opencode/opencode.json");
    Ok(std::fs::write(path, settings.to_string())?)
}

fn settings(agent: &Agent) -> Result<Value> {
    let path = agent.place.folder.path().join("home/.config/opencode/opencode.json");
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// Nothing that the user's settings allow runs without a decision, and another default agent is refused.
pub(super) fn own_permissions(agent: &mut Agent) -> Result<()> {
    let root = agent.place.folder.path().to_path_buf();
    let (before, ran, server) = (settings(agent)?, root.join("site/ran"), root.join("server.js"));
    std::fs::write(&server, MCP_SERVER)?;
    let mcp = json!({ "own": { "type": "local", "command": ["node", server, &ran] } });
    let mine = json!({ "mode": "primary", "permission": "allow" });
    let allowing = json!({ "permission": { "*": "allow", "task": "allow", "own_*": "allow" } });
    let disabled = json!({ "disable": true, "mode": "subagent", "hidden": true });
    for more in [
        json!({ "agent": { "build": disabled, "mine": mine } }),
        json!({ "mode": { "build": allowing } }),
        json!({ "agent": { "build": allowing }, "permission": "allow", "mcp": mcp }),
    ] {
        set(agent, &before, more.clone())?;
        let mark = json!([{ "type": "tool_use", "id": "call_2", "name": "own_mark", "input": {} }]);
        agent.prepare(&json!([call("call_1", "touch ran"), mark, text("HEARTBEAT_OK")]), "deny")?;
        agent.place.murmur(&["beat"]).output()?;
        let line = agent.line()?;
        ensure!(line["unguarded"].is_null() && !ran.exists(), "{more}: {line}");
        let denials = if more["mcp"].is_null() { json!(["Bash"]) } else { json!(["Bash", "own_mark"]) };
        ensure!(line["denials"] == denials, "{more}: {line}");
    }
    set(agent, &before, json!({ "default_agent": "mine", "agent": { "mine": mine } }))?;
    agent.place.murmur(&["beat"]).output()?;
    let line = agent.line()?;
    let error = line["error"].as_str().unwrap_or_default();
    ensure!(error.starts_with("murmur runs OpenCode's agent \"build\""), "{line}");
    // What its hint says.
    let own = "[acp.opencode]\nenv = { OPENCODE_CONFIG_CONTENT = '{\"default_agent\":\"build\"}' }\n";
    std::fs::write(root.join("data/config/config.toml"), own)?;
    agent.place.murmur(&["beat"]).output()?;
    let line = agent.line()?;
    ensure!(line["denials"][0] == "Bash" && line["unguarded"].is_null() && !ran.exists(), "{line}");
    Ok(())
}

/// A message that names a command of an agent of the user, and a conversation with that agent, go on with `build`.
pub(super) fn own_agent(agent: &mut Agent) -> Result<()> {
    let mine = json!({ "mode": "primary", "permission": "allow" });
    let command = json!({ "template": "Do it", "agent": "mine" });
    let more = json!({ "agent": { "mine": mine }, "command": { "own": command } });
    set(agent, &settings(agent)?, more)?;
    agent.prepare(&json!([text("Hello.")]), Value::Null)?;
    let mut person =
        agent.place.program("home/bin/opencode", &["run", "--agent", "mine", "--format", "json", "Hi"]);
    let said = String::from_utf8(person.stdin(Stdio::null()).output()?.stdout)?;
    let said: Value = serde_json::from_str(said.lines().next().context("no output")?)?;
    let session = said["sessionID"].as_str().context("no session")?;
    let start = ["agent", "start", "--backend", agent.name, "--agent-id", HOSTED];
    for (more, done) in [(&["/own"][..], 0), (&["--resume", session, "Go on"], 1)] {
        let mut script = vec![text("Hello."); done];
        script.extend([call("call_1", "sudo -n touch ran"), text("Done.")]);
        agent.prepare(&script.into(), Value::Null)?;
        agent.place.run(&[&start[..], more].concat())?;
        agent.said_by_hosted()?;
        agent.place.run(&["agent", "stop", HOSTED])?;
        let journal = agent.place.run(&["log", "--json"])?.stdout;
        ensure!(journal.is_empty(), "{more:?}: {}", String::from_utf8_lossy(&journal));
        let decisions = std::fs::read_to_string(agent.place.folder.path().join("data/decisions.jsonl"))?;
        ensure!(decisions.lines().count() == done + 1, "{more:?}: {decisions}");
    }
    Ok(())
}
