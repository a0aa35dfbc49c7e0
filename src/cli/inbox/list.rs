//! `murmur inbox`: lists everything that waits for a person, nearest deadline first.

use super::super::requests;
use super::super::style::Style;
use super::super::user_env::UserEnv;
use super::super::{agents as cli_agents, runtime, status};
use super::entry::{InboxEntry, Kind};
use super::numbers;
use crate::agents::{self, Agent};
use crate::daemon::heartbeats::HoldKind;
use crate::daemon::status::{AccountHold, HeartbeatStatus, HeldStatus, Status, StatusRequest};
use derun::cli::json::print as print_json;
use derun::cli::span::span;
use derun::cli::stdout::{stdout, warn};
use derun::cli::wrapped::{output_width, wrapped_list};
use jiff::Timestamp;
use murmur_claude_files::trust::Workspaces;
use murmur_core::usage_limit::spoken;
use murmur_store::pulse::health::Health;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use sys::paths::DataDir;
use sys::text::{Styled, shown_line};
use sys::{clock, shell};

pub(super) fn run(json: bool, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let entries = runtime()?.block_on(entries(env))?;
    let mut out = stdout().lock();
    if json {
        print_json(&mut out, "inbox/1", &serde_json::json!({ "entries": entries }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Vec::new();
    print(&mut text, &entries)?;
    Styled(&mut out).write_all(wrapped_list(&String::from_utf8_lossy(&text), output_width()).as_bytes())?;
    if entries.iter().any(|entry| entry.request.is_some()) {
        requests::note_no_daemon(&env.read_data_dir()?)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn print(out: &mut impl Write, entries: &[InboxEntry]) -> io::Result<()> {
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        entry.print(out, Style::of_stdout(), clock::now())?;
    }
    if entries.is_empty() { writeln!(out, "nothing is waiting for you") } else { Ok(()) }
}

/// Everything that waits, nearest deadline first, with numbers.
pub(super) async fn entries(env: &UserEnv) -> anyhow::Result<Vec<InboxEntry>> {
    let (dir, now) = (env.read_data_dir()?, clock::now());
    let mut rows = requests::all(&dir).await?;
    rows.retain(requests::is_open);
    let mut entries: Vec<InboxEntry> = rows.into_iter().map(InboxEntry::request).collect();
    let status = status::current(&dir, env, StatusRequest::WITHOUT_SETTINGS, now).await?;
    entries.extend(of_status(&status, &dir, &env.home()));
    let agents = agents::all(&cli_agents::sources(env)?, now).await?;
    entries.extend(agents.iter().filter_map(|agent| stuck(agent, now)));
    entries.sort_by_key(InboxEntry::order);
    let subjects: Vec<_> = entries.iter().map(InboxEntry::subject).collect();
    let numbers = numbers::give_all(&dir, &subjects, |_| true, now).unwrap_or_else(|error| {
        // Without a number, a request still has its id.
        let _closed = warn(error.line());
        Vec::new()
    });
    let mut numbers = numbers.into_iter();
    Ok(entries.into_iter().map(|entry| entry.given(numbers.next())).collect())
}

/// The entries that the status has, unsorted: everything but requests and stuck agents.
pub(in crate::cli) fn of_status(status: &Status, dir: &DataDir, home: &Path) -> Vec<InboxEntry> {
    let denied = status.denied.iter().map(|denied| {
        InboxEntry::other(Kind::RULES, denied, denied.clone(), "murmur config check".to_owned())
    });
    let holds = status.holds.iter().map(|AccountHold { account, window, until }| {
        let what = format!("on hold: {account}, whose {} limit is reached", spoken(window));
        let about = format!("{account} {window}");
        InboxEntry::other(Kind::LIMIT, &about, what, "murmur limits".to_owned()).until(until)
    });
    let mut entries: Vec<InboxEntry> = denied.chain(holds).collect();
    let mut trust = Workspaces::of(dir, home);
    let mut repositories = HashSet::new();
    for heartbeat in &status.heartbeats {
        let holds = heartbeat.held.iter().chain(&heartbeat.also_held);
        entries.extend(holds.filter_map(|held| hold(heartbeat, held)));
        if let Some(untrusted) = trust.untrusted(heartbeat.workspace.as_ref(), &heartbeat.backend)
            && repositories.insert(&heartbeat.workspace)
        {
            // Without its hint, which is the command.
            let text = format!("{}: {untrusted}", heartbeat.workspace);
            let command = format!("murmur trust {}", shell::path(heartbeat.workspace.as_ref()));
            entries.push(InboxEntry::other(Kind::UNTRUSTED, &heartbeat.workspace, text, command));
        }
    }
    entries
}

/// The entry of an agent that is stuck.
pub(in crate::cli) fn stuck(agent: &Agent, now: Timestamp) -> Option<InboxEntry> {
    let lasted = span(now.duration_since(agent.at));
    let what = match agent.has_silent_host() {
        true => format!("the host of {} does not answer; nothing was seen for {lasted}", agent.agent_id),
        false => format!("{} is stuck: it has done nothing for {lasted}", agent.agent_id),
    };
    (agent.health == Health::Stuck)
        .then(|| InboxEntry::other(Kind::STUCK, &agent.agent_id, what, show(agent)).since(agent.at))
}

/// The command that shows what an agent does.
pub(in crate::cli) fn show(agent: &Agent) -> String {
    format!("murmur agent show {}", shell::word(&agent.agent_id))
}

/// The entry of what holds a heartbeat. The hold of its account has an entry of its own.
fn hold(heartbeat: &HeartbeatStatus, held: &HeldStatus) -> Option<InboxEntry> {
    let (kind, command) = match held.kind {
        HoldKind::Limit => return None,
        HoldKind::Reserve => (Kind::RESERVE, "murmur limits".to_owned()),
        HoldKind::Budget => (Kind::BUDGET, "murmur usage".to_owned()),
        HoldKind::Failures => (Kind::BREAKER, format!("murmur resume {}", shell::word(&heartbeat.id))),
    };
    let text = format!("{}: {}", shown_line(&heartbeat.id), held.why);
    Some(InboxEntry::other(kind, &heartbeat.id, text, command).until(&held.until))
}
