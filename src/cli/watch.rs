//! `murmur watch`: a live view on a terminal of heartbeats, agents, requests, the journal and usage limits.
//!
//! It draws when something happened, and while something counts down, when the shown time changes. The crate `watch`
//! has the view; this feeds it and carries out its actions.

mod actions;
mod agents;
mod extras;
mod feed;
mod rows;
mod session;
mod transcript;

use super::agents::sources;
use super::runtime;
use super::show::live::Wanted;
use super::user_env::UserEnv;
use ::watch::{Action, Model, Text, Update};
use agents::Agents;
use anyhow::bail;
use clap::Args as ClapArgs;
use feed::Changes;
pub(super) use feed::StatusFiles;
use jiff::Timestamp;
use murmur_core::config::heartbeat::file_of;
use session::{Session, Wakeup};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use sys::file::read_regular;
use sys::paths::DataDir;
use sys::pause::wait_until;
use sys::{clock, failure, signals};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio::time::Instant;
use transcript::Transcript;

/// The minimum time between two frames, unless a key was pressed.
const MIN_FRAME_TIME: Duration = Duration::from_millis(40);

/// How long agents' changes are gathered before they are read and drawn: those of many agents often come together.
const GATHER: Duration = Duration::from_millis(20);

/// How long agents are not listened to after they were read. With [`GATHER`], a change is drawn within 50 ms.
const PAUSE: Duration = Duration::from_millis(27);

/// How many updates may wait. Beyond that, those who send them wait.
const WAITING: usize = 256;

/// Watch and control everything live in the terminal
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Shows heartbeats, agents, requests, the log and usage limits. Press ? for keys.
For scripts: murmur status --json, murmur log --follow --json")]
pub(super) struct Watch {
    /// Enable the mouse: click to select, use the wheel to scroll
    #[arg(long)]
    mouse: bool,
}

pub(super) fn run(args: &Watch, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let problem = match (io::stdin().is_terminal(), io::stdout().is_terminal()) {
        (true, true) if is_dumb => Some("TERM is dumb or not set"),
        (true, true) => None,
        (false, true) => Some("stdin is not a terminal"),
        (_, false) => Some("stdout is not a terminal"),
    };
    if let Some(problem) = problem {
        bail!(
            failure!("cannot show the live view: {problem}"; "run: murmur status, or: murmur log --follow")
        );
    }
    let guard = session::guard();
    let sources = sources(env)?;
    let data_dir = Some(sources.dir.root().to_path_buf());
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let (updates, news) = channel(WAITING);
        let changes = Arc::new(Changes::default());
        let _tasks = feed::start(&sources.dir, data_dir.clone(), &updates, &changes);
        let dir = sources.dir.clone();
        let agents = Agents::begin(sources).await?;
        let session = Session::begin(args.mouse, guard)?;
        let model = Model::new(env.time_zone());
        let actions = JoinSet::new();
        let watching = Watching {
            model,
            session,
            agents,
            news,
            updates,
            changes,
            dir,
            data_dir,
            env,
            transcript: None,
            actions,
        };
        watching.show().await
    })?;
    // Threads that read or write may never end.
    runtime.shutdown_background();
    if let Some(signal) = ended {
        signals::die_by(signal);
    }
    Ok(ExitCode::SUCCESS)
}

struct Watching<'a> {
    model: Model,
    session: Session,
    agents: Agents,
    news: Receiver<Update>,
    updates: Sender<Update>,
    changes: Arc<Changes>,
    dir: DataDir,
    data_dir: Option<PathBuf>,
    env: &'a UserEnv,
    transcript: Option<Transcript>,
    actions: JoinSet<()>,
}

