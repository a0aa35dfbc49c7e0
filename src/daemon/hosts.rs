//! The hosts that live, whoever started them: found, watched, and cleaned up after when they die.
//!
//! A host needs no daemon. What is done here is to notice: that one came, that one ended, that one was killed and left
//! something behind.

use super::follow::changed;
use crate::host::discover::{self, Cleaned};
use crate::host::hosting;
use crate::host::id::AgentId;
use crate::host::record::Record;
use crate::host::state::Kind;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use sys::held;
use sys::identity::Identity;
use sys::watch::{Place, Watch};
use sys::{atomic, clock};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// What is known of them.
#[derive(Debug)]
pub struct Hosts {
    folder: PathBuf,
    watch: Option<Watch>,
    known: HashMap<AgentId, Known>,
    ends: JoinSet<(AgentId, Identity)>,
    cleaning: Option<oneshot::Receiver<io::Result<Cleaned>>>,
    /// Something died while it was cleaned up after others.
    is_dirty: bool,
}

/// A host that lives.
#[derive(Debug)]
struct Known {
    record: Record,
    /// Whether its end is told by the system; otherwise its record has to be looked at again.
    is_watched: bool,
}

impl Known {
    /// Tells the host to see whether its record and its socket are there. One that is just ending does nothing.
    fn look_after_itself(&self) {
        self.record.host.signal(hosting::LOOK);
    }
}

/// What happened.
#[derive(Debug)]
pub enum Happened {
    /// Something in the folder changed.
    Changed(io::Result<()>),
    /// A host ended, well or not.
    Ended(AgentId, Identity),
    /// It was cleaned up after those that died.
    Cleaned(io::Result<Cleaned>),
}

/// What is new.
#[derive(Debug)]
pub enum News {
    /// There is a host that was not known.
    Began(Box<Record>),
    /// A host is no more.
    Ended(Box<Record>),
}

impl News {
    /// The host's record, as it was when it began.
    #[must_use]
    pub fn record(&self) -> &Record {
        match self {
            Self::Began(record) | Self::Ended(record) => record,
        }
    }
}

impl Hosts {
    /// Those in `folder`, which is made where it does not exist. None is known yet.
    ///
    /// # Errors
    /// What the system says of the folder.
    pub fn new(folder: PathBuf) -> io::Result<Self> {
        atomic::create_private_subfolder(&folder)?;
        let watch = Watch::new(places(&folder)).ok();
        let (known, ends) = (HashMap::new(), JoinSet::new());
        Ok(Self { folder, watch, known, ends, cleaning: None, is_dirty: false })
    }

    /// Waits until something happens.
    pub async fn happened(&mut self) -> Happened {
        tokio::select! {
            changed = changed(&mut self.watch) => Happened::Changed(changed),
            Some(Ok((agent, host))) = self.ends.join_next() => Happened::Ended(agent, host),
            cleaned = cleaned(&mut self.cleaning) => Happened::Cleaned(cleaned),
        }
    }

    /// Takes what happened and says what is new.
    ///
    /// # Errors
    /// What the system says; what is known stays so.
    pub fn take(&mut self, happened: Happened) -> io::Result<Vec<News>> {
        match happened {
            Happened::Changed(Ok(())) => {
                self.keep_folder();
                self.survey()
            }
            Happened::Changed(Err(error)) => {
                self.watch = None;
                Err(error)
            }
            Happened::Ended(agent, host) => {
                let ended =
                    self.known.remove(&agent).map(|known| known.record).filter(|ended| ended.host == host);
                if self.has_left_something(&agent) {
                    self.clean();
                }
                // Another may have taken its place meanwhile.
                let mut news = self.survey()?;
                news.splice(0..0, ended.map(Box::new).map(News::Ended));
                Ok(news)
            }
            Happened::Cleaned(cleaned) => {
                self.cleaning = None;
                if std::mem::take(&mut self.is_dirty) {
                    self.clean();
                }
                cleaned.map(|_| Vec::new())
            }
        }
    }

    /// Looks through the folder.
    ///
    /// # Errors
    /// What the system says of reading it.
    pub fn survey(&mut self) -> io::Result<Vec<News>> {
        let mut news = Vec::new();
        let mut is_any_dead = false;
        let is_watched = |agent: &str| self.known.get(agent).is_some_and(|known| known.is_watched);
        for found in held::all_but(&self.folder, is_watched)? {
            let Some(record) = Record::parse(&found.text) else { continue };
            let agent = record.card.agent_id.clone();
            if record.result.is_some() {
                continue;
            }
            if !found.is_held {
                is_any_dead = true;
                continue;
            }
            if self.known.get(&agent).is_some_and(|known| known.record.host == record.host) {
                continue;
            }
            let end = record.host.watch();
            let is_watched = end.is_some();
            if let Some(end) = end {
                let host = record.host.clone();
                let id = agent.clone();
                self.ends.spawn(async move {
                    let _ended = end.ended().await;
                    (id, host)
                });
            }
            self.known.insert(agent, Known { record: record.clone(), is_watched });
            news.push(News::Began(Box::new(record)));
        }
        if is_any_dead {
            self.clean();
        }
        let is_there = |name: String| self.folder.join(name).symlink_metadata().is_ok();
        for (agent, known) in &self.known {
            if !is_there(agent.record()) || !is_there(agent.socket()) {
                known.look_after_itself();
            }
        }
        Ok(news)
    }

    /// Tells every host to see whether its record and its socket are there.
    pub fn look_after_yourselves(&self) {
        self.known.values().for_each(Known::look_after_itself);
    }

    /// Watches the folder again where it was taken away and made again, by a host that was in it or a new one. It is not made
    /// here: the data folder may be just being deleted.
    fn keep_folder(&mut self) {
        if let Some(watch) = &mut self.watch
            && watch.add(places(&self.folder)).is_err()
        {
            self.watch = None;
        }
    }

    /// Whether the host of `agent`, which has ended, did not say so in its record or left its socket.
    fn has_left_something(&self, agent: &AgentId) -> bool {
        let record = held::look(&self.folder.join(agent.record()));
        let has_ended = |found: held::Found| Record::parse(&found.text).is_some_and(|it| it.result.is_some());
        record.is_some_and(|found| !has_ended(found)) || self.folder.join(agent.socket()).exists()
    }

    /// Cleans up after those that died, in a thread of its own: what is left of one may take 2 s to end.
    pub fn clean(&mut self) {
        if self.cleaning.is_some() {
            self.is_dirty = true;
            return;
        }
        let (tell, told) = oneshot::channel();
        let folder = self.folder.clone();
        let clean = move || {
            let _daemon_gone = tell.send(discover::clean(&folder, clock::now()));
        };
        let started = std::thread::Builder::new().name("clean".to_owned()).spawn(clean);
        self.cleaning = started.is_ok().then_some(told);
    }

    /// The ids of live agents, in their order.
    #[must_use]
    pub fn live(&self) -> Vec<String> {
        let live =
            self.known.values().map(|known| &known.record).filter(|record| record.card.kind == Kind::Live);
        let mut live: Vec<String> = live.map(|record| record.card.agent_id.to_string()).collect();
        live.sort_unstable();
        live
    }
}

/// The folder of hosts, and its coming.
fn places(folder: &Path) -> Vec<Place> {
    let inside = Place::new(folder, &[]);
    std::iter::once(inside).chain(Place::of(folder)).collect()
}

async fn cleaned(cleaning: &mut Option<oneshot::Receiver<io::Result<Cleaned>>>) -> io::Result<Cleaned> {
    match cleaning {
        Some(told) => told.await.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into())),
        None => std::future::pending().await,
    }
}
