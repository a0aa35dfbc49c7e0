//! What is special about beats of the real Gemini CLI.

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::Agent;
use crate::place::Place;

/// Without credentials there is no conversation.
pub(super) fn not_logged_in(agent: &mut Agent) -> Result<()> {
    agent.prepare(&json!([]), "off")?;
    std::fs::remove_file(agent.place.folder.path().join("data/config/config.toml"))?;
    agent.place.murmur(&["beat"]).output()?;
    let line = agent.line()?;
    let error = line["error"].as_str().unwrap_or_default();
    ensure!(line["outcome"] == "error" && error.contains("the agent is not logged in"), "{line}");
    let found = agent.place.murmur(&["doctor", "--json"]).output()?;
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    ensure!(found.contains("protocol 1; session capabilities: "), "{found}");
    Ok(())
}

/// Gives the conversations of Gemini another minute: it forgets one that is loaded in the minute in which it began.
pub(super) fn age_conversations(place: &Place) -> Result<()> {
    let folder = place.folder.path().join("home/.gemini/tmp/site/chats");
    for entry in std::fs::read_dir(&folder)? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        let (_, id) = name.rsplit_once('-').context("no id")?;
        std::fs::rename(folder.join(&name), folder.join(format!("session-2026-01-01T00-00-{id}")))?;
    }
    Ok(())
}
