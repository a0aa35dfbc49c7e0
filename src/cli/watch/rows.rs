//! What murmur knows → rows of the view.

use super::super::heartbeat_name::ShortNames;
use super::super::inbox::{self, entry::InboxEntry, list};
use super::super::requests;
use super::super::status::table;
use super::super::style::{remarks, text_of};
use super::extras::Extras;
use crate::agents::Agent;
use crate::agents::hosted::{HostStatus, Hosted};
use crate::daemon::broker::{RequestKind, RequestRow};
use crate::daemon::status::{HeartbeatStatus, Status};
use jiff::Timestamp;
use murmur_core::config::heartbeat::HeartbeatId;
use murmur_core::permit::question::QuestionSet;
use murmur_core::permit::request::DEFERRED;
use murmur_core::usage_limit::spoken;
use murmur_outcome::OutcomeKind;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::limits::{Limits, REJECTED};
use murmur_store::pulse::health::Health;
use std::path::Path;
use sys::paths::DataDir;
use sys::text::lookalikes;
use watch::Text;
use watch::rows;

fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// The daemon, according to its status.
pub(super) fn daemon(status: &Status) -> rows::Daemon {
    match &status.daemon {
        Some(daemon) => rows::Daemon::Up {
            version: Text::new(&daemon.version),
            since: time(&daemon.started_at).unwrap_or(Timestamp::UNIX_EPOCH),
        },
        None => rows::Daemon::Down(Text::new("is not running; start it with: murmur start")),
    }
}

/// All heartbeats.
pub(super) fn heartbeats(status: &Status, now: Timestamp) -> Vec<rows::Heartbeat> {
    let titles = table::names(&status.heartbeats);
    let named = |(row, title): (&HeartbeatStatus, String)| rows::Heartbeat {
        title: Text::new(&title),
        ..heartbeat(row, now)
    };
    status.heartbeats.iter().zip(titles).map(named).collect()
}

fn heartbeat(row: &HeartbeatStatus, now: Timestamp) -> rows::Heartbeat {
    let held = row.held.as_ref();
    let running = row.running.as_ref();
    let waits_for = running.and_then(|running| running.waits_for.as_ref()).or(row.waits_for.as_ref());
    let state = if running.is_some_and(|running| running.waits_for.is_some()) {
        rows::HeartbeatState::Waits
    } else if let Some(since) = running.and_then(|running| time(&running.since)) {
        rows::HeartbeatState::Running(since)
    } else if row.waits_for.is_some() {
        rows::HeartbeatState::Waits
    } else if row.problem.is_some() {
        rows::HeartbeatState::Off("problem")
    } else if let Some(pause) = &row.paused {
        rows::HeartbeatState::Paused(pause.until)
    } else if !row.enabled {
        rows::HeartbeatState::Off("disabled")
    } else if row.unedited || !row.approved {
        rows::HeartbeatState::Off("new")
    } else if let Some(until) = held.and_then(|held| time(&held.until)) {
        rows::HeartbeatState::Held(until)
    } else if row.waiting {
        rows::HeartbeatState::Due
    } else {
        match row.next_run.as_deref().and_then(time) {
            Some(next) if next <= now => rows::HeartbeatState::Due,
            Some(next) => rows::HeartbeatState::Next(next),
            None if row.schedule.is_some() => rows::HeartbeatState::Off("no daemon"),
            None => rows::HeartbeatState::Off("manual"),
        }
    };
    let why = row.problem.as_deref().or(held.map(|held| &*held.why));
    let paused = row.paused.as_ref().and_then(|pause| pause.reason.as_deref());
    let note = match (why, paused) {
        (Some(why), _) | (None, Some(why)) => why.to_owned(),
        _ if waits_for.is_some() => "waits for your answer: see the inbox".to_owned(),
        _ if row.unedited => "HEARTBEAT.md is not edited yet".to_owned(),
        _ if !row.approved => "not approved: murmur approve".to_owned(),
        _ if row.failures > 1 => format!("failed {} times in a row", row.failures),
        _ => row.notices.first().cloned().unwrap_or_default(),
    };
    rows::Heartbeat {
        id: row.id.as_str().into(),
        title: Text::default(),
        schedule: Text::new(row.schedule.as_deref().unwrap_or("no schedule")),
        state,
        note: Text::new(&note),
        beat: running.map(|running| running.beat.to_string()),
        is_failing: row.problem.is_some() || row.failures > 0,
    }
}

/// An agent, with what its host says.
pub(super) fn agent(agent: &Agent, host: Option<&Hosted>, extras: Extras) -> rows::Agent {
    let is_hosted = host.is_some_and(Hosted::is_alive);
    let since = host.filter(|_| agent.health != Health::Exited).and_then(|host| host.started_at);
    let doing = match (&*agent.tool_name, &*agent.last_action) {
        ("", "") => agent.current_task.clone(),
        ("", action) => action.to_owned(),
        (tool, "") => tool.to_owned(),
        (tool, action) => format!("{tool}: {action}"),
    };
    let doing = match &agent.error {
        Some(error) if agent.state == "idle" => format!("failed: {error}"),
        _ => doing,
    };
    let beat = host.filter(|host| matches!(host.status, HostStatus::Up { .. }));
    rows::Agent {
        id: agent.agent_id.as_str().into(),
        name: Text::new(&agent.agent_id),
        health: match agent.health {
            Health::Active => rows::Health::Active,
            Health::Idle => rows::Health::Idle,
            Health::Stale => rows::Health::Stale,
            Health::Warning => rows::Health::Warning,
            Health::Stuck => rows::Health::Stuck,
            Health::Waiting => rows::Health::Waiting,
            Health::Exited => rows::Health::Exited,
            Health::Dead => rows::Health::Dead,
        },
        state: Text::new(agent.state),
        doing: Text::new(&doing),
        folder: Text::new(&agent.workspace.display().to_string()),
        since: since.unwrap_or(agent.at),
        context: extras.context.zip(extras.window),
        cost: extras.cost,
        beat: beat.and_then(|host| host.beat.as_ref()).map(ToString::to_string),
        is_hosted,
    }
}

