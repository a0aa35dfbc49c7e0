//! Everything that is known, and what the user looks at.

mod agents;

use crate::history::{Activity, History};
use crate::inbox::InboxEntry;
use crate::pager::Pager;
use crate::rows::{
    Agent, Daemon, Health, Heartbeat, HeartbeatState, Limit, LineKind, LogLine, Outcome, Problem, Request,
    TranscriptLine,
};
use crate::text::Text;
use crate::view::{Pane, Screen, View};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// How many journal lines are kept.
pub const LOG: usize = 10_000;

/// What the caller learned.
#[derive(Debug)]
pub enum Update {
    /// The daemon.
    Daemon(Daemon),
    /// Problems beyond a single heartbeat.
    Problems(Vec<Text>),
    /// All heartbeats.
    Heartbeats(Vec<Heartbeat>),
    /// All agents.
    Agents(Vec<Agent>),
    /// One agent.
    Agent(Agent),
    /// An agent did something.
    Activity(Arc<str>, Timestamp),
    /// All open requests.
    Requests(Vec<Request>),
    /// The other entries of the inbox, nearest deadline first, without stuck agents.
    ToSolve(Vec<Problem>),
    /// The stuck agents.
    Stuck(Vec<Problem>),
    /// A request was opened.
    Opened(Request),
    /// A request was closed.
    Closed(String),
    /// New journal lines, oldest first.
    Logged(Vec<LogLine>),
    /// All usage limits.
    Limits(Vec<Limit>),
    /// A transcript begins: its title, and facts about the beat.
    Transcript(Text, Vec<Text>),
    /// There is no transcript, for the reason in the lines that follow: its title.
    TranscriptFailed(Text),
    /// More of the transcript.
    Lines(Vec<TranscriptLine>),
    /// The transcript is complete.
    TranscriptEnded,
    /// The result of an action.
    Message(Text),
}

/// A transcript.
#[derive(Debug)]
pub(crate) struct Detail {
    pub(crate) title: Text,
    pub(crate) head: Vec<Text>,
    pub(crate) pager: Pager,
    pub(crate) is_running: bool,
}

/// The model.
#[derive(Debug)]
pub struct Model {
    pub(crate) zone: TimeZone,
    pub(crate) daemon: Daemon,
    pub(crate) problems: Vec<Text>,
    /// Failing ones first, then those that need a person.
    pub(crate) heartbeats: Vec<Heartbeat>,
    /// The order of the heartbeats among equals.
    order: HashMap<Arc<str>, usize>,
    /// Those who wait longest first.
    pub(crate) agents: Vec<Agent>,
    /// Agents that wait for a person, and since when.
    waiting: HashMap<Arc<str>, Timestamp>,
    /// For agents that share a folder, another one in it.
    pub(crate) shared: HashMap<Arc<str>, Text>,
    pub(crate) activity: HashMap<Arc<str>, Activity>,
    /// Nearest deadline first.
    pub(crate) requests: Vec<Request>,
    /// Entries of the inbox after the requests; then come the stuck agents.
    pub(crate) to_solve: Vec<Problem>,
    pub(crate) stuck: Vec<Problem>,
    /// Newest first.
    pub(crate) log: VecDeque<LogLine>,
    /// How many lines the log has had.
    logged: usize,
    pub(crate) history: HashMap<Arc<str>, History>,
    pub(crate) limits: Vec<Limit>,
    pub(crate) detail: Option<Detail>,
    pub(crate) view: View,
}

impl Model {
    /// An empty model; times are shown in `zone`.
    #[must_use]
    pub fn new(zone: TimeZone) -> Self {
        Self {
            zone,
            daemon: Daemon::default(),
            problems: Vec::new(),
            heartbeats: Vec::new(),
            order: HashMap::new(),
            agents: Vec::new(),
            waiting: HashMap::new(),
            shared: HashMap::new(),
            activity: HashMap::new(),
            requests: Vec::new(),
            to_solve: Vec::new(),
            stuck: Vec::new(),
            log: VecDeque::new(),
            logged: 0,
            history: HashMap::new(),
            limits: Vec::new(),
            detail: None,
            view: View {
                pane: Pane::Heartbeats,
                screen: Screen::Panes,
                lists: Default::default(),
                lists_exited: false,
                prompt: None,
                message: None,
                shown: String::new(),
                help: Pager::default(),
                request: Pager::default(),
                drawn_agents: RefCell::default(),
            },
        }
    }

