//! The host of a real Claude Code, suspended while it works.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sys::fifo;

use crate::live::{AGENT, Events, status};
use crate::place::Place;

/// A host that no longer answers is reported to people.
pub(crate) fn a_suspended_host(claude: &Path) -> Result<()> {
    let late = json!({ "delay_ms": 600_000, "content": [{ "type": "text", "text": "Done." }] });
    let place = Place::new(claude, &json!([late]))?;
    let (root, told) = (place.folder.path(), place.folder.path().join("told"));
    fifo::make(&told)?;
    std::fs::create_dir_all(root.join("data/config"))?;
    let settings = format!(
        "[quiet]\nstale = \"1s\"\nwarning = \"2s\"\nstuck = \"3s\"\n\
         [notify]\nwhen = [\"stuck\"]\ncooldown = \"1s\"\n\
         [notify.channels.own]\ntype = \"command\"\ncommand = [\"tee\", {told:?}]\n"
    );
    std::fs::write(root.join("data/config/config.toml"), settings)?;
    place.run(&["host", "spawn", "Work.", "--agent-id", AGENT])?;
    Events::follow(&place)?.until_state("running")?;
    let pid = status(&place)?["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    let pid = pid.and_then(Pid::from_raw).context("no host")?;
    kill_process(pid, Signal::STOP)?;
    let checked = place.run(&["start"]).and_then(|_| check_report(&place, &told));
    kill_process(pid, Signal::CONT)?;
    checked?;
    place.run(&["host", "stop", AGENT]).map(drop)
}

fn check_report(place: &Place, told: &Path) -> Result<()> {
    // Blocks until the channel's command has written it.
    let message: Value = serde_json::from_slice(&std::fs::read(told)?)?;
    let event = &message["events"][0];
    ensure!(event["kind"] == "stuck" && event["agent"] == AGENT, "{message}");
    let journal = place.run(&["log", "--json"])?.stdout;
    let line: Value = serde_json::from_slice(&journal)?;
    ensure!(line["kind"] == "stuck" && line["outcome"] == "attention" && line["agent"] == AGENT, "{line}");
    let said = line["summary"].as_str().unwrap_or_default();
    ensure!(said.starts_with(&format!("the host of agent {AGENT} does not answer")), "{line}");
    Ok(())
}
