//! `murmur agent attach`: shows an agent's past and new events, across lost connections, daemon restarts and the end of
//! the agent.

use super::super::args::HostAttach;
use super::super::daemon_end::{self, daemon_ended};
use super::super::inbox;
use super::super::pieces::Pieces;
use super::super::reported;
use super::super::requests;
use super::super::runtime;
use super::super::style::Style;
use super::super::user_env::UserEnv;
use super::super::waits::{Change, Requests, Waits, Watcher, is_asking};
use super::context::LastTurn;
use super::show;
use crate::daemon::broker::RequestRow;
use anyhow::{Context, bail};
use derun::cli::captures;
use derun::cli::screen::{Screen, Wrapping};
use derun::cli::stdout::stdout;
use derun::id::SessionId as CaptureId;
use murmur_agent::backend;
use murmur_core::config::backend::Backend;
use murmur_core::id::AgentId;
use murmur_host::discover::{self, ANSWER_TIMEOUT, HostState};
use murmur_host::record::Record;
use murmur_host::replay::{Replay, StoredEvents};
use murmur_rpc::client::{AskError, Client};
use murmur_rpc::envelope::{Event, GAP, LAGGED, ServerMessage};
use murmur_rpc::feed::{Past, gap_line};
use murmur_store::journal::read::{Backward, Entries, FoundEntry};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use sys::failure;
use sys::identity::Identity;
use sys::paths::DataDir;

/// How long a host may take to answer `attach`.
const ANSWER: Duration = Duration::from_secs(5);

/// How long to wait before reconnecting to a host that does not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// How much of the past is parsed at once, in bytes.
const PAGE: usize = 256 << 10;

