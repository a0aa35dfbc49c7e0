//! `murmur inbox`: lists everything that waits for a person, nearest deadline first.

use super::super::reported::how_to_answer;
use super::super::requests::{self, paragraph};
use super::super::style::{Style, plain_line};
use super::super::user_env::UserEnv;
use super::super::{agents as cli_agents, runtime, status};
use super::numbers;
use crate::agents::{self, Agent};
use crate::daemon::broker::{Kind, Row};
use crate::daemon::client;
use crate::daemon::status::{AccountHold, Status, StatusRequest};
use anyhow::bail;
use derun::cli::json::print as print_json;
use derun::cli::span::span;
use derun::cli::stdout::{stdout, warn};
use derun::cli::wrapped::{output_width, wrapped};
use jiff::Timestamp;
use murmur_claude_files::trust::Workspaces;
use murmur_core::permit::request::RequestId;
use murmur_core::usage_limit::spoken;
use murmur_rpc::client::AskError;
use murmur_store::pulse::health::Health;
use serde::Serialize;
use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use sys::error::Hinted;
use sys::paths::DataDir;
use sys::text::Shown;
use sys::{clock, failure, shell};
use tokio::time::timeout;

/// How long a daemon may take to end.
const ENDING: Duration = Duration::from_secs(2);

/// Something that waits for a person.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Entry {
    /// What it is: `approval`, `question`, `limit`, `breaker`, `rules`, `untrusted` or `stuck`.
    pub(in crate::cli) kind: &'static str,
    /// The number of a request, for `murmur allow`, `deny` and `answer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Row>,
    /// What it is about, if it isn't a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) text: Option<String>,
    /// When it ends by itself, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) deadline: Option<Timestamp>,
    /// The command that answers it or solves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) command: Option<String>,
}