    /// Records what the caller learned.
    pub fn on(&mut self, update: Update) {
        match update {
            Update::Daemon(daemon) => self.daemon = daemon,
            Update::Problems(problems) => self.problems = problems,
            Update::Heartbeats(heartbeats) => {
                self.order = heartbeats.iter().map(|row| Arc::clone(&row.id)).zip(0..).collect();
                self.heartbeats = heartbeats;
                self.sort_heartbeats();
            }
            Update::Agents(agents) => {
                self.agents = agents;
                self.sort_agents();
            }
            Update::Agent(agent) => self.replace(agent),
            Update::Activity(agent, at) => self.activity.entry(agent).or_default().add(at),
            Update::Requests(requests) => {
                self.requests = requests;
                self.sort_requests();
            }
            Update::ToSolve(problems) => {
                self.to_solve = problems;
                self.close_solved();
            }
            Update::Stuck(problems) => {
                self.stuck = problems;
                self.close_solved();
            }
            Update::Opened(request) => {
                self.requests.retain(|known| known.id != request.id);
                self.requests.push(request);
                self.sort_requests();
            }
            Update::Closed(id) => {
                self.requests.retain(|known| known.id != id);
                self.sort_requests();
            }
            Update::Logged(lines) => {
                lines.into_iter().for_each(|line| self.log(line));
                self.sort_heartbeats();
            }
            Update::Limits(limits) => self.limits = limits,
            Update::Transcript(title, head) => self.show(title, head),
            Update::TranscriptFailed(title) if self.detail.is_none() => self.show(title, Vec::new()),
            Update::TranscriptFailed(_) => {}
            Update::Lines(lines) => {
                if let Some(detail) = &mut self.detail {
                    lines.into_iter().for_each(|line| detail.pager.push(line));
                }
            }
            Update::TranscriptEnded => {
                if let Some(detail) = &mut self.detail {
                    detail.is_running = false;
                }
            }
            Update::Message(text) => self.view.message = Some(text),
        }
    }

    fn show(&mut self, title: Text, head: Vec<Text>) {
        let pager = Pager::default();
        self.detail = Some(Detail { title, head, pager, is_running: true });
        self.view.screen = Screen::Detail;
    }

    fn log(&mut self, line: LogLine) {
        self.history.entry(Arc::clone(&line.heartbeat)).or_default().add(&line, &self.zone);
        self.log.push_front(line);
        self.log.truncate(LOG);
        self.logged += 1;
    }

    /// As `murmur status` sorts them.
    fn sort_heartbeats(&mut self) {
        let Self { heartbeats, order, history, .. } = self;
        heartbeats.sort_by_key(|row| {
            let last = history.get(&row.id).and_then(|history| history.strip.back());
            let urgency = match (&row.state, last) {
                _ if row.is_failing => 0,
                (HeartbeatState::Waits | HeartbeatState::Off("new"), _) => 1,
                (
                    HeartbeatState::Running(_) | HeartbeatState::Paused(_) | HeartbeatState::Off("disabled"),
                    _,
                ) => 2,
                (_, Some(Outcome::Error)) => 0,
                (_, Some(Outcome::Attention | Outcome::Stopped | Outcome::Waiting)) => 1,
                _ => 2,
            };
            (urgency, order.get(&row.id).copied())
        });
    }

    fn sort_requests(&mut self) {
        self.requests.sort_by_key(|request| {
            (request.expires.unwrap_or(Timestamp::MAX), request.asked, request.id.clone())
        });
        self.sort_agents();
        self.close_solved();
    }

    /// The number of rows of a pane, without a filter.
    pub(crate) fn count(&self, pane: Pane) -> usize {
        match pane {
            Pane::Heartbeats => self.heartbeats.len(),
            Pane::Agents => self.agents.len(),
            Pane::Inbox => self.waiting(),
            Pane::Log => self.log.len(),
            Pane::Limits => self.limits.len(),
        }
    }

    /// The indices of a pane's rows that its filter lets through.
    pub(crate) fn rows(&self, pane: Pane) -> Vec<usize> {
        let filter = &*self.view.list(pane).filter;
        let is_listed = |index: &usize| pane != Pane::Agents || self.is_listed(&self.agents[*index]);
        let listed = (0..self.count(pane)).filter(is_listed);
        if filter.is_empty() {
            return listed.collect();
        }
        listed.filter(|index| self.texts(pane, *index).iter().any(|text| has(text, filter))).collect()
    }