impl Watching<'_> {
    /// Shows the view until the user leaves it. Returns the signal that ended it, if one did.
    async fn show(mut self) -> anyhow::Result<Option<i32>> {
        let shown = self.follow().await;
        self.session.leave().await;
        shown
    }

    async fn follow(&mut self) -> anyhow::Result<Option<i32>> {
        let mut draw_at = Some(Instant::now());
        let mut drawn_at = Instant::now();
        let mut change_at = None;
        // Whether there is something to draw for sure.
        let mut is_due = true;
        // When to listen to agents again; `None` while a change of theirs waits to be drawn.
        let mut listen_at = None;
        loop {
            // A stopped terminal gets the latest frame when it resumes.
            if draw_at.is_some_and(|at| at <= Instant::now()) && self.session.is_free() {
                let is_all = self.take_changes(&mut is_due).await?;
                let now = clock::now();
                is_due |= self.take_agents(now);
                if is_due {
                    self.session.draw(&self.model, now)?;
                    drawn_at = Instant::now();
                }
                let next = self.changes_in(now).map(|change| Instant::now() + change);
                change_at = if is_due { next } else { change_at.into_iter().chain(next).min() };
                (is_due, draw_at) = (false, None);
                let now = Instant::now();
                listen_at = Some(if is_all { now + PAUSE } else { now });
                self.agents.rest();
            }
            let soon = drawn_at + MIN_FRAME_TIME;
            let is_free = self.session.is_free();
            // A change of an agent's file may make no visible difference.
            let mut has_event = true;
            let at = tokio::select! {
                biased;
                wakeup = self.session.wakeup() => match wakeup? {
                    Wakeup::Keys(keys) => {
                        for key in keys {
                            if let Some(action) = self.model.key(key)
                                && let Some(end) = self.act(action).await?
                            {
                                return Ok(end);
                            }
                        }
                        Instant::now()
                    }
                    Wakeup::Redraw => Instant::now(),
                    Wakeup::Written => continue,
                    Wakeup::Suspend => {
                        self.session.suspend().await?;
                        Instant::now()
                    }
                    Wakeup::Gone => return Ok(None),
                    Wakeup::End(signal) => return Ok(Some(signal)),
                },
                () = wait_until(draw_at), if is_free && draw_at.is_some() => continue,
                Some(update) = self.news.recv() => {
                    self.model.on(update);
                    soon
                }
                () = ready(self.transcript.as_ref()) => {
                    let updates = self.transcript.iter().flat_map(Transcript::updates);
                    for update in updates.take(WAITING).collect::<Vec<_>>() {
                        self.model.on(update);
                    }
                    soon
                }
                update = changed_from(&mut self.agents, listen_at), if listen_at.is_some() => {
                    let update = update?;
                    self.agents.rest();
                    listen_at = None;
                    has_event = update.is_some();
                    update.into_iter().for_each(|update| self.model.on(update));
                    soon.max(Instant::now() + GATHER)
                }
                () = wait_until(change_at), if change_at.is_some() => {
                    change_at = None;
                    if self.model.has_due(clock::now()) {
                        self.changes.status();
                    }
                    Instant::now()
                }
            };
            is_due |= has_event;
            draw_at = Some(draw_at.map_or(at, |known| known.min(at)));
        }
    }

    /// Applies agents' pending events, and reads their files. Returns whether none are left.
    async fn take_changes(&mut self, is_due: &mut bool) -> io::Result<bool> {
        for _ in 0..WAITING {
            match now_or_never(self.agents.changed()).await {
                Some(Ok(update)) => {
                    *is_due |= update.is_some();
                    update.into_iter().for_each(|update| self.model.on(update));
                }
                Some(Err(error)) => return Err(error),
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Applies what was read of agents. Returns whether that changes what is shown.
    fn take_agents(&mut self, now: Timestamp) -> bool {
        let mut differs = false;
        for update in self.agents.take(now) {
            differs |= ::watch::differs(&self.model, &update, now);
            self.model.on(update);
        }
        differs
    }

    /// When the screen must be drawn again just because time passes.
    fn changes_in(&self, now: Timestamp) -> Option<Duration> {
        let change = ::watch::changes_in(&self.model, now).and_then(|change| Duration::try_from(change).ok());
        let change = change.into_iter().chain(self.agents.changes_in(now)).min();
        change.map(|change| change.max(Duration::from_secs(1)))
    }

    /// Carries out an action. Returns `Some` to end the view.
    async fn act(&mut self, action: Action) -> anyhow::Result<Option<Option<i32>>> {
        match action {
            Action::Quit => return Ok(Some(None)),
            Action::Suspend => self.session.suspend().await?,
            Action::Redraw => self.session.redraw()?,
            Action::ShowBeat(id) => self.open(Wanted::Beat(id)),
            Action::ShowHeartbeat(id) => self.open(Wanted::Beat(id.to_string())),
            Action::ShowAgent(id) => self.open(Wanted::Agent(id.to_string())),
            Action::Hide => self.transcript = None,
            Action::Edit(id) => {
                let (workspace, name) = actions::place(&id);
                let file = file_of(&workspace, name.as_deref());
                let command = super::edit::command(&self.env.editor(), &file);
                let before = read_regular(&file).ok();
                let message = match self.session.run(command).await? {
                    Ok(ended) if ended.success() => {
                        let is_same = before.is_some() && read_regular(&file).ok() == before;
                        let verb = if is_same { "did not change" } else { "edited" };
                        format!("{verb} {}", file.display())
                    }
                    Ok(ended) => {
                        format!("the editor failed ({ended}); set VISUAL or EDITOR to one that works")
                    }
                    Err(error) => format!("cannot start the editor: {error}"),
                };
                self.model.on(Update::Message(Text::new(&message)));
                self.changes.all();
            }
            action => {
                let dir = self.dir.clone();
                let (updates, changes) = (self.updates.clone(), Arc::clone(&self.changes));
                self.actions.spawn(async move {
                    let message = actions::carry_out(&action, &dir).await;
                    changes.all();
                    let _gone = updates.send(Update::Message(Text::new(&message))).await;
                });
                while self.actions.try_join_next().is_some() {}
            }
        }
        Ok(None)
    }

    fn open(&mut self, wanted: Wanted) {
        self.transcript = Some(Transcript::open(wanted, self.dir.clone(), self.data_dir.clone()));
    }
}

/// Waits until `at`, then for a change of `agents`. Cancel safe.
async fn changed_from(agents: &mut Agents, at: Option<Instant>) -> io::Result<Option<Update>> {
    wait_until(at).await;
    agents.changed().await
}

/// The result of `future` if it is ready.
async fn now_or_never<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        value = future => Some(value),
        () = std::future::ready(()) => None,
    }
}

async fn ready(transcript: Option<&Transcript>) {
    match transcript {
        Some(transcript) => transcript.ready().await,
        None => std::future::pending().await,
    }
}
