//! Beats of the real Codex with the user's own sandbox, and with a hook whose shell is killed.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Agent, text};
use crate::permits::{Watch, call};
use crate::place::MCP_SERVER;

/// Sets the user's sandbox to `workspace-write`, without the temporary folders that these checks run in.
fn set_sandbox(agent: &Agent) -> Result<()> {
    let path = agent.place.folder.path().join("home/.codex/config.toml");
    let settings = std::fs::read_to_string(&path)?.replace("danger-full-access", "workspace-write");
    let only_here = "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n";
    Ok(std::fs::write(&path, settings + only_here)?)
}

/// Writes inside the workspace, outside it, and outside it with a request to leave the sandbox.
pub(super) fn sandboxed(agent: &mut Agent) -> Result<()> {
    let root = agent.place.folder.path().to_path_buf();
    let outside = root.join("outside");
    let touch = format!("touch {}", outside.display());
    let mut asks = call("call_3", &touch);
    asks[0]["input"]["sandbox_permissions"] = "require_escalated".into();
    asks[0]["input"]["justification"] = "It writes.".into();
    let calls = [call("call_1", "touch inside"), call("call_2", &touch), asks];
    let script: Vec<Value> = calls.into_iter().chain([text("HEARTBEAT_OK")]).collect();
    agent.prepare(&script.into(), "off")?;
    set_sandbox(agent)?;
    agent.place.murmur(&["beat"]).output()?;
    let line = agent.line()?;
    let written = [root.join("site/inside").exists(), outside.exists()];
    ensure!(written == [true, false], "written inside and outside: {written:?}; {line}");
    let summary = format!("HEARTBEAT_OK, but the backend refused Bash({touch})");
    ensure!(line["summary"] == summary && line["denials"] == json!(["Bash"]), "{line}");
    // The second call runs, and fails in the sandbox.
    ensure!(agent.was_told(&["Read-only file system"])?, "no request has the error of the sandbox");
    let decisions = std::fs::read_to_string(root.join("data/decisions.jsonl"))?;
    ensure!(decisions.contains("Codex's sandbox (workspace-write) does not allow it"), "{decisions}");
    Ok(())
}

/// The shell of murmur's hook is killed. Codex runs the call, if it doesn't ask about it as well.
pub(super) fn shell_killed(agent: &mut Agent) -> Result<()> {
    let ran = agent.place.folder.path().join("site/ran");
    agent.place.replace_hook("kill -9 $PPID")?;
    for has_sandbox in [false, true] {
        agent.prepare(&json!([call("call_1", "touch ran"), text("HEARTBEAT_OK")]), "deny")?;
        if has_sandbox {
            set_sandbox(agent)?;
        }
        agent.place.murmur(&["beat"]).output()?;
        let line = agent.line()?;
        let error = match has_sandbox {
            true => "a call ran without a decision: Bash(touch ran)",
            false => "murmur's hook made no decision on a call, so it did not run: Bash(touch ran)",
        };
        ensure!(line["error"] == error, "{line}");
        // With a sandbox, whether the call has an effect before murmur kills it is a race.
        ensure!(has_sandbox || !ran.exists(), "the call has run without a sandbox");
    }
    Ok(())
}

/// The same for a tool of an MCP server that says it only reads, about which Codex doesn't ask.
pub(super) fn shell_killed_for_a_reader(agent: &mut Agent) -> Result<()> {
    agent.place.replace_hook("kill -9 $PPID")?;
    serve(agent, "reads")?;
    agent.prepare(&json!([mark(), text("HEARTBEAT_OK")]), "deny")?;
    agent.place.murmur(&["beat"]).output()?;
    let line = agent.line()?;
    let error = line["error"].as_str().unwrap_or_default();
    // Whether the server still gets the call is a race.
    ensure!(error.starts_with("a call ran without a decision: mcp__own__mark"), "{line}");
    Ok(())
}

/// Commands that Codex doesn't run, but whose patches it applies itself.
pub(super) fn patch_in_command(agent: &mut Agent) -> Result<()> {
    let site = agent.place.folder.path().join("site");
    std::fs::create_dir(site.join(".claude"))?;
    let patch =
        |path: &str| format!("<<'END'\n*** Begin Patch\n*** Add File: {path}\n+{{}}\n*** End Patch\nEND");
    let commands = [
        format!("apply_patch {}", patch("notes.md")),
        format!("apply_patch {}", patch(".claude/settings.json")),
        format!("applypatch {}", patch(".claude/settings.local.json")),
        format!("cd .claude && apply_patch {}", patch("other.md")),
    ];
    let calls = commands.iter().zip(1..).map(|(command, number)| call(&format!("call_{number}"), command));
    agent.prepare(&calls.chain([text("HEARTBEAT_OK")]).collect(), "off")?;
    agent.place.murmur(&["beat"]).output()?;
    let line = agent.line()?;
    ensure!(line["denials"] == json!(["Bash", "Bash", "Bash"]), "{line}");
    ensure!(line["unguarded"].is_null() && line["outcome"] == "attention", "{line}");
    let written =
        ["notes.md", ".claude/settings.json", ".claude/settings.local.json", ".claude/other.md", "other.md"];
    let written = written.map(|path| site.join(path).exists());
    ensure!(written == [true, false, false, false, false], "written: {written:?}; {line}");
    Ok(())
}

