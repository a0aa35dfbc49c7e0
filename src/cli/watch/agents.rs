//! The agents, with their cost and context if known.

use super::super::inbox::{self, list};
use super::extras::{Extras, past};
use super::rows;
use crate::agents::follow::{Follower, News};
use crate::agents::{Agent, Sources};
use jiff::Timestamp;
use murmur_core::config::quiet::Quiet;
use murmur_rpc::envelope::Event;
use std::collections::HashMap;
use std::io;
use std::time::Duration;
use sys::clock;
use sys::paths::DataDir;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use watch::Update;
use watch::rows::Problem;

/// How many events may wait. Beyond that, they are left out of the activity.
const WAITING: usize = 1024;

/// All agents.
pub(super) struct Agents {
    follower: Follower,
    quiet: Quiet,
    events: Receiver<Event>,
    extras: HashMap<String, Extras>,
    /// What agents wrote before, as it is read.
    past: JoinSet<(String, Extras)>,
    dir: DataDir,
    /// The numbers of stuck agents in the inbox.
    numbers: HashMap<String, String>,
    is_changed: bool,
    /// When to look again without an event.
    due: Option<Timestamp>,
}

impl Agents {
    pub(super) async fn begin(sources: Sources) -> io::Result<Self> {
        let (quiet, dir) = (sources.quiet, sources.dir.clone());
        let mut follower = Follower::new(sources).await?;
        let (to, events) = channel(WAITING);
        follower.listen(to);
        let (extras, numbers) = (HashMap::new(), HashMap::new());
        let past = JoinSet::new();
        Ok(Self { follower, quiet, events, extras, past, dir, numbers, is_changed: true, due: None })
    }

    /// Waits for a change; an agent's event is returned at once. Cancel safe.
    pub(super) async fn changed(&mut self) -> io::Result<Option<Update>> {
        tokio::select! {
            Some(event) = self.events.recv() => {
                self.on_event(&event);
                Ok(Some(Update::Activity(event.agent_id.as_str().into(), clock::now())))
            }
            Some(read) = self.past.join_next() => {
                if let Ok((agent, extras)) = read {
                    self.extras.entry(agent).or_default().update(extras);
                    self.change_all();
                }
                Ok(None)
            }
            changed = self.follower.changed() => {
                changed?;
                self.is_changed = true;
                Ok(None)
            }
        }
    }

    fn on_event(&mut self, event: &Event) {
        if let Some(news) = Extras::of(event) {
            self.extras.entry(event.agent_id.clone()).or_default().update(news);
            self.change_all();
        }
        // Its events don't have all that the agent wrote.
        if event.event_type == "result" {
            self.read_past(&event.agent_id);
        }
    }

    /// Any agent may have changed.
    fn change_all(&mut self) {
        self.follower.renew();
        self.is_changed = true;
    }

    /// Reads what an agent has written about its context and cost, in the background.
    fn read_past(&mut self, agent: &str) {
        let (agent, dir) = (agent.to_owned(), self.dir.clone());
        self.past.spawn_blocking(move || {
            let extras = past(&agent, &dir);
            (agent, extras.unwrap_or_default())
        });
    }

    /// Lets changes of files pile up until the next call of [`Self::changed`].
    pub(super) fn rest(&mut self) {
        self.follower.rest();
    }

    /// The agents that changed since the last call.
    pub(super) fn take(&mut self, now: Timestamp) -> Vec<Update> {
        if self.due.is_some_and(|due| due <= now) {
            self.follower.recheck();
            self.is_changed = true;
        }
        if !std::mem::take(&mut self.is_changed) {
            return Vec::new();
        }
        let agents = match self.follower.news(now) {
            News::All(agents) => agents,
            // They become stuck later than they were going to.
            News::Some(agents) => return agents.iter().map(|agent| Update::Agent(self.row(agent))).collect(),
        };
        let changes = agents.iter().filter_map(|agent| agent.changes_in(now, &self.quiet));
        self.due = changes.chain(self.follower.recheck_in()).min().map(|change| now + change);
        let hosted = agents.iter().filter(|agent| self.follower.host(&agent.agent_id).is_some());
        let new: Vec<String> = hosted
            .map(|agent| &agent.agent_id)
            .filter(|id| !self.extras.contains_key(*id))
            .cloned()
            .collect();
        for agent in new {
            self.extras.insert(agent.clone(), Extras::default());
            self.read_past(&agent);
        }
        let stuck = self.stuck(&agents, now);
        vec![Update::Agents(agents.iter().map(|agent| self.row(agent)).collect()), Update::Stuck(stuck)]
    }

    fn row(&self, agent: &Agent) -> watch::rows::Agent {
        let extras = self.extras.get(&agent.agent_id).copied().unwrap_or_default();
        rows::agent(agent, self.follower.host(&agent.agent_id), extras)
    }

    /// The entries of stuck agents in the inbox.
    fn stuck(&mut self, agents: &[Agent], now: Timestamp) -> Vec<Problem> {
        let (stuck, entries): (Vec<_>, Vec<_>) =
            agents.iter().filter_map(|agent| Some((agent, list::stuck(agent, now)?))).unzip();
        if stuck.iter().any(|agent| !self.numbers.contains_key(&agent.agent_id)) {
            let ids = stuck.iter().map(|agent| agent.agent_id.clone());
            self.numbers = ids.zip(inbox::numbers_of(&self.dir, &entries)).collect();
        }
        let name = |agent: &Agent| self.numbers.get(&agent.agent_id).map_or("-", String::as_str);
        stuck.into_iter().map(|agent| rows::stuck(agent, name(agent))).collect()
    }

    /// After how long to look again without an event.
    pub(super) fn changes_in(&self, now: Timestamp) -> Option<Duration> {
        self.due.map(|due| Duration::try_from(due.duration_since(now)).unwrap_or_default())
    }
}