pub(in super::super) fn run(args: &HostAttach, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    let agent = super::meant(&dir, &args.agent, env)?;
    if args.json || !is_asking() {
        runtime()?.block_on(
            Follower::new(&dir, &agent, (args.from, args.json), &mut stdout().lock(), None).follow(),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    runtime()?.block_on(async {
        let screen = Screen::new(Wrapping::Words);
        let requests = Requests::new(&dir, env, screen.sink(), true);
        let waits = Waits::begin(requests.clone());
        let mut out = screen.sink();
        let tell = |change| waits.change(change);
        let watcher = Watcher { requests: &requests, tell: &tell };
        let from = (args.from, false);
        let followed = Follower::new(&dir, &agent, from, &mut out, Some(watcher)).follow().await;
        drop((waits, requests, out));
        screen.finish().await?;
        followed
    })?;
    Ok(ExitCode::SUCCESS)
}

struct Printer {
    json: bool,
    style: Style,
    pieces: Pieces,
}

pub(super) struct Follower<'a, W> {
    dir: &'a DataDir,
    agent: &'a AgentId,
    /// The next event to show; `None` until the host reports it.
    next: Option<u64>,
    /// The capture session and the backend, once known.
    ran: Option<(CaptureId, Backend)>,
    /// Where the agent works, once known.
    folder: String,
    printer: Printer,
    out: &'a mut W,
    /// Shows requests that wait, instead of the follower.
    watcher: Option<Watcher<'a>>,
}

/// Why following a connection ended.
enum FollowEnd {
    /// The agent has ended, and all events were shown.
    Ended,
    /// The connection was lost.
    Lost,
}

impl<'a, W: Write> Follower<'a, W> {
    pub(super) fn new(
        dir: &'a DataDir,
        agent: &'a AgentId,
        (from, json): (Option<u64>, bool),
        out: &'a mut W,
        watcher: Option<Watcher<'a>>,
    ) -> Self {
        let printer = Printer { json, style: Style::of_stdout(), pieces: Pieces::default() };
        Self { dir, agent, next: from, ran: None, folder: String::new(), printer, out, watcher }
    }

    pub(super) async fn follow(&mut self) -> anyhow::Result<()> {
        let mut was_there = false;
        loop {
            let seen = discover::find(&self.dir.hosts(), self.agent, ANSWER_TIMEOUT).await;
            match seen.map(|seen| (seen.condition, seen.record)) {
                Some((HostState::Up(status), _)) => {
                    was_there = true;
                    self.ran = status.capture.clone().map(|capture| (capture, status.info.backend.clone()));
                    self.folder = status.info.worktree.display().to_string();
                    if let FollowEnd::Ended = self.attached().await? {
                        return Ok(());
                    }
                }
                Some((HostState::Incompatible(_), _)) => {
                    super::connect(self.dir, self.agent).await?;
                }
                Some((HostState::Silent, record)) => wait(record.as_ref()).await,
                Some((HostState::Ended(ended), record)) => {
                    self.replay(capture_and_backend(record))?;
                    return ended.error.map_or(Ok(()), |error| bail!("agent {}: {error}", self.agent));
                }
                Some((HostState::Dead, record)) => {
                    if self.next.is_some() {
                        self.replay(capture_and_backend(record))?;
                    }
                    bail!(
                        failure!("the host of {} was killed", self.agent; "clean up with: murmur agent stop {}", self.agent)
                    )
                }
                // A beat's host removes its record; the journal names the session.
                None => {
                    let ran = self.ran.take().or(journaled(self.dir, self.agent)?);
                    if ran.is_none() && !was_there {
                        bail!(failure!("no hosted agent \"{}\"", self.agent; "see: murmur agent list --all"));
                    }
                    return self.replay(ran);
                }
            }
        }
    }

    /// Shows events from the host until the agent or the connection ends.
    async fn attached(&mut self) -> anyhow::Result<FollowEnd> {
        let connected = Client::connect(&self.dir.hosts(), &self.agent.socket(), ANSWER_TIMEOUT).await;
        let Ok(mut client) = connected else { return Ok(FollowEnd::Lost) };
        let is_new = self.next.is_none();
        // People first see the last turn, which is among the past events.
        let has_context = is_new && !self.printer.json;
        let from = if has_context { Some(0) } else { self.next };
        let next = match client.attach(from, ANSWER).await {
            Ok(attached) => {
                let first = if has_context { "next" } else { "from" };
                self.next = attached.get(first).and_then(Value::as_u64);
                self.next
            }
            Err(error @ AskError::Refused(_)) => {
                return Err(error).with_context(|| format!("cannot attach to {}", self.agent));
            }
            Err(_) => return Ok(FollowEnd::Lost),
        };
        let is_lost = match next.filter(|_| has_context) {
            Some(next) => !self.show_context(&mut client, next).await?,
            None => false,
        };
        if is_new {
            self.show_open().await?;
        }
        if is_lost {
            return Ok(FollowEnd::Lost);
        }
        let dir = self.dir;
        let mut waiting = BTreeSet::new();
        let mut ended: Option<Pin<Box<dyn Future<Output = ()> + '_>>> = None;
        loop {
            let line = tokio::select! {
                biased;
                line = client.next_bytes() => line,
                () = until(&mut ended) => {
                    ended = None;
                    self.report_daemon_end(&waiting)?;
                    continue;
                }
            };
            let Ok(line) = line else { return Ok(FollowEnd::Lost) };
            let Ok(ServerMessage::Event(event)) = serde_json::from_slice::<ServerMessage>(line) else {
                continue;
            };
            if event.event_type == LAGGED {
                return Ok(FollowEnd::Lost);
            }
            self.show(&event, line)?;
            if let (Some(watcher), Some(change)) = (self.watcher, Change::of(&event)) {
                (watcher.tell)(change);
            }
            let request = || event.payload.get("request").and_then(Value::as_str).map(str::to_owned);
            match &*event.event_type {
                "waiting" => {
                    waiting.extend(request());
                    ended = Some(Box::pin(daemon_ended(dir)));
                }
                "waited" => {
                    request().inspect(|request| _ = waiting.remove(request));
                    ended = ended.filter(|_| !waiting.is_empty());
                }
                _ => {}
            }
            if is_last(&event) {
                return Ok(FollowEnd::Ended);
            }
        }
    }

    /// Shows the state and the last turn, from the events before `next`. Returns whether the connection holds.
    async fn show_context(&mut self, client: &mut Client, next: u64) -> anyhow::Result<bool> {
        let (mut turn, mut at, mut holds) = (LastTurn::default(), 0, true);
        while at < next {
            let Ok(line) = client.next_bytes().await else {
                holds = false;
                break;
            };
            let Ok(ServerMessage::Event(event)) = serde_json::from_slice::<ServerMessage>(line) else {
                continue;
            };
            if event.event_type == LAGGED {
                holds = false;
                break;
            }
            at = after(&event);
            turn.see(&event);
        }
        turn.print(&mut self.out, self.printer.style, self.agent.as_str(), &self.folder)?;
        self.out.flush()?;
        Ok(holds)
    }

    /// Shows the requests that were open before the first event that is shown.
    async fn show_open(&mut self) -> anyhow::Result<()> {
        if self.printer.json {
            return Ok(());
        }
        // Without a daemon, nobody can answer.
        let rows = requests::all(self.dir).await.unwrap_or_default();
        let own = rows.into_iter().filter(|row| requests::is_open(row) && row.agent == self.agent.as_str());
        for RequestRow { id, tool, .. } in own {
            match self.watcher {
                Some(watcher) => (watcher.tell)(Change::Waits { id: id.as_str().to_owned(), tool }),
                None => {
                    let tag = self.printer.style.dim("[waiting]");
                    let name = inbox::name_of(self.dir, id.as_str());
                    writeln!(self.out, "{tag} {}", reported::waiting_for(&name, &tool))?;
                }
            }
        }
        Ok(self.out.flush()?)
    }

    /// Reports that the daemon has ended while these requests wait. Programs use their own connection to it.
    fn report_daemon_end(&mut self, waiting: &BTreeSet<String>) -> io::Result<()> {
        for request in waiting.iter().filter(|_| !self.printer.json) {
            let tag = self.printer.style.dim("[waiting]");
            let name = inbox::name_of(self.dir, request);
            writeln!(self.out, "{tag} {}", daemon_end::words(&name))?;
        }
        self.out.flush()
    }

    fn show(&mut self, event: &Event, line: &[u8]) -> anyhow::Result<()> {
        self.next = Some(after(event));
        if self.printer.json {
            self.out.write_all(line)?;
            self.out.write_all(b"\n")?;
        } else if event.event_type == "waiting" && self.watcher.is_some() {
            // The commands that answer it follow, if it still waits.
            let tool = event.payload.get("tool").and_then(Value::as_str).unwrap_or_default();
            writeln!(self.out, "{} {}", self.printer.style.dim("[waiting]"), reported::waits_for(tool))?;
        } else if event.event_type == "waited" {
            let request = event.payload.get("request").and_then(Value::as_str).unwrap_or_default();
            if !self.watcher.is_some_and(|watcher| watcher.requests.has_answered(request)) {
                let tag = self.printer.style.dim("[waiting]");
                writeln!(self.out, "{tag} {}", inbox::no_longer_waits(self.dir, request))?;
            }
        } else {
            show::event(self.out, self.printer.style, &mut self.printer.pieces, event)?;
        }
        Ok(self.out.flush()?)
    }

    /// Shows the remaining events from the finished session.
    fn replay(&mut self, ran: Option<(CaptureId, Backend)>) -> anyhow::Result<()> {
        let agent = self.agent;
        let (capture, backend) =
            ran.with_context(|| format!("agent {agent} has ended, and its output was not captured"))?;
        let Some(mut next) = self.next else {
            bail!(
                failure!("agent {agent} has ended"; "show its output with: murmur agent attach {agent} --from 0")
            )
        };
        let kept = StoredEvents {
            root: captures::root()?,
            session: capture.clone(),
            agent_id: agent.clone(),
            dialect: backend::dialect(&backend),
            limit: Arc::new(AtomicU64::new(u64::MAX)),
            is_over: true,
        };
        let opened = Replay::open(kept, next);
        let mut replay =
            opened.with_context(|| format!("cannot read capture session {capture} of {agent}"))?;
        loop {
            let mut page = Vec::new();
            let events = replay.fill(&mut page, PAGE)?;
            if events.start > next && !events.is_empty() {
                let gap = gap_line(agent.as_str(), next..events.start);
                self.show(&serde_json::from_slice(&gap)?, gap.trim_ascii_end())?;
            }
            next = events.end.max(next);
            if events.is_empty() {
                match replay.lost() {
                    Some(reason) => bail!("the rest of {agent}'s output was not captured: {reason}"),
                    None => return Ok(()),
                }
            }
            for line in page.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                self.show(&serde_json::from_slice(line)?, line)?;
            }
        }
    }
}

