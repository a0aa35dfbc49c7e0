//! Agents that wait for a person: from the daemon's open requests or, without a daemon, from deferred calls and
//! hosts.
//!
//! The list of agents doesn't include the daemon's requests, so a waiting agent looks busy in it. This module
//! corrects that.

use super::super::requests;
use crate::agents::follow::Follower;
use crate::agents::{Agent, Sources};
use crate::daemon::broker::RequestRow;
use crate::daemon::client;
use derun::cli::stdout::warn;
use jiff::Timestamp;
use murmur_core::permit::request::DEFERRED;
use murmur_rpc::client::AskError;
use murmur_rpc::envelope::{GAP, LAGGED};
use murmur_store::pulse::health::Health;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;
use sys::paths::DataDir;
use sys::watch::{Watch, WatchedFolder};
use tokio::sync::watch::{self, Receiver, Sender};
use tokio::task::JoinHandle;

/// How often to look for a daemon if the system cannot report that one started.
const TICK: Duration = Duration::from_secs(1);

/// Requests that wait for a person, by agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Waiting(BTreeMap<String, Asks>);

/// The request of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asks {
    agent: String,
    /// Whether the agent has ended and will be resumed after the answer.
    is_deferred: bool,
}

impl Waiting {
    /// The current requests. A daemon that does not answer causes a warning; agents are still shown.
    pub(super) async fn now(dir: &DataDir) -> io::Result<Self> {
        match Self::read(dir).await {
            Ok(waiting) => Ok(waiting),
            Err(error) => {
                warn(format_args!(
                    "cannot show which agents wait for you: {}",
                    crate::cli::describe(&error).or_hint(Some("see: murmur status".to_owned())).line()
                ))?;
                Ok(Self::default())
            }
        }
    }

    async fn read(dir: &DataDir) -> anyhow::Result<Self> {
        let mut waiting = Self::default();
        requests::all(dir).await?.into_iter().for_each(|row| waiting.opened(row));
        Ok(waiting)
    }

    /// Marks the waiting agents in `agents`.
    pub(super) fn mark(&self, agents: &mut [Agent]) {
        for agent in agents {
            let has_ended = matches!(agent.health, Health::Exited | Health::Dead);
            let waits = |asks: &Asks| asks.agent == agent.agent_id && (asks.is_deferred || !has_ended);
            if self.0.values().any(waits) {
                agent.health = Health::Waiting;
            }
        }
    }

    fn opened(&mut self, row: RequestRow) {
        // An answered request no longer waits for a person, even if its agent has not been resumed.
        if requests::is_open(&row) {
            let is_deferred = row.state == DEFERRED;
            self.0.insert(row.id.to_string(), Asks { agent: row.agent, is_deferred });
        }
    }

    fn event(&mut self, event_type: &str, payload: Value) {
        match event_type {
            "request_opened" => {
                if let Ok(row) = RequestRow::deserialize(payload) {
                    self.opened(row);
                }
            }
            "request_closed" => {
                let id = payload.get("id").and_then(Value::as_str);
                id.and_then(|id| self.0.remove(id));
            }
            _ => {}
        }
    }
}

/// All agents, kept up to date, including which of them wait.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) follower: Follower,
    waiting: Receiver<Waiting>,
    listening: JoinHandle<()>,
}

impl Watched {
    pub(super) async fn begin(sources: Sources) -> io::Result<Self> {
        let dir = sources.dir.clone();
        let follower = Follower::new(sources).await?;
        let (to, waiting) = watch::channel(Waiting::now(&dir).await?);
        Ok(Self { follower, waiting, listening: tokio::spawn(listen(dir, to)) })
    }

    /// All agents at `now`.
    pub(super) fn agents(&self, now: Timestamp) -> Vec<Agent> {
        let mut agents = self.follower.agents(now);
        self.waiting.borrow().mark(&mut agents);
        agents
    }

    /// Waits for a possible change. Cancel safe.
    pub(super) async fn changed(&mut self) -> io::Result<()> {
        tokio::select! {
            changed = self.follower.changed() => changed,
            Ok(()) = self.waiting.changed() => Ok(()),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Follows the requests of the running daemon, and of later ones after it ends.
async fn listen(dir: DataDir, to: Sender<Waiting>) {
    loop {
        // Watch before connecting, so that no daemon is missed. A socket may exist before the daemon listens on it;
        // the daemon sets its mode afterward, which is another change.
        let socket = || WatchedFolder::existing_or_coming(dir.root(), &["murmur.sock"]);
        let watch = Watch::settled(socket);
        // Either way, the daemon has ended or sent something unreadable.
        let _gone = follow(&dir, &to).await;
        if let Ok(waiting) = Waiting::read(&dir).await {
            send_if_changed(&to, waiting);
        }
        let changed = match watch {
            Ok(mut watch) => watch.changed().await.map(drop),
            Err(error) => Err(error),
        };
        if changed.is_err() {
            tokio::time::sleep(TICK).await;
        }
    }
}

/// Follows the running daemon until it ends.
async fn follow(dir: &DataDir, to: &Sender<Waiting>) -> Result<(), AskError> {
    let mut daemon = client::connect(dir).await?;
    loop {
        client::attach(&mut daemon, None).await?;
        // Use a separate connection, so that no event is dropped meanwhile.
        let Ok(mut waiting) = Waiting::read(dir).await else { return Ok(()) };
        send_if_changed(to, waiting.clone());
        loop {
            let event = daemon.next_event().await?;
            if event.event_type == GAP || event.event_type == LAGGED {
                break;
            }
            waiting.event(&event.event_type, event.payload);
            send_if_changed(to, waiting.clone());
        }
    }
}

/// Sends `waiting` if it differs.
fn send_if_changed(to: &Sender<Waiting>, waiting: Waiting) {
    to.send_if_modified(|known| {
        let is_new = *known != waiting;
        *known = waiting;
        is_new
    });
}
