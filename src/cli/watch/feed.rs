//! What the view is fed with: the daemon's status and events, the journal as it grows, and the usage limits. Each part
//! is a task that sends updates; agents come from [`crate::agents::follow`].

use super::super::heartbeat_name::ShortNames;
use super::super::inbox;
use super::super::requests;
use super::super::status::{from_files, problems};
use super::super::user_env::UserEnv;
use super::rows;
use crate::daemon::broker::RequestRow;
use crate::daemon::client;
use crate::daemon::status::StatusRequest;
use murmur_core::permit::request::RequestId;
use murmur_rpc::client::AskError;
use murmur_rpc::envelope::{GAP, LAGGED};
use murmur_store::journal::read::{Backward, Entries, FoundEntry};
use murmur_store::journal::tail::Tail;
use murmur_store::limits;
use serde::Deserialize;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::clock;
use sys::paths::{DataDir, SettingsDir};
use sys::watch::{Watch, WatchedFolder};
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until};
use watch::rows::Daemon;
use watch::{Model, Text, Update};

/// How much of the journal to read before it is shown, in bytes.
const AT_ONCE: u64 = 1 << 20;

/// How often to look where files cannot be watched.
const TICK: Duration = Duration::from_secs(1);

/// Within this time, a change is shown if reads take no longer than 15 ms.
const WITHIN: Duration = Duration::from_millis(50);

/// The minimum time between two requests for the daemon's status.
const BETWEEN: Duration = Duration::from_millis(20);

/// The minimum time between two reads of what beats rarely change, which takes longer.
const REST: Duration = Duration::from_millis(250);

/// The files of the data folder that change what is shown.
const FILES: [&str; 7] = [
    "config.json",
    "approved.json",
    "paused.json",
    "failures.json",
    "limits.json",
    "trust.json",
    "notify.json",
];

/// The files of the settings folder: every call is denied if they are not readable.
const SETTINGS_FILES: [&str; 2] = ["permissions.toml", "config.toml"];

/// Tells the tasks that something may have changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    status: Notify,
    has_rest: AtomicBool,
    journal: Notify,
}

impl Changes {
    /// The daemon's status may have changed.
    pub(super) fn status(&self) {
        self.status.notify_one();
    }

    /// Anything may have changed.
    pub(super) fn all(&self) {
        self.has_rest.store(true, Ordering::Relaxed);
        self.status();
    }
}

/// Starts the tasks, which end when the result is dropped.
pub(super) fn start(
    dir: &DataDir,
    data_dir: Option<PathBuf>,
    to: &Sender<Update>,
    changes: &Arc<Changes>,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(journal(dir.clone(), to.clone(), Arc::clone(changes)));
    tasks.spawn(statuses(dir.clone(), data_dir.clone(), to.clone(), Arc::clone(changes)));
    tasks.spawn(files(dir.clone(), UserEnv::new(data_dir).settings_dir().ok(), Arc::clone(changes)));
    tasks.spawn(daemons(dir.clone(), to.clone(), Arc::clone(changes)));
    tasks
}

/// Sends the journal's last lines, and then new ones.
async fn journal(dir: DataDir, to: Sender<Update>, changes: Arc<Changes>) {
    let path = dir.journal();
    let mut tail = match Tail::from_end(path.clone()) {
        Ok(tail) => tail,
        Err(_) => Tail::from_start(path.clone()),
    };
    let end = tail.position();
    let data = dir.clone();
    let old = spawn_blocking(move || -> io::Result<(Vec<watch::rows::LogLine>, ShortNames)> {
        let mut entries = Entries::new(Backward::open(&path)?.until(end)?, None);
        let (mut lines, mut heartbeats) = (Vec::new(), Vec::new());
        while lines.len() < watch::model::LOG
            && let Some(FoundEntry { entry, .. }) = entries.next_entry(|_| true)?
        {
            lines.push(rows::line(&entry, &ShortNames::default()));
            heartbeats.push((entry.workspace, entry.heartbeat));
        }
        let workspaces = heartbeats.iter().map(|(workspace, _)| &**workspace);
        let names = ShortNames::beside_registered(&data, workspaces);
        for (line, (workspace, name)) in lines.iter_mut().zip(&heartbeats) {
            line.name = Text::new(&names.of_heartbeat(workspace, name.as_deref()));
        }
        lines.reverse();
        Ok((lines, names))
    });
    let (lines, names) = old.await.ok().and_then(Result::ok).unwrap_or_default();
    if !lines.is_empty() && to.send(Update::Logged(lines)).await.is_err() {
        return;
    }
    let mut watch = Watch::new([&WatchedFolder::new(dir.root(), &["heartbeats.jsonl"]).and_writes()]).ok();
    loop {
        let mut lines = Vec::new();
        let more = tail.read(AT_ONCE, |line| {
            lines.extend(line.entry().as_ref().map(|entry| rows::line(entry, &names)));
            Ok(())
        });
        if !lines.is_empty() && to.send(Update::Logged(lines)).await.is_err() {
            return;
        }
        if matches!(more, Ok(true)) {
            continue;
        }
        tokio::select! {
            () = changes.journal.notified() => {}
            _ = changed(&mut watch) => {}
        }
    }
}

