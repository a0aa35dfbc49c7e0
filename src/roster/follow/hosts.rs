//! Hosts, asked again when something happens to them: their record changes, or they tell of an event.

use crate::host::discover::{self, Condition, PATIENCE, Seen};
use crate::host::id::AgentId;
use crate::rpc::client::Client;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;

/// The most hosts whose events are followed: each takes a descriptor. Of the others only the records are.
const MOST: usize = 256;

/// The events after which a host is asked anew; the others change nothing that is shown.
const TELLING: [&str; 5] = ["state", "session", "tool_use", "tool_result", "result"];

/// Who is asked, and who is followed.
#[derive(Debug)]
pub(super) struct Hosts {
    folder: PathBuf,
    looking: JoinSet<News>,
    /// Who is being asked, and whether something has happened since.
    asked: HashMap<AgentId, bool>,
    is_scanning: bool,
    followed: HashSet<AgentId>,
    /// Who does not let us follow.
    refused: HashSet<AgentId>,
    following: JoinSet<()>,
    tell: Sender<Told>,
    told: Receiver<Told>,
}

/// What is new.
#[derive(Debug)]
pub(super) enum News {
    /// Of one host; `None` if there is no trace of it any more.
    One(AgentId, Option<Box<Seen>>),
    /// Of all of them.
    All(Vec<Seen>),
}

#[derive(Debug)]
enum Told {
    Changed(AgentId),
    /// The events have ended; whether there were any.
    Left(AgentId, bool),
}

impl Hosts {
    pub(super) fn new(folder: PathBuf) -> Self {
        // Whoever follows a host waits when many have something to tell, and the host keeps its events meanwhile.
        let (tell, told) = mpsc::channel(64);
        Self {
            folder,
            looking: JoinSet::new(),
            asked: HashMap::new(),
            is_scanning: false,
            followed: HashSet::new(),
            refused: HashSet::new(),
            following: JoinSet::new(),
            tell,
            told,
        }
    }

    /// Asks the host that the file at `path` belongs to.
    pub(super) fn look_at(&mut self, path: &Path) {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if let Some(Ok(agent)) = stem.map(AgentId::parse) {
            self.look(agent);
        }
    }

    /// Asks every host.
    pub(super) fn look_at_all(&mut self) {
        if !std::mem::replace(&mut self.is_scanning, true) {
            let folder = self.folder.clone();
            // A folder that cannot be read has told so when all began.
            self.looking
                .spawn(async move { News::All(discover::scan(&folder, PATIENCE).await.unwrap_or_default()) });
        }
    }

    fn look(&mut self, agent: AgentId) {
        if let Some(again) = self.asked.get_mut(&agent) {
            *again = true;
            return;
        }
        self.asked.insert(agent.clone(), false);
        let folder = self.folder.clone();
        self.looking.spawn(async move {
            let seen = discover::find(&folder, &agent, PATIENCE).await;
            News::One(agent, seen.map(Box::new))
        });
    }

    /// Waits for something new.
    pub(super) async fn happened(&mut self) -> News {
        loop {
            tokio::select! {
                Some(told) = self.told.recv() => match told {
                    Told::Changed(agent) => self.look(agent),
                    Told::Left(agent, was_followed) => {
                        self.followed.remove(&agent);
                        if !was_followed {
                            self.refused.insert(agent.clone());
                        }
                        self.look(agent);
                    }
                },
                Some(Ok(news)) = self.looking.join_next() => {
                    self.take(&news);
                    return news;
                }
                Some(_) = self.following.join_next() => {}
            }
        }
    }

    fn take(&mut self, news: &News) {
        match news {
            News::All(all) => {
                self.is_scanning = false;
                all.iter().for_each(|seen| self.follow(seen));
            }
            News::One(agent, seen) => {
                if self.asked.remove(agent) == Some(true) {
                    self.look(agent.clone());
                }
                match seen {
                    Some(seen) if seen.is_alive() => self.follow(seen),
                    _ => _ = self.refused.remove(agent),
                }
            }
        }
    }

    fn follow(&mut self, seen: &Seen) {
        let agent = &seen.agent_id;
        let is_up = matches!(seen.condition, Condition::Up(_));
        if is_up && !self.refused.contains(agent) && self.followed.len() < MOST {
            if !self.followed.insert(agent.clone()) {
                return;
            }
            let (folder, agent, tell) = (self.folder.clone(), agent.clone(), self.tell.clone());
            self.following.spawn(async move {
                let was_followed = follow(&folder, &agent, &tell).await.is_some();
                let _nobody_hears = tell.send(Told::Left(agent, was_followed)).await;
            });
        }
    }
}

/// Tells of the events of `agent`'s host until they end; `None` if it does not let us follow.
async fn follow(folder: &Path, agent: &AgentId, tell: &Sender<Told>) -> Option<()> {
    let mut client = Client::connect(folder, &agent.socket(), PATIENCE).await.ok()?;
    client.attach(None, PATIENCE).await.ok()?;
    // What happened since it was asked.
    let mut is_telling = true;
    loop {
        if is_telling && tell.send(Told::Changed(agent.clone())).await.is_err() {
            return Some(());
        }
        let Ok(event) = client.next_event().await else { return Some(()) };
        is_telling = TELLING.contains(&event.event_type.as_str());
    }
}