/// The number of the event after this one. A gap ends at the next event.
fn after(event: &Event) -> u64 {
    let to = event.payload.get("to").and_then(Value::as_u64);
    to.filter(|_| event.event_type == GAP).unwrap_or(event.offset + 1)
}

/// Waits for `event`; forever if there is none.
async fn until(event: &mut Option<impl Future<Output = ()> + Unpin>) {
    match event {
        Some(event) => event.await,
        None => std::future::pending().await,
    }
}

/// The capture session of an agent with this record, and its backend.
fn capture_and_backend(record: Option<Record>) -> Option<(CaptureId, Backend)> {
    let record = record?;
    Some((record.capture?, record.info.backend))
}

/// Waits until a host that does not answer has ended, or for a short time.
pub(super) async fn wait(record: Option<&Record>) {
    let ending = record.and_then(|record| Identity::watch(&record.host));
    let ended = async {
        match &ending {
            Some(ending) => _ = ending.ended().await,
            None => std::future::pending().await,
        }
    };
    let _either = tokio::time::timeout(PAUSE, ended).await;
}

fn is_last(event: &Event) -> bool {
    event.event_type == "state" && event.payload.get("state").is_some_and(|state| state == "exited")
}

/// The capture session of the beat that ran this agent.
fn journaled(dir: &DataDir, agent: &AgentId) -> anyhow::Result<Option<(CaptureId, Backend)>> {
    let needle = format!("\"agent\":\"{agent}\"");
    let mut entries = Entries::new(Backward::open(&dir.journal())?.containing(&needle), None);
    while let Some(FoundEntry { entry, .. }) = entries.next_entry(|_| true)? {
        if entry.kind.is_beat() && entry.agent == agent.as_str() {
            return Ok(entry.capture.map(|capture| (capture, entry.backend)));
        }
    }
    Ok(None)
}