/// Waits for a change, or for [`TICK`] where files cannot be watched.
async fn changed(watch: &mut Option<Watch>) -> sys::watch::Changes {
    if let Some(watch) = watch
        && let Ok(changes) = watch.changes().await
    {
        return changes;
    }
    *watch = None;
    sleep(TICK).await;
    sys::watch::Changes { more: true, ..sys::watch::Changes::default() }
}

/// The files that the status depends on.
pub(in crate::cli) struct StatusFiles {
    watch: Option<Watch>,
    dir: DataDir,
    settings: Option<PathBuf>,
}

impl StatusFiles {
    pub(in crate::cli) fn new(dir: &DataDir, settings: Option<&SettingsDir>) -> Self {
        let settings = settings.and_then(|settings| Some(settings.rules().parent()?.to_path_buf()));
        let mut files = Self { watch: None, dir: dir.clone(), settings };
        files.watch = Watch::settled(|| files.places()).ok();
        files
    }

    /// The folders, or the parents of missing ones.
    fn places(&self) -> Vec<WatchedFolder> {
        let place = |folder: &Path, names, has_writes| {
            let place = WatchedFolder::existing_or_coming(folder, names);
            if has_writes { place.map(WatchedFolder::and_writes) } else { place }
        };
        // Beats that other processes run begin and end with a file, which is written while they have it open.
        let own = [place(self.dir.root(), &FILES[..], false), place(&self.dir.beats(), &[], true)];
        let settings = self.settings.as_deref().and_then(|folder| place(folder, &SETTINGS_FILES, true));
        own.into_iter().flatten().chain(settings).collect()
    }

    /// Waits until one of them may have changed. Returns whether it isn't just a beat that began or ended.
    pub(in crate::cli) async fn changed(&mut self) -> bool {
        let changes = changed(&mut self.watch).await;
        if let Some(mut watch) = self.watch.take() {
            // If it fails, what is watched already still is.
            let _best_effort = watch.settle(|| self.places());
            self.watch = Some(watch);
        }
        let beats = self.dir.beats();
        changes.more || changes.paths.iter().any(|path| path.parent() != Some(&beats))
    }
}

/// Asks for the status when a file of the data folder changes.
async fn files(dir: DataDir, settings: Option<SettingsDir>, changes: Arc<Changes>) {
    let mut files = StatusFiles::new(&dir, settings.as_ref());
    loop {
        if files.changed().await { changes.all() } else { changes.status() }
    }
}

/// Sends the status whenever it may have changed: from the daemon, or without one from files. The rest, which comes
/// from other files, is read later if only beats began and ended.
async fn statuses(dir: DataDir, data_dir: Option<PathBuf>, to: Sender<Update>, changes: Arc<Changes>) {
    let (mut rest_at, mut problems) = (Instant::now(), Vec::new());
    loop {
        let began = Instant::now();
        let with_rest = changes.has_rest.swap(false, Ordering::Relaxed) || began >= rest_at;
        let status = match client::status(&dir, StatusRequest::WITHOUT_SETTINGS).await {
            Ok(status) => Ok(status),
            Err(AskError::Gone(_)) => {
                let (dir, data_dir) = (dir.clone(), data_dir.clone());
                // It has a runtime of its own.
                let read = spawn_blocking(move || {
                    let env = UserEnv::new(data_dir);
                    let runtime = super::super::runtime().map_err(|error| error.to_string())?;
                    let reading = from_files(&dir, &env, StatusRequest::WITHOUT_SETTINGS, clock::now());
                    runtime.block_on(reading).map_err(|error| super::super::describe(&error).line())
                });
                read.await.unwrap_or_else(|error| Err(error.to_string()))
            }
            Err(error) => Err(format!("does not answer: {error}")),
        };
        let now = clock::now();
        let mut updates = match status {
            Ok(mut status) => {
                let own = status.problems.len();
                if with_rest {
                    let _unreadable = problems::add(&mut status, &dir, &UserEnv::new(data_dir.clone()));
                    problems = status.problems[own..].to_vec();
                } else {
                    status.problems.extend(problems.clone());
                }
                let mut updates = vec![
                    Update::Daemon(rows::daemon(&status)),
                    Update::Problems(status.problems.iter().map(|problem| Text::new(problem)).collect()),
                    Update::Heartbeats(rows::heartbeats(&status, now)),
                ];
                if with_rest {
                    let (dir, home) = (dir.clone(), UserEnv::new(data_dir.clone()).home());
                    let read = spawn_blocking(move || rows::to_solve(&status, &dir, &home));
                    updates.extend(read.await.ok().map(Update::ToSolve));
                }
                updates
            }
            Err(why) => vec![Update::Daemon(Daemon::Down(Text::new(&why)))],
        };
        if with_rest {
            updates.extend(limits::read(&dir).ok().map(|limits| Update::Limits(rows::limits(&limits, now))));
        }
        for update in updates {
            if to.send(update).await.is_err() {
                return;
            }
        }
        let now = Instant::now();
        if with_rest {
            rest_at = now + REST;
        }
        sleep(pause(now - began)).await;
        tokio::select! {
            () = changes.status.notified() => {}
            () = sleep_until(rest_at), if !with_rest => {}
        }
    }
}

