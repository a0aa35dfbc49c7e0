//! What is special about beats of the real goose: its plugins, and tools that make calls which nobody sees.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Agent, text};

/// A plugin whose hook leaves `mark`.
fn plugin(folder: &Path, mark: &Path) -> Result<()> {
    let hook = json!({ "hooks": [{ "type": "command", "command": format!("touch {}", mark.display()) }] });
    std::fs::create_dir_all(folder.join("hooks"))?;
    std::fs::write(
        folder.join("plugin.json"),
        json!({ "name": folder.file_name().and_then(|name| name.to_str()), "version": "1.0.0" }).to_string(),
    )?;
    let hooks = json!({ "hooks": { "SessionStart": [&hook], "UserPromptSubmit": [&hook] } });
    Ok(std::fs::write(folder.join("hooks/hooks.json"), hooks.to_string())?)
}

/// The user has goose plugins, too, one of them disabled.
pub(super) fn plugins(agent: &mut Agent) -> Result<()> {
    let root = agent.place.folder.path().to_path_buf();
    let ran = |name: &str| root.join(name).exists();
    let at = |folder: &str, name: &str| root.join(folder).join(".agents/plugins").join(name);
    for (folder, name) in [("home", "mine"), ("home", "disabled"), ("site", "repositorys")] {
        plugin(&at(folder, name), &root.join(name))?;
    }
    let settings = root.join("home/.config/goose/config.yaml");
    std::fs::create_dir_all(settings.parent().context("no folder")?)?;
    let before = format!("plugins:\n  {}:\n    enabled: false\n", at("home", "disabled").display());
    std::fs::write(&settings, &before)?;
    agent.prepare(&json!([text("HEARTBEAT_OK")]), "off")?;
    agent.place.run(&["beat"])?;
    let line = agent.line()?;
    ensure!(line["outcome"] == "ok", "{line}");
    let all = ["mine", "disabled", "repositorys"].map(ran);
    ensure!(all == [true, false, false], "ran: mine, the disabled, the repository's: {all:?}");
    let after = std::fs::read_to_string(&settings)?;
    ensure!(after == before, "the settings are now {after}");
    Ok(())
}

/// Agents of the agent, and code that calls tools, are not started, also if the extension for it is enabled.
pub(super) fn unseen(agent: &mut Agent) -> Result<()> {
    let root = agent.place.folder.path().to_path_buf();
    let enables = |extension: &str| {
        let input = json!({ "action": "enable", "extension_name": extension });
        json!([{ "type": "tool_use", "id": "call_0", "name": "extensionmanager__manage_extensions", "input": input }])
    };
    let code = "async function run() { return await Developer.shell({ command: 'touch ran' }); }";
    let graph = json!([{ "tool": "Developer.shell", "description": "Runs.", "depends_on": [] }]);
    let [delegate, execute, start] = [
        ("delegate", json!({ "instructions": "Run touch ran" })),
        ("execute_typescript", json!({ "code": code, "tool_graph": graph })),
        ("orchestrator__start_agent", json!({ "name": "own", "working_dir": root.join("site") })),
    ]
    .map(|(name, input)| json!([{ "type": "tool_use", "id": "call_1", "name": name, "input": input }]));
    for (script, denied) in [
        (vec![delegate], "delegate"),
        (vec![enables("code_execution"), execute], "execute_typescript"),
        (vec![enables("orchestrator"), start], "mcp__orchestrator__start_agent"),
    ] {
        let script: Vec<Value> = script.into_iter().chain([text("HEARTBEAT_OK")]).collect();
        agent.prepare(&script.into(), "off")?;
        agent.place.run(&["beat"])?;
        let line = agent.line()?;
        ensure!(line["outcome"] == "ok" && line["denials"] == json!([denied]), "{denied}: {line}");
        ensure!(line["unguarded"].is_null() && !root.join("site/ran").exists(), "{denied}: {line}");
    }
    Ok(())
}
