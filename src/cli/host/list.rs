//! `murmur host list`, `status` and `discover`: lists hosts and their states.

use super::super::reported::in_background;
use super::super::runtime;
use super::super::style::{in_parentheses, plain_line, with_local_times};
use super::super::user_env::UserEnv;
use derun::cli::json::print as print_json;
use derun::cli::stdout::stdout;
use murmur_core::id::{BeatId, SessionId};
use murmur_host::discover::{self, ANSWER_TIMEOUT, HostInfo, HostState};
use murmur_host::protocol::Status;
use murmur_host::reap;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::ExitCode;
use sys::clock;
use sys::process::Exit;
use sys::text::shown_line;

pub(super) fn list(all: bool, json: bool, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    let mut seen = runtime()?.block_on(discover::scan(&dir.hosts(), ANSWER_TIMEOUT))?;
    seen.retain(|seen| all || seen.is_alive());
    let mut out = stdout().lock();
    if json {
        let agents: Vec<Value> = seen.iter().map(HostInfo::object).collect();
        print_json(&mut out, "hosts/1", &json!({ "agents": agents }))?;
    } else if seen.is_empty() {
        writeln!(out, "no agents; start one with: murmur agent start")?;
    } else {
        table(&mut out, &seen)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(out: &mut impl Write, seen: &[HostInfo]) -> io::Result<()> {
    let head = ["AGENT", "PROJECT", "ROLE", "STATE"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(seen.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [agent, project, role] = [0, 1, 2].map(width);
    for [id, of, what, state] in &rows {
        writeln!(out, "{id:agent$}  {of:project$}  {what:role$}  {state}")?;
    }
    Ok(())
}

fn row(seen: &HostInfo) -> [String; 4] {
    let info = seen.record.as_ref().map(|record| &record.info);
    let [project, role] = [info.map(|info| &info.project), info.map(|info| &info.role)]
        .map(|text| text.map_or_else(|| "?".to_owned(), |text| plain_line(text)));
    let backend = info.map(|info| in_parentheses(&info.backend)).unwrap_or_default();
    [format!("{}{backend}", seen.agent_id), project, role, state(&seen.condition)]
}

fn state(condition: &HostState) -> String {
    format!("{}{}", condition.as_str(), in_background(condition.background() as u64))
}

pub(super) fn status(agent: &str, json: bool, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    let agent = &super::meant(&dir, agent, env)?;
    let seen = runtime()?.block_on(super::find(&dir, agent))?;
    let mut out = stdout().lock();
    if json {
        print_json(&mut out, "host/1", &seen.object())?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "Agent ID: {agent}")?;
    let info = seen.record.as_ref().map(|record| &record.info);
    if let Some(info) = info {
        writeln!(out, "Project: {}\nRole: {}", shown_line(&info.project), shown_line(&info.role))?;
        if !info.backend.is_default() {
            writeln!(out, "Backend: {}", info.backend)?;
        }
    }
    writeln!(out, "State: {}", state(&seen.condition))?;
    if let Some(issue) = info.and_then(|info| info.issue.as_deref()) {
        writeln!(out, "Issue: #{}", plain_line(issue))?;
    }
    match &seen.condition {
        HostState::Up(status) => live(&mut out, status)?,
        HostState::Incompatible(pong) => writeln!(
            out,
            "Protocol: {} (murmur {}), not compatible with this murmur",
            plain_line(&pong.protocol_version),
            plain_line(&pong.version)
        )?,
        HostState::Ended(ended) => {
            match (ended.exit, &ended.error) {
                (Some(Exit::Code(code)), _) => writeln!(out, "Exit: code {code}")?,
                (Some(Exit::Signal(signal)), _) => writeln!(out, "Exit: signal {signal}")?,
                (None, Some(error)) => writeln!(out, "Error: {}", plain_line(error))?,
                (None, None) => {}
            }
            writeln!(out, "Ended: {}", plain_line(&ended.ended_at))?;
        }
        HostState::Silent | HostState::Dead => {}
    }
    let capture = seen.record.as_ref().and_then(|record| record.capture.as_ref());
    if let Some(capture) = capture {
        writeln!(out, "Capture: {}", plain_line(capture.as_str()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn live(out: &mut impl Write, status: &Status) -> io::Result<()> {
    writeln!(out, "Stream Offset: {}", status.stream_offset)?;
    writeln!(out, "Attached Clients: {}", status.attached_clients)?;
    writeln!(out, "Worktree: {}", shown_line(&status.info.worktree.display().to_string()))?;
    if let Some(pid) = status.agent_pid {
        writeln!(out, "PID: {pid} (host {})", status.pid)?;
    }
    let hold = status.hold.as_deref().map(with_local_times);
    let lines = [
        ("Beat", status.info.beat.as_ref().map(BeatId::as_str)),
        ("Session", status.session_id.as_ref().map(SessionId::as_str)),
        ("Lost", status.lost.as_deref()),
        ("On hold until", hold.as_deref()),
    ];
    for (name, text) in lines.into_iter().filter_map(|(name, text)| Some((name, text?))) {
        writeln!(out, "{name}: {}", plain_line(text))?;
    }
    Ok(())
}

pub(super) fn discover(json: bool, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    let cleaned = reap::reap_dead(&dir.hosts(), clock::now())?;
    let seen = runtime()?.block_on(discover::scan(&dir.hosts(), ANSWER_TIMEOUT))?;
    let alive: Vec<&HostInfo> = seen.iter().filter(|seen| seen.is_alive()).collect();
    let mut out = stdout().lock();
    if json {
        let agents: Vec<Value> = alive.into_iter().map(HostInfo::object).collect();
        print_json(&mut out, "hosts/1", &json!({ "agents": agents, "cleaned": cleaned }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    writeln!(out, "Discovered {}", count(alive.len(), "running host"))?;
    for agent in &cleaned.reaped {
        writeln!(out, "Cleaned up after {agent}, whose host was killed")?;
    }
    let stale = cleaned.sockets.saturating_sub(cleaned.reaped.len());
    if stale > 0 {
        writeln!(out, "Removed {}", count(stale, "stale socket"))?;
    }
    Ok(ExitCode::SUCCESS)
}
