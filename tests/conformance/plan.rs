//! The real Claude Code and plan mode, which needs somebody to ask: it is refused to a beat, which
//! does its work anyway; a hosted agent enters and leaves it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::live::{AGENT, Events};
use crate::permits::{call, configure};
use crate::place::Place;

fn plans(id: &str, tool: &str) -> Value {
    json!([{ "type": "tool_use", "id": id, "name": tool, "input": {} }])
}

/// The file that the agent creates in its workspace.
fn made(place: &Place, name: &str) -> bool {
    place.folder.path().join("site").join(name).exists()
}

pub(crate) fn a_beat_is_refused_it(claude: &Path) -> Result<()> {
    let done = json!([{ "type": "text", "text": "HEARTBEAT_OK" }]);
    let script = json!([plans("toolu_1", "EnterPlanMode"), call("toolu_2", "touch made"), done]);
    for settings in [json!({}), json!({ "permissions": "skip" })] {
        let place = Place::new(claude, &script)?;
        std::fs::create_dir_all(place.folder.path().join("data"))?;
        configure(&place, &settings)?;
        let entry: Value = serde_json::from_slice(&place.run(&["beat", "--json"])?.stdout)?;
        ensure!(made(&place, "made"), "{settings}: the work was not done: {entry}");
        ensure!(entry["outcome"] == "ok" && entry["denials"] == json!(["EnterPlanMode"]), "{entry}");
    }
    Ok(())
}

pub(crate) fn a_live_agent_leaves_it(claude: &Path) -> Result<()> {
    let script = json!([
        plans("toolu_1", "EnterPlanMode"),
        plans("toolu_2", "ExitPlanMode"),
        call("toolu_3", "touch made"),
        [{ "type": "text", "text": "Done." }],
    ]);
    let place = Place::new(claude, &script)?;
    let settings = place.folder.path().join("data/config");
    DirBuilder::new().recursive(true).mode(0o700).create(&settings)?;
    std::fs::write(settings.join("config.toml"), "permissions-checker = \"off\"\n")?;
    place.run(&["host", "spawn", "Plan it.", "--agent-id", AGENT])?;
    let mut events = Events::follow(&place)?;
    events.until_state("idle")?;
    ensure!(made(&place, "made"), "it did not leave plan mode");
    Ok(())
}