/// How long to wait after a read that took this long, so that reads take at most a quarter of the time, or half of it
/// where changes would be late. A change during a read is shown after the next one.
fn pause(read: Duration) -> Duration {
    (3 * read).min(WITHIN.saturating_sub(2 * read)).max(read).max(BETWEEN)
}

/// Follows the running daemon, and later ones after it ends.
async fn daemons(dir: DataDir, to: Sender<Update>, changes: Arc<Changes>) {
    loop {
        // Watch before connecting, so that no daemon is missed.
        let socket = || WatchedFolder::existing_or_coming(dir.root(), &["murmur.sock"]);
        let mut watch = Watch::settled(socket).ok();
        let _ended = follow(&dir, &to, &changes).await;
        if let Ok(rows) = requests::all(&dir).await
            && to.send(open(&dir, &rows)).await.is_err()
        {
            return;
        }
        changes.all();
        changed(&mut watch).await;
    }
}

fn open(dir: &DataDir, rows: &[RequestRow]) -> Update {
    let open: Vec<&RequestRow> = rows.iter().filter(|row| requests::is_open(row)).collect();
    let ids: Vec<&RequestId> = open.iter().map(|row| &row.id).collect();
    let names = inbox::numbered(dir, &ids);
    Update::Requests(open.into_iter().zip(&names).map(|(row, name)| rows::request(row, name)).collect())
}

/// Follows the daemon until it ends.
async fn follow(dir: &DataDir, to: &Sender<Update>, changes: &Changes) -> Result<(), AskError> {
    let mut daemon = client::connect(dir).await?;
    loop {
        client::attach(&mut daemon, None).await?;
        changes.all();
        changes.journal.notify_one();
        // On a connection of its own, so that no event is dropped meanwhile.
        let Ok(rows) = requests::all(dir).await else { return Ok(()) };
        let mut update = Some(open(dir, &rows));
        loop {
            if let Some(update) = update.take()
                && to.send(update).await.is_err()
            {
                return Ok(());
            }
            let event = daemon.next_event().await?;
            match &*event.event_type {
                GAP | LAGGED => break,
                "request_opened" => {
                    let row = RequestRow::deserialize(event.payload).ok().filter(requests::is_open);
                    let name = row.as_ref().map(|row| inbox::numbered(dir, &[&row.id]).concat());
                    update = row.zip(name).map(|(row, name)| Update::Opened(rows::request(&row, &name)));
                    changes.status();
                }
                "request_closed" => {
                    let id = event.payload.get("id").and_then(Value::as_str);
                    update = id.map(|id| Update::Closed(id.to_owned()));
                    changes.status();
                }
                "host_started" | "host_ended" => {}
                event => {
                    let is_beat = matches!(event, "beat_started" | "beat_ended");
                    if is_beat {
                        changes.status()
                    } else {
                        changes.all()
                    }
                    changes.journal.notify_one();
                }
            }
        }
    }
}

/// A message in the transcript that says why there is no more.
pub(super) fn note(error: &anyhow::Error) -> Update {
    Update::Lines(vec![Model::note(&super::super::describe(error).line())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_read_within_50_ms_if_reads_are_fast() {
        for (read, expected) in [(0, 20), (1, 20), (8, 24), (10, 30), (15, 20), (30, 30), (400, 400)] {
            let read = Duration::from_millis(read);
            assert_eq!(pause(read), Duration::from_millis(expected), "{read:?}");
            assert!(2 * read + pause(read) <= WITHIN || read > Duration::from_millis(15), "{read:?}");
        }
    }
}