pub(in crate::cli) fn run(json: bool, watch: bool, env: &UserEnv) -> anyhow::Result<ExitCode> {
    if watch {
        runtime()?.block_on(follow(json, env))?;
        return Ok(ExitCode::SUCCESS);
    }
    let entries = runtime()?.block_on(entries(env))?;
    let mut out = Shown(stdout().lock());
    if json {
        print_json(&mut out, "inbox/1", &serde_json::json!({ "entries": entries }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Vec::new();
    print(&mut text, &entries)?;
    out.write_all(wrapped(&String::from_utf8_lossy(&text), output_width()).as_bytes())?;
    if entries.iter().any(|entry| entry.request.is_some()) {
        requests::note_no_daemon(&env.read_data_dir()?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print<'a>(out: &mut impl Write, entries: impl IntoIterator<Item = &'a Entry>) -> io::Result<()> {
    let mut is_empty = true;
    for entry in entries {
        if !is_empty {
            writeln!(out)?;
        }
        entry.print(out, Style::of_stdout(), clock::now())?;
        is_empty = false;
    }
    if is_empty { writeln!(out, "nothing is waiting for you") } else { Ok(()) }
}

/// Shows the inbox again whenever it may have changed: in place on a terminal, elsewhere only new entries.
async fn follow(json: bool, env: &UserEnv) -> anyhow::Result<()> {
    let dir = env.read_data_dir()?;
    let mut daemon = match client::connect(&dir).await {
        Ok(daemon) => daemon,
        Err(AskError::Gone(_)) => {
            bail!(failure!("murmur is not running, so nothing new arrives"; "run: murmur start"))
        }
        Err(error) => bail!(error.failure().after("cannot reach the daemon: ")),
    };
    client::attach(&mut daemon, None).await?;
    let is_drawn = io::stdout().is_terminal() && !json;
    let mut shown = HashSet::new();
    loop {
        let mut entries = match entries(env).await {
            Ok(entries) => entries,
            Err(error) => {
                // A daemon that is ending answers in many ways, but then closes the connection.
                let ended = async { while daemon.next_event().await.is_ok() {} };
                match timeout(ENDING, ended).await {
                    Ok(()) => bail!(failure!("the daemon has ended"; "run: murmur start")),
                    Err(_) => return Err(error),
                }
            }
        };
        let mut text = Vec::new();
        if is_drawn {
            text.extend(b"\x1b[H\x1b[2J");
            let mut rows = Vec::new();
            print(&mut rows, &entries)?;
            let rows = wrapped(&String::from_utf8_lossy(&rows), output_width());
            Shown(&mut text).write_all(rows.as_bytes())?;
        } else {
            entries.retain(|entry| shown.insert(entry.identity()));
            for entry in &entries {
                match json {
                    true => writeln!(text, "{}", serde_json::to_string(entry)?)?,
                    false => entry.print(&mut Shown(&mut text), Style::of_stdout(), clock::now())?,
                }
            }
        }
        let mut out = stdout().lock();
        out.write_all(&text)?;
        out.flush()?;
        drop(out);
        match daemon.next_event().await {
            Ok(event) if event.event_type == murmur_rpc::envelope::LAGGED => {
                client::attach(&mut daemon, None).await?;
            }
            Ok(_) => {}
            Err(AskError::Gone(_)) => bail!(failure!("the daemon has ended"; "run: murmur start")),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Everything that waits, nearest deadline first.
async fn entries(env: &UserEnv) -> anyhow::Result<Vec<Entry>> {
    let (dir, now) = (env.read_data_dir()?, clock::now());
    let mut rows = requests::all(&dir).await?;
    rows.retain(requests::is_open);
    let ids: Vec<&RequestId> = rows.iter().map(|row| &row.id).collect();
    let numbers = if ids.is_empty() { Ok(Vec::new()) } else { numbers::give(&dir, &ids, now) };
    let numbers = numbers.unwrap_or_else(|error| {
        // Without a number, a request still has its id.
        let _closed = warn(error.line());
        Vec::new()
    });
    let mut numbers = numbers.into_iter();
    let mut entries: Vec<Entry> = rows.into_iter().map(|row| Entry::request(row, numbers.next())).collect();
    let status = status::current(&dir, env, StatusRequest::WITHOUT_SETTINGS, now).await?;
    entries.extend(of_status(&status, &dir, &env.home()));
    let agents = agents::all(&cli_agents::sources(env)?, now).await?;
    entries.extend(agents.iter().filter_map(|agent| Entry::stuck(agent, now)));
    entries.sort_by_key(Entry::order);
    Ok(entries)
}

/// The entries that the status has, unsorted: everything but requests and stuck agents.
pub(in crate::cli) fn of_status(status: &Status, dir: &DataDir, home: &Path) -> Vec<Entry> {
    let mut entries = Vec::new();
    entries.extend(status.denied.iter().map(|denied| Entry::other("rules", denied.clone(), None)));
    entries.extend(status.holds.iter().map(|AccountHold { account, window, until }| {
        let what = format!("on hold: {account}, whose {} limit is reached", spoken(window));
        Entry {
            deadline: until.parse().ok(),
            ..Entry::other("limit", what, Some("murmur limits".to_owned()))
        }
    }));
    let mut trust = Workspaces::of(dir, home);
    let mut repositories = HashSet::new();
    for heartbeat in &status.heartbeats {
        let id = plain_line(&heartbeat.id);
        if let Some(held) = heartbeat.held.as_ref().filter(|_| heartbeat.failures > 0) {
            let what = format!("{id}: {}", held.why);
            let command = format!("murmur resume {}", shell::word(&heartbeat.id));
            entries.push(Entry {
                deadline: held.until.parse().ok(),
                ..Entry::other("breaker", what, Some(command))
            });
        }
        if let Some(untrusted) = trust.untrusted(heartbeat.workspace.as_ref())
            && repositories.insert(&heartbeat.workspace)
        {
            let command = format!("murmur trust {}", shell::path(heartbeat.workspace.as_ref()));
            entries.push(Entry::other("untrusted", untrusted.line(), Some(command)));
        }
    }
    entries
}

/// The command that shows what an agent does.
pub(in crate::cli) fn show(agent: &Agent) -> String {
    format!("murmur agent show {}", shell::word(&agent.agent_id))
}

impl Entry {
    pub(super) fn request(row: Row, number: Option<u32>) -> Self {
        let name = number.map_or_else(|| row.id.to_string(), |number| number.to_string());
        let (kind, command) = match row.kind {
            Kind::Permission => ("approval", format!("murmur allow {name}")),
            Kind::Question => ("question", format!("murmur answer {name}")),
        };
        let deadline = row.expires_at.as_deref().and_then(|at| at.parse().ok());
        Self { kind, number, request: Some(row), text: None, deadline, command: Some(command) }
    }

    /// The entry of an agent that is stuck.
    fn stuck(agent: &Agent, now: Timestamp) -> Option<Self> {
        let lasted = span(now.duration_since(agent.at));
        let what = format!("{} is stuck: nothing happened for {lasted}", agent.agent_id);
        (agent.health == Health::Stuck).then(|| Self::other("stuck", what, Some(show(agent))))
    }

    /// Sorts entries: nearest deadline first.
    pub(in crate::cli) fn order(&self) -> (bool, Option<Timestamp>) {
        (self.deadline.is_none(), self.deadline)
    }

    fn other(kind: &'static str, text: String, command: Option<String>) -> Self {
        Self { kind, number: None, request: None, text: Some(text), deadline: None, command }
    }

    /// Tells entries apart while they are followed.
    fn identity(&self) -> String {
        let text = self.text.as_ref().map(|text| format!("{} {text}", self.kind));
        self.request.as_ref().map_or(text.unwrap_or_default(), |row| row.id.to_string())
    }

    /// Prints it with the command that answers or solves it.
    pub(super) fn print(&self, out: &mut impl Write, style: Style, now: Timestamp) -> io::Result<()> {
        let Some(row) = &self.request else {
            writeln!(
                out,
                "{}  {}",
                style.bold(self.kind),
                plain_line(self.text.as_deref().unwrap_or_default())
            )?;
            if let Some(deadline) = self.deadline.filter(|deadline| *deadline > now) {
                writeln!(
                    out,
                    "  {}",
                    style.dim(format_args!("ends in {}", span(deadline.duration_since(now))))
                )?;
            }
            return match &self.command {
                Some(command) => writeln!(out, "  see: {command}"),
                None => Ok(()),
            };
        };
        if let Some(number) = self.number {
            write!(out, "{}  ", style.bold(number))?;
        }
        paragraph(out, style, row, now)?;
        let name = self.number.map_or_else(|| row.id.to_string(), |number| number.to_string());
        let verb = if row.kind == Kind::Question { "answer" } else { "allow" };
        writeln!(out, "  {}", how_to_answer(verb, &name))
    }
}
