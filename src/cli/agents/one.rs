//! A single agent: its details and latest actions.

use super::super::style::{Colors, Style, plain_line};
use super::object;
use super::table::state;
use crate::agents::{Agent, activity};
use anyhow::Context;
use derun::cli::json::print as print_json;
use derun::cli::span::span;
use derun::cli::stdout::stdout;
use derun::cli::wrapped::{Wrapped, output_width};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use murmur_core::id::SessionId;
use murmur_store::pulse::Pulse;
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;
use sys::failure;
use sys::paths::DataDir;
use sys::text::shown_line;

/// Shows the agent `wanted`, one of `agents`.
pub(super) fn show(
    dir: &DataDir,
    agents: &[Agent],
    wanted: &str,
    (count, json): (usize, bool),
    now: Timestamp,
) -> anyhow::Result<ExitCode> {
    let agent = agents.iter().find(|agent| agent.agent_id == wanted);
    let agent = agent.ok_or_else(|| failure!("no agent {wanted:?}"; "see: murmur agent list"))?;
    let actions = activity::last(dir, wanted, count).with_context(|| {
        format!("cannot read the latest actions of {wanted} in {}", dir.agent(wanted).display())
    })?;
    let width = output_width().filter(|_| !json);
    let mut out = Wrapped::new(stdout().lock(), width);
    if json {
        print_json(&mut out, "agent/1", &json!({ "agent": object::of(agent, now), "actions": actions }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::of_stdout();
    let age = span(now.duration_since(agent.at));
    let health = style.health(agent.health);
    let states = match state(agent) {
        // Agents that have ended have one word for both.
        state if state == agent.health.as_str() => health,
        state => format!("{state}, {health}"),
    };
    writeln!(out, "{}  {states}", style.bold(shown_line(wanted)))?;
    let last_seen = format!("{age} ago, according to its {}", word(agent));
    let pid = agent.pid.map(|pid| pid.to_string()).unwrap_or_default();
    let workspace = agent.workspace.to_string_lossy();
    let backend = if agent.backend.is_default() { String::new() } else { agent.backend.to_string() };
    let rows = [
        ("backend", &*backend),
        ("last seen", &last_seen),
        ("tool", &agent.tool_name),
        ("action", &agent.last_action),
        ("error", agent.error.as_deref().unwrap_or_default()),
        ("task", &agent.current_task),
        ("branch", &agent.git_branch),
        ("workspace", &workspace),
        ("process", &pid),
        ("session", agent.session_id.as_ref().map_or("", SessionId::as_str)),
    ];
    for (name, text) in rows.into_iter().filter(|(_, text)| !text.is_empty()) {
        writeln!(out, "  {name:<9}  {}", plain_line(text))?;
    }
    if !actions.is_empty() {
        writeln!(out)?;
    }
    let zone = sys::clock::local_zone();
    actions.iter().try_for_each(|pulse| action(&mut out, style, pulse, &zone))?;
    Ok(ExitCode::SUCCESS)
}

fn word(agent: &Agent) -> &'static str {
    match agent.source {
        crate::agents::Source::Host => "host",
        crate::agents::Source::Pulse => "pulse",
        crate::agents::Source::Session => "Claude Code's session files",
    }
}

/// Prints a past action.
fn action(out: &mut impl Write, style: Style, pulse: &Pulse, zone: &TimeZone) -> io::Result<()> {
    let when = pulse.at().map(|at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string());
    let what = if pulse.tool_name.is_empty() { pulse.state.as_str() } else { &pulse.tool_name };
    let mut line = format!("{}  {}", style.dim(when.unwrap_or_default()), plain_line(what));
    let action = plain_line(&pulse.last_action);
    if !action.is_empty() {
        line = format!("{line}: {action}");
    }
    if let Some(error) = &pulse.error {
        line = format!("{line}  ({})", plain_line(error));
    }
    writeln!(out, "{line}")
}
