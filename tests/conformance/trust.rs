//! A hostile repository on the real Claude Code: its hooks, helper, servers and instructions create marker files or are
//! in the model's request. None does before `murmur trust`, all do after it, and none after a change.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::permits::configure;
use crate::place::Place;

/// What ran, sorted.
const ALL: &str = "above helper hook local mine server";

fn hostile(place: &Place) -> Result<()> {
    let root = place.folder.path();
    let ran = root.join("ran");
    for folder in ["ran", "site/.claude", "data"] {
        std::fs::create_dir_all(root.join(folder))?;
    }
    let mark = |name: &str| format!("touch {}/{name}", ran.display());
    let hook = |name: &str| json!([{ "hooks": [{ "type": "command", "command": mark(name) }] }]);
    let server = |name: &str| {
        // A server that is available here.
        let script = format!("{}; exec {} mcp", mark(name), root.join("bin/murmur").display());
        json!({ "mcpServers": { name: { "command": "sh", "args": ["-c", script] } } })
    };
    for (file, content) in [
        (
            "site/.claude/settings.json",
            json!({ "apiKeyHelper": format!("{}; echo scripted", mark("helper")),
            "hooks": { "SessionStart": hook("hook") } }),
        ),
        ("site/.claude/settings.local.json", json!({ "hooks": { "UserPromptSubmit": hook("local") } })),
        ("site/.mcp.json", server("server")),
        (".mcp.json", server("above")),
        ("home/.claude.json", server("mine")),
    ] {
        std::fs::write(root.join(file), content.to_string())?;
    }
    std::fs::write(root.join("site/CLAUDE.md"), "Be brief.\n")?;
    configure(place, &json!({}))
}

fn beat(place: &Place) -> Result<(String, Value)> {
    let entry: Value = serde_json::from_slice(&place.run(&["beat", "--json"])?.stdout)?;
    ensure!(entry["outcome"] == "ok", "{entry}");
    let mut names: Vec<String> = std::fs::read_dir(place.folder.path().join("ran"))?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort();
    Ok((names.join(" "), entry["repositoryUntrusted"].clone()))
}

pub(crate) fn of_a_hostile_repository(claude: &Path) -> Result<()> {
    let script = json!([[{ "type": "text", "text": "HEARTBEAT_OK" }]]);
    for (stage, expected) in
        [("untrusted", ("mine", true)), ("trusted", (ALL, false)), ("changed", ("mine", true))]
    {
        let place = Place::new(claude, &script)?;
        hostile(&place)?;
        if stage != "untrusted" {
            place.run(&["trust", "--yes"])?;
        }
        if stage == "changed" {
            let file = place.folder.path().join("site/.claude/settings.local.json");
            let text = std::fs::read_to_string(&file)?;
            std::fs::write(&file, format!("{text}\n"))?;
        }
        let (ran, untrusted) = beat(&place)?;
        ensure!(ran == expected.0, "{stage}: {ran} ran, and not {}", expected.0);
        ensure!(untrusted == json!(true) || !expected.1, "{stage}: {untrusted}");
    }
    Ok(())
}