/// A request.
pub(super) fn request(row: &RequestRow, name: &str) -> rows::Request {
    let input = requests::input(row);
    let summary = match row.input.get("command").or_else(|| row.input.get("file_path")) {
        Some(serde_json::Value::String(text)) => Text::new(text),
        _ => Text::new(input.trim_start_matches(['{', '\n', ' '])),
    };
    let mut body = Text::lines(&input);
    for (word, letters) in lookalikes(&row.input.to_string()) {
        let letters: Vec<String> =
            letters.iter().map(|letter| format!("{letter} is U+{:04X}", u32::from(*letter))).collect();
        body.push(Text::new(&format!("note: lookalike letters: {} in {word}", letters.join(", "))));
    }
    if row.cwd != row.workspace {
        body.push(Text::new(&format!("in {}", row.cwd.display())));
    }
    if row.doubt.is_none()
        && let Some(reading) = requests::reading(row)
    {
        body.extend(Text::lines(&reading));
    }
    let asked = if row.kind == RequestKind::Question { QuestionSet::parse(&row.input).ok() } else { None };
    let questions = asked.iter().flat_map(QuestionSet::questions).map(|question| rows::Question {
        text: Text::new(&question.question),
        options: question.options.iter().map(|option| Text::new(&option.label)).collect(),
    });
    rows::Request {
        id: row.id.to_string(),
        name: Text::new(name),
        agent: row.agent.as_str().into(),
        asker: Text::new(&format!("{} in {}", row.agent, row.workspace.display())),
        tool: Text::new(&row.tool),
        summary,
        body,
        doubt: row.doubt.as_deref().map(Text::new),
        questions: questions.collect(),
        is_deferred: row.state == DEFERRED,
        asked: time(&row.asked_at).unwrap_or(Timestamp::UNIX_EPOCH),
        expires: row.expires_at.as_deref().and_then(time),
    }
}

/// The entries of the inbox that the status has, nearest deadline first.
pub(super) fn to_solve(status: &Status, dir: &DataDir, home: &Path) -> Vec<rows::Problem> {
    let mut entries = list::of_status(status, dir, home);
    entries.sort_by_key(InboxEntry::order);
    inbox::given(dir, entries).iter().map(to_solve_one).collect()
}

fn to_solve_one(entry: &InboxEntry) -> rows::Problem {
    let text = entry.text.as_deref().unwrap_or_default();
    rows::Problem {
        id: entry.key(),
        name: Text::new(&entry.number.map_or_else(|| "-".to_owned(), |number| number.to_string())),
        kind: entry.kind.name,
        text: Text::new(text),
        body: Text::lines(text),
        since: entry.since,
        deadline: entry.deadline,
        command: Text::lines(&entry.command),
    }
}

/// The entry of a stuck agent. Its time is shown apart, since it grows.
pub(super) fn stuck(agent: &Agent, name: &str) -> rows::Problem {
    let text = format!("{} is stuck: it has done nothing", agent.agent_id);
    rows::Problem {
        id: format!("stuck\n{}", agent.agent_id),
        name: Text::new(name),
        kind: "stuck",
        text: Text::new(&text),
        body: Text::lines(&text),
        since: Some(agent.at),
        deadline: None,
        command: Text::lines(&list::show(agent)),
    }
}

/// A journal line.
pub(super) fn line(entry: &JournalEntry, names: &ShortNames) -> rows::LogLine {
    let id = HeartbeatId::new(Path::new(&entry.workspace), entry.heartbeat.as_deref());
    let name = names.of_heartbeat(&entry.workspace, entry.heartbeat.as_deref());
    let outcome = match entry.outcome {
        _ if entry.is_stopped() => rows::Outcome::Stopped,
        OutcomeKind::Attention if entry.waiting.is_some() => rows::Outcome::Waiting,
        OutcomeKind::Ok => rows::Outcome::Ok,
        OutcomeKind::Attention => rows::Outcome::Attention,
        OutcomeKind::Error => rows::Outcome::Error,
        OutcomeKind::Limited => rows::Outcome::Limited,
        OutcomeKind::Skipped => rows::Outcome::Skipped,
    };
    let text = format!("{}{}", remarks(entry), text_of(entry));
    rows::LogLine {
        at: entry.ended().or_else(|| entry.started()).unwrap_or(Timestamp::UNIX_EPOCH),
        heartbeat: id.as_str().into(),
        name: Text::new(&name),
        outcome,
        label: entry.kind.label(),
        took_ms: entry.duration_ms,
        cost: entry.cost_usd,
        text: Text::new(&text),
        beat: entry.beat.as_ref().map(ToString::to_string),
    }
}

/// All usage limits.
pub(super) fn limits(limits: &Limits, now: Timestamp) -> Vec<rows::Limit> {
    let mut all = Vec::new();
    for (account, usage) in &limits.accounts {
        let hold = usage.held(now);
        for (name, window) in &usage.windows {
            // A reset window is empty.
            let is_over = window.resets_at.is_some_and(|at| at <= now);
            all.push(rows::Limit {
                account: Text::new(account.as_str()),
                window: Text::new(&spoken(name)),
                used: window.utilization.filter(|_| !is_over),
                is_reached: window.status == REJECTED && !is_over,
                resets: window.resets_at,
                held: hold.filter(|hold| hold.window == *name).map(|hold| hold.until),
            });
        }
    }
    all
}