    fn is_listed(&self, agent: &Agent) -> bool {
        self.view.lists_exited || self.health(agent) != Health::Exited
    }

    /// The number of rows of a pane that are not listed, whatever its filter.
    pub(crate) fn hidden(&self, pane: Pane) -> usize {
        let agents = if pane == Pane::Agents { &*self.agents } else { &[] };
        agents.iter().filter(|agent| !self.is_listed(agent)).count()
    }

    /// What a filter looks at.
    fn texts(&self, pane: Pane, index: usize) -> Vec<&str> {
        match pane {
            Pane::Heartbeats => {
                let row = &self.heartbeats[index];
                vec![&*row.title, &*row.id, &*row.note, &*row.schedule]
            }
            Pane::Agents => {
                let row = &self.agents[index];
                vec![&*row.name, self.health(row).as_str(), &*row.state, &*row.doing, &*row.folder]
            }
            Pane::Inbox => self.entry(index).map(InboxEntry::texts).unwrap_or_default(),
            Pane::Log => {
                let row = &self.log[index];
                vec![&*row.name, row.outcome.as_str(), row.label.unwrap_or_default(), &*row.text]
            }
            Pane::Limits => {
                let row = &self.limits[index];
                vec![&*row.account, &*row.window]
            }
        }
    }

    /// What identifies a row while others come and go.
    pub(crate) fn row_id(&self, pane: Pane, index: usize) -> Option<String> {
        Some(match pane {
            Pane::Heartbeats => self.heartbeats.get(index)?.id.to_string(),
            Pane::Agents => self.agents.get(index)?.id.to_string(),
            Pane::Inbox => self.entry(index)?.id().to_owned(),
            Pane::Log => (self.logged - index).to_string(),
            Pane::Limits => {
                let limit = self.limits.get(index)?;
                format!("{}\n{}", limit.account, limit.window)
            }
        })
    }

    /// The index of the row with this key.
    fn index(&self, pane: Pane, key: &str) -> Option<usize> {
        match pane {
            Pane::Log => self.logged.checked_sub(key.parse().ok()?),
            _ => (0..self.count(pane)).find(|index| self.row_id(pane, *index).as_deref() == Some(key)),
        }
    }

    /// Where in `rows` the selected row of a pane is.
    pub(crate) fn selected(&self, pane: Pane, rows: &[usize]) -> usize {
        let list = self.view.list(pane);
        let known = list.key.as_deref().and_then(|key| self.index(pane, key));
        let found = known.and_then(|index| rows.binary_search(&index).ok());
        found.unwrap_or(list.index).min(rows.len().saturating_sub(1))
    }

    /// The index of the selected row of a pane; `None` if it is empty.
    pub(crate) fn chosen(&self, pane: Pane) -> Option<usize> {
        let rows = self.rows(pane);
        rows.get(self.selected(pane, &rows)).copied()
    }

    /// Selects the row at `place` of those that are shown.
    pub(crate) fn select(&mut self, pane: Pane, place: usize) {
        let rows = self.rows(pane);
        let place = place.min(rows.len().saturating_sub(1));
        // The newest line of the log stays selected as others come.
        let is_kept = pane != Pane::Log || place > 0;
        let key = rows.get(place).filter(|_| is_kept).and_then(|index| self.row_id(pane, *index));
        let list = self.view.list_mut(pane);
        (list.key, list.index) = (key, place);
    }

    /// Whether a heartbeat is due that was not due when it was last reported.
    #[must_use]
    pub fn has_due(&self, now: Timestamp) -> bool {
        self.heartbeats.iter().any(|row| match row.state {
            HeartbeatState::Next(at) | HeartbeatState::Held(at) | HeartbeatState::Paused(Some(at)) => {
                at <= now
            }
            _ => false,
        })
    }

    /// The request on the screen.
    pub(crate) fn request(&self, id: &str) -> Option<&Request> {
        self.requests.iter().find(|request| request.id == id)
    }

    /// A note in the transcript.
    #[must_use]
    pub fn note(text: &str) -> TranscriptLine {
        TranscriptLine { kind: LineKind::Note, text: Text::new(text) }
    }
}

fn has(text: &str, filter: &str) -> bool {
    text.to_lowercase().contains(filter)
}
