//! The agents, with what the events of their hosts say about their cost and context.

use super::super::inbox::{self, list};
use super::rows::{self, Extras};
use crate::agents::follow::Follower;
use crate::agents::{Agent, Sources};
use jiff::Timestamp;
use murmur_core::config::quiet::Quiet;
use murmur_rpc::envelope::Event;
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::time::Duration;
use sys::clock;
use sys::paths::DataDir;
use tokio::sync::mpsc::{Receiver, channel};
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
        Ok(Self { follower, quiet, events, extras, dir, numbers, is_changed: true, due: None })
    }

    /// Waits for a change; an agent's event is returned at once. Cancel safe.
    pub(super) async fn changed(&mut self) -> io::Result<Option<Update>> {
        tokio::select! {
            Some(event) = self.events.recv() => {
                self.heard(&event);
                Ok(Some(Update::Heard(event.agent_id.as_str().into(), clock::now())))
            }
            changed = self.follower.changed() => {
                changed?;
                self.is_changed = true;
                Ok(None)
            }
        }
    }

    fn heard(&mut self, event: &Event) {
        let payload = &event.payload;
        let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64);
        let usd = |name: &str| payload.get(name).and_then(Value::as_f64);
        // A request sends the whole context so far.
        let sent = |of: &Value| {
            let parts = ["input", "cacheRead", "cacheWrite"].into_iter().filter_map(|name| number(of, name));
            Some(parts.sum()).filter(|sum| *sum > 0)
        };
        let news = match &*event.event_type {
            "cost" => Extras { cost: usd("usd"), ..Extras::default() },
            // A result has only the sum of its requests.
            "result" => {
                let is_one = number(payload, "numTurns") == Some(1);
                let context = payload.get("usage").filter(|_| is_one).and_then(sent);
                Extras { cost: usd("costUsd"), context, window: None }
            }
            "usage" => Extras { context: sent(payload), ..Extras::default() },
            "compaction" => Extras { context: number(payload, "postTokens"), ..Extras::default() },
            "session" => {
                let model = payload.get("model").and_then(Value::as_str).unwrap_or_default();
                Extras { window: window(model), ..Extras::default() }
            }
            _ => return,
        };
        let known = self.extras.entry(event.agent_id.clone()).or_default();
        known.cost = news.cost.or(known.cost);
        known.context = news.context.or(known.context);
        known.window = news.window.or(known.window);
        self.is_changed = true;
    }

    /// All agents, if there was a change since the last call.
    pub(super) fn take(&mut self, now: Timestamp) -> Option<[Update; 2]> {
        if self.due.is_some_and(|due| due <= now) {
            self.follower.recheck();
            self.is_changed = true;
        }
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        let agents = self.follower.agents(now);
        let changes = agents.iter().filter_map(|agent| agent.changes_in(now, &self.quiet));
        self.due = changes.chain(self.follower.recheck_in()).min().map(|change| now + change);
        let stuck = self.stuck(&agents, now);
        let agents = agents.iter().map(|agent| {
            let extras = self.extras.get(&agent.agent_id).copied().unwrap_or_default();
            rows::agent(agent, self.follower.host(&agent.agent_id), extras)
        });
        Some([Update::Agents(agents.collect()), Update::Stuck(stuck)])
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

/// How many tokens fit into the context of a model, if that is known.
fn window(model: &str) -> Option<u64> {
    match model {
        model if model.ends_with("[1m]") => Some(1_000_000),
        model if model.starts_with("claude-") => Some(200_000),
        _ => None,
    }
}
