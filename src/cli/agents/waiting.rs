//! Which agents wait for a person: the daemon's open requests, or, where no daemon runs, what was put off and what hosts say.
//!
//! The roster knows nothing of the daemon, so it is told here what it cannot see: an agent that waits looks busy.

use super::super::requests;
use crate::daemon::broker::Row;
use crate::daemon::client;
use crate::permit::request::DEFERRED;
use crate::pulse::health::Health;
use crate::roster::follow::Follower;
use crate::roster::{Agent, Sources};
use crate::rpc::client::AskError;
use crate::rpc::envelope::{GAP, LAGGED};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;
use sys::paths::DataDir;
use sys::watch::{Place, Watch};
use tokio::sync::watch::{self, Receiver, Sender};
use tokio::task::JoinHandle;

/// How often a daemon is looked for where the system cannot tell that one has come.
const TICK: Duration = Duration::from_secs(1);

/// The requests that wait for a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Waiting(BTreeMap<String, Asks>);

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asks {
    agent: String,
    /// Whether the agent has ended, to go on with the answer.
    is_deferred: bool,
}

impl Waiting {
    /// Those of now. A daemon that does not answer is told of, and does not hide the agents.
    pub(super) async fn now(dir: &DataDir) -> io::Result<Self> {
        match Self::read(dir).await {
            Ok(waiting) => Ok(waiting),
            Err(error) => {
                writeln!(
                    io::stderr(),
                    "warning: whether an agent waits for you is not shown: {}",
                    crate::cli::told(&error).or_hint(Some("see: murmur status".to_owned())).line()
                )?;
                Ok(Self::default())
            }
        }
    }

    async fn read(dir: &DataDir) -> anyhow::Result<Self> {
        let mut waiting = Self::default();
        requests::all(dir).await?.into_iter().for_each(|row| waiting.opened(row));
        Ok(waiting)
    }

    /// Marks those of `agents` that wait.
    pub(super) fn mark(&self, agents: &mut [Agent]) {
        for agent in agents {
            let has_ended = matches!(agent.health, Health::Exited | Health::Dead);
            let waits = |asks: &Asks| asks.agent == agent.agent_id && (asks.is_deferred || !has_ended);
            if self.0.values().any(waits) {
                agent.health = Health::Waiting;
            }
        }
    }

    fn opened(&mut self, row: Row) {
        // One that was answered and has yet to be resumed does not wait for anybody.
        if requests::is_open(&row) {
            let is_deferred = row.standing == DEFERRED;
            self.0.insert(row.id.to_string(), Asks { agent: row.agent, is_deferred });
        }
    }

    fn event(&mut self, event_type: &str, payload: Value) {
        match event_type {
            "request_opened" => {
                if let Ok(row) = Row::deserialize(payload) {
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

/// Every agent, kept up to date, and which of them wait.
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

    /// Every agent as it is at `now`.
    pub(super) fn agents(&self, now: Timestamp) -> Vec<Agent> {
        let mut agents = self.follower.agents(now);
        self.waiting.borrow().mark(&mut agents);
        agents
    }

    /// Waits until something may have changed. What is not waited for to the end is not lost.
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

/// Follows the requests of the daemon that runs, and of the next one when that is gone.
async fn listen(dir: DataDir, to: Sender<Waiting>) {
    loop {
        // Watched before anybody is called, so that a daemon that comes between is not missed. Its socket may be there
        // before it listens; its mode is set after that, which is a change as well.
        let place = if dir.root().is_dir() {
            Some(Place::new(dir.root(), &["murmur.sock"]))
        } else {
            Place::coming(dir.root())
        };
        let watch = Watch::new(place);
        // However that ends, the daemon is gone, or says nothing that can be read.
        let _gone = follow(&dir, &to).await;
        if let Ok(waiting) = Waiting::read(&dir).await {
            tell(&to, waiting);
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

/// Follows the daemon that runs until it is gone.
async fn follow(dir: &DataDir, to: &Sender<Waiting>) -> Result<(), AskError> {
    let mut daemon = client::connect(dir).await?;
    loop {
        client::attach(&mut daemon, None).await?;
        // On a connection of its own, so that no event that comes meanwhile is dropped.
        let Ok(mut waiting) = Waiting::read(dir).await else { return Ok(()) };
        tell(to, waiting.clone());
        loop {
            let event = daemon.next_event().await?;
            if event.event_type == GAP || event.event_type == LAGGED {
                break;
            }
            waiting.event(&event.event_type, event.payload);
            tell(to, waiting.clone());
        }
    }
}

/// Tells whoever shows agents, if it is news.
fn tell(to: &Sender<Waiting>, waiting: Waiting) {
    to.send_if_modified(|known| {
        let is_new = *known != waiting;
        *known = waiting;
        is_new
    });
}