/// The file with Codex's environments.
pub(super) const ENVIRONMENTS: &str = "home/.codex/environments.toml";

/// An environment `remote` at an address, or as a program.
const AT_ADDRESS: &str = "[[environments]]\nid = \"remote\"\nurl = \"ws://127.0.0.1:9\"\n";
const AS_PROGRAM: &str = "[[environments]]\nid = \"remote\"\nprogram = \"false\"\n";

/// Nothing runs if Codex may run calls elsewhere: with a variable, which counts only without environments.toml, or an
/// environment in that file, even if it isn't the default.
pub(super) fn elsewhere(agent: &mut Agent) -> Result<()> {
    let root = agent.place.folder.path().to_path_buf();
    let default = |id: &str| format!("default = {id:?}\n");
    for (file, url, is_refused) in [
        (None, "ws://127.0.0.1:9", true),
        (Some(AT_ADDRESS.to_owned()), "", true),
        (Some(default("remote") + AT_ADDRESS), "", true),
        (Some(default("local") + AS_PROGRAM), "", true),
        (Some(String::new()), "ws://127.0.0.1:9", false),
    ] {
        if let Some(file) = &file {
            std::fs::write(root.join(ENVIRONMENTS), file)?;
        }
        agent.prepare(&json!([call("call_1", "touch ran"), text("HEARTBEAT_OK")]), "off")?;
        agent.place.murmur(&["beat"]).env("CODEX_EXEC_SERVER_URL", url).output()?;
        let line = agent.line()?;
        let error = line["error"].as_str().unwrap_or_default();
        let why = "cannot check calls in the environment \"remote\" of Codex";
        ensure!(error.contains(why) == is_refused, "{file:?} {url:?}: {line}");
        ensure!(root.join("site/ran").exists() != is_refused, "{file:?} {url:?}: {line}");
    }
    Ok(())
}

/// A call of the tool of an MCP server in the user's settings.
fn mark() -> Value {
    json!([{ "type": "tool_use", "id": "call_1", "name": "mcp__own__mark", "input": {} }])
}

/// Adds the MCP server to the user's settings, instead of an earlier one. Its tool writes `site/ran`.
fn serve(agent: &Agent, hint: &str) -> Result<()> {
    let root = agent.place.folder.path();
    let (settings, server) = (root.join("home/.codex/config.toml"), root.join("server.js"));
    std::fs::write(&server, MCP_SERVER)?;
    let text = std::fs::read_to_string(&settings)?;
    let before = text.split("[mcp_servers").next().unwrap_or_default();
    let ran = root.join("site/ran");
    let own = format!("[mcp_servers.own]\ncommand = \"node\"\nargs = [{server:?}, {ran:?}, {hint:?}]\n");
    Ok(std::fs::write(&settings, format!("{before}{own}"))?)
}

/// Calls of an MCP server's tool, whether it says that it only reads or not: a rule denies one, and a person allows
/// one.
pub(super) fn mcp(agent: &mut Agent) -> Result<()> {
    let root = agent.place.folder.path().to_path_buf();
    let ran = root.join("site/ran");
    let rules = root.join("data/config/permissions.toml");
    let script = json!([mark(), text("HEARTBEAT_OK")]);
    for hint in ["", "reads"] {
        serve(agent, hint)?;
        std::fs::write(&rules, "[[rules]]\ntool = \"mcp__own__*\"\naction = \"deny\"\n")?;
        agent.prepare(&script, "off")?;
        agent.place.run(&["beat"])?;
        let line = agent.line()?;
        ensure!(line["denials"] == json!(["mcp__own__mark"]) && !ran.exists(), "{hint}: {line}");
        std::fs::remove_file(&rules)?;
        agent.prepare(&script, "manual")?;
        agent.place.run(&["start"])?;
        let mut watch = Watch::follow(&agent.place, "permission")?;
        let begun = agent.place.murmur(&["beat"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let request = watch.opened()?;
        ensure!(request["tool"] == "mcp__own__mark" && !ran.exists(), "{hint}: {request}");
        agent.place.run(&["allow", request["id"].as_str().context("no id")?])?;
        begun.wait_with_output()?;
        let line = agent.line()?;
        ensure!(line["outcome"] == "ok" && line["denials"].is_null(), "{hint}: {line}");
        ensure!(ran.exists(), "{hint}: the call did not run: {line}");
        std::fs::remove_file(&ran)?;
        agent.place.run(&["stop"])?;
    }
    Ok(())
}
